"""Sessions that coding agents record of their own work, imported as trajectories."""

from .importing import SessionReport, import_sessions

__all__ = ["SessionReport", "import_sessions"]
