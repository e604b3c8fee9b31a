"""What is sent through a channel arrives whole, or its end is noticed."""

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from manifests.channel import Channel
from manifests.errors import DataError

Ends = tuple[Channel, Channel]


def connected() -> Ends:
    here, there = socket.socketpair()
    return Channel(here.detach()), Channel(there.detach())


@pytest.fixture
def ends() -> Iterator[Ends]:
    both = connected()
    yield both
    for one in both:
        one.close()


def test_messages_arrive_whole_and_in_order_also_where_they_do_not_fit_the_socket(ends: Ends) -> None:
    here, there = ends
    messages = [("small", 1), b"x" * 5_000_000, None, {"a": [1.5]}]
    sender = threading.Thread(target=lambda: [here.send(message) for message in messages])
    sender.start()
    assert [there.receive() for _ in messages] == messages
    sender.join()


def test_an_error_arrives_as_the_error_it_is(ends: Ends) -> None:
    here, there = ends
    here.send(DataError("f:1: no JSON"))
    error = there.receive()
    assert type(error) is DataError
    assert str(error) == "f:1: no JSON"


def test_an_end_that_has_gone_is_noticed_also_in_the_middle_of_a_message() -> None:
    here, there = connected()
    here.send("one")
    os.write(here.fileno(), (99).to_bytes(8, "big") + b"half")
    here.close()
    assert there.receive() == "one"
    with pytest.raises(EOFError):
        there.receive()
    with pytest.raises(BrokenPipeError):
        there.send("anybody?")
    there.close()
