"""Memories of other packages are found by entry point, and wrong ones are refused by name."""

from importlib.metadata import EntryPoint

import pytest

from runbook.memories.errors import MemorySettingsError
from runbook.memories.registry import GROUP, memory_factory, memory_names


def point(value, name="mine"):
    return EntryPoint(name, value, GROUP)


def test_every_built_in_name_has_a_factory():
    for name in memory_names([]):
        if name not in ("agent", "vanilla"):
            assert callable(memory_factory(name, []))


def test_a_package_offers_a_memory_by_entry_point():
    found = [point("runbook.memories.nothing:make")]
    assert memory_names(found)[-1] == "mine"
    assert memory_factory("mine", found).__module__ == "runbook.memories.nothing"


@pytest.mark.parametrize(
    ("points", "complaint"),
    [
        ([], "there is no memory 'mine'"),
        ([point("a:b"), point("c:d")], "several packages offer a memory 'mine' \\(a:b, c:d\\)"),
        ([point("no_such_package:make")], "cannot be imported"),
        ([point("runbook.memories.answering:NO_SANDBOX")], "is no function that makes one"),
    ],
)
def test_a_memory_that_cannot_be_used_is_refused(points, complaint):
    with pytest.raises(MemorySettingsError, match=complaint):
        memory_factory("mine", points)


def test_a_package_cannot_take_the_name_of_a_built_in_one():
    assert memory_factory("none", [point("a:b", "none")]).__module__ == "runbook.memories.nothing"
