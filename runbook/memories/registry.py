"""Which memories there are: those below, and those of installed packages.

A package offers memories by entry points of the group `runbook.memories`; each names a function from
`MemoryParts` to a `Memory`.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from runbook.memories.errors import MemorySettingsError
from runbook.memories.package_faults import fault_line
from runbook.memories.parts import MemoryFactory

GROUP = "runbook.memories"

AGENTS = ("agent", "vanilla")
"""A coding agent, in full or bare; the composition root makes them, for they need a sandbox."""

_BUILT_IN = {
    "none": "nothing",
    "random": "random_states",
    "first": "first_states",
    "oracle": "oracle",
    "oracle-slices-notes": "oracle_slices_notes",
    "rag-slice": "rag_slice",
    "rag-slice-notes": "rag_slice_notes",
    "rag-slice-bm25": "rag_slice_bm25",
    "agentrunbook-r": "agentrunbook_r",
    "cascade": "cascade",
}


def memory_names(found: Sequence[EntryPoint] | None = None) -> list[str]:
    """All names, in the order in which tables show them; nothing is imported."""
    points = entry_points(group=GROUP) if found is None else found
    return [*AGENTS, *_BUILT_IN, *sorted({point.name for point in points} - {*AGENTS, *_BUILT_IN})]


def is_of_package(name: str) -> bool:
    """Whether a name is none of ours."""
    return name not in AGENTS and name not in _BUILT_IN


def memory_factory(name: str, found: Sequence[EntryPoint] | None = None) -> MemoryFactory:
    """What makes the memory of that name.

    Raises:
        MemorySettingsError: there is none, two packages offer it, or it cannot be imported.
    """
    if name in _BUILT_IN:
        factory: MemoryFactory = import_module(f"runbook.memories.{_BUILT_IN[name]}").make
        return factory
    point = _point(name, found)
    try:
        loaded: MemoryFactory = point.load()
    except KeyboardInterrupt:  # the user's: this is the main thread
        raise
    except BaseException as error:
        raise MemorySettingsError(f"{_told(point)} cannot be imported: {fault_line(error)}") from error
    if not callable(loaded):
        raise MemorySettingsError(f"{_told(point)} is no function that makes one")
    return loaded


def origin(name: str, found: Sequence[EntryPoint] | None = None) -> str:
    """A package's memory with its entry point, for messages. Raises MemorySettingsError as above."""
    return _told(_point(name, found))


def _told(point: EntryPoint) -> str:
    return f"memory {point.name!r} ({point.value})"


def _point(name: str, found: Sequence[EntryPoint] | None) -> EntryPoint:
    every = entry_points(group=GROUP) if found is None else found
    points = [point for point in every if point.name == name]
    if not points:
        raise MemorySettingsError(f"there is no memory {name!r}; there are {', '.join(memory_names(found))}")
    if len(points) > 1:
        raise MemorySettingsError(
            f"several packages offer a memory {name!r} ({', '.join(one.value for one in points)}): "
            "remove all but one"
        )
    return points[0]
