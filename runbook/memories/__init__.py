"""Memories beside the coding agent: one file each, chosen by name; see `registry`."""

from runbook.memories.parts import MemoryFactory, MemoryParts, MemorySettingsError
from runbook.memories.registry import AGENTS, memory_factory, memory_names
from runbook.memories.settings import RetrievalSettings

__all__ = [
    "AGENTS",
    "MemoryFactory",
    "MemoryParts",
    "MemorySettingsError",
    "RetrievalSettings",
    "memory_factory",
    "memory_names",
]
