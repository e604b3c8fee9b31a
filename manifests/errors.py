"""What can go wrong, by whose fault it is; every message is one line for the user, with the mend in it."""


class DataError(ValueError):
    """Recorded data that cannot be used. The message names the file and, where there is one, the line."""


class StoreError(RuntimeError):
    """The store cannot be read or written: newer format, full disk, no permission, damage."""
