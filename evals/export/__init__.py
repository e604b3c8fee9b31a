"""Runs in the public layout: what a leaderboard's packaging takes, and the rules for it."""
