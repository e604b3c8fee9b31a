"""Tuning: settings of a memory tried on one half of the questions, and confirmed on the other.

`study_file` says what to try, `split` cuts the questions, `proposals` picks settings and remembers them,
`racing` ends a hopeless one early, `search` runs them, `choosing` names the operating points, `report` says
what was found.
"""
