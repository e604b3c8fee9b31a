"""Runs: a staged, resumable evaluation of a memory over the questions of a data root."""
