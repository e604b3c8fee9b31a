"""Memories beside the coding agent: one file each, chosen by name; see `registry`."""
