"""Data sets, reader, judge, metrics and runs."""
