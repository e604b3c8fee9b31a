"""Comparing runs, question by question."""
