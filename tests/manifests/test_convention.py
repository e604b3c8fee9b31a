"""Whether an action led to its state or followed it is told by the recordings' ends, and never guessed."""

import json

import pytest

from manifests.convention import own_convention, shared_convention
from manifests.model import Convention
from manifests.records import read_record
from tests.manifests.recordings import record, state

SOURCE, DESTINATION, UNKNOWN = Convention.SOURCE, Convention.DESTINATION, Convention.UNKNOWN


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (["a", "b", None], SOURCE),
        (["a", None, None], SOURCE),
        ([None, "a", "b"], DESTINATION),
        ([None, None, "b"], DESTINATION),
        (["a", "b", "c"], UNKNOWN),
        ([None, "b", None], UNKNOWN),
        (["a"], UNKNOWN),
        ([None], UNKNOWN),
        (["a", "b", ""], SOURCE),
    ],
)
def test_the_ends_of_a_recording_tell(actions: list[str | None], told: Convention) -> None:
    raw = record("t", *(state(action=action) for action in actions))
    assert own_convention(read_record(json.dumps(raw).encode(), "f:1")[0]) is told


def test_siblings_tell_for_those_that_do_not() -> None:
    assert shared_convention([UNKNOWN, SOURCE, UNKNOWN, SOURCE]) is SOURCE
    assert shared_convention([UNKNOWN, DESTINATION]) is DESTINATION
    assert shared_convention([UNKNOWN]) is UNKNOWN


def test_siblings_that_disagree_tell_nothing() -> None:
    assert shared_convention([SOURCE, DESTINATION, UNKNOWN]) is UNKNOWN
