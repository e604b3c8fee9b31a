"""What can be wrong with a memory before, or whatever, it is asked."""


class MemorySettingsError(ValueError):
    """The settings name no memory, or lack what the memory needs; the message says which and the mend."""


class MemoryFaultError(MemorySettingsError):
    """A package's memory failed where no question can have it for its outcome; the message names it."""
