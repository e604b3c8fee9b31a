"""The memory command an agent uses inside the sandbox."""
