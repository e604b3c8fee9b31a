"""Every verb and the module that holds it; a module is imported only when its verb is called.

A module offers `VERBS`, a dictionary from the verb's name to its `arguments.Verb`.
"""

from __future__ import annotations

MODULES = {
    "overview": "overview",
    "show": "show",
    "timeline": "show",
    "state": "state",
    "span": "state",
    "match": "grep",
    "grep": "grep",
    "where": "where",
    "search": "search",
    "similar": "search",
    "candidates": "candidates",
    "diff": "diff",
    "image": "image",
    "contact": "image",
    "budget": "handin",
    "check": "handin",
    "save": "handin",
    "submit": "handin",
}
