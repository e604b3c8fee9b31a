"""Isolation: one protocol, three back ends (docker, bubblewrap, process), limits and a reaper."""
