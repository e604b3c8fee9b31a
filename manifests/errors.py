"""What can go wrong, by whose fault it is; every message is one line for the user, with the mend in it."""


class DataError(ValueError):
    """Recorded data that cannot be used. The message names the file and, where there is one, the line."""


class UnknownTrajectoryError(DataError):
    """A data root lacks a trajectory that was asked for."""

    def __init__(self, message: str, trajectory_id: str) -> None:
        super().__init__(message)
        self.trajectory_id = trajectory_id


class StoreError(RuntimeError):
    """The store cannot be read or written: full disk, no permission, damage."""


class StoreFullError(StoreError):
    """There is no room for what was to be written; what was finished is kept."""


class WrongStoreError(StoreError):
    """The user chose a folder that cannot serve as a store: another thing, or a store of a newer version."""
