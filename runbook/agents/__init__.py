"""Agents: who searches the haystack."""
