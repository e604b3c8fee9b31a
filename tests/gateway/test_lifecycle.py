"""Lines and gateways open, close, and leave nothing behind."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from runbook.gateway import Gateway, GatewayError, LineOrder, Wire, load_calls
from tests.gateway.scripted import CHAT, SSE, Scripted, chat_request, chat_stream, event
from tests.waiting import AT_ONCE, FOREVER, wait_for

ENDLESS = [event(1), *[0.05, event(2)] * (FOREVER * 20)]


def client(line) -> httpx.Client:
    transport = httpx.HTTPTransport(uds=str(line.directory / "model.sock"), verify=False)
    return httpx.Client(transport=transport, base_url=f"http://agent{line.prefix}", timeout=AT_ONCE)


def order(folder: Path, **fields) -> LineOrder:
    folder.mkdir(exist_ok=True)
    return LineOrder(folder, Wire.OPENAI_CHAT, "m", **fields)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_any_user_may_connect_and_none_may_list(attempt):
    line = attempt().line
    assert stat.S_IMODE(line.directory.stat().st_mode) == 0o711
    assert stat.S_IMODE((line.directory / "model.sock").stat().st_mode) == 0o666
    assert [path.name for path in line.directory.iterdir()] == ["model.sock"]
    assert len(os.fsencode(line.directory)) < 90


def test_prefixes_cannot_be_guessed_and_name_the_provider(attempt):
    prefixes = {attempt().line.prefix for _ in range(3)}
    assert len(prefixes) == 3
    assert all(prefix.endswith("/scripted") and len(prefix) > 24 for prefix in prefixes)


def test_a_closed_line_is_gone_and_its_record_stays(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt()
    opened.post(CHAT, chat_request())
    directory = opened.line.directory
    opened.line.close()
    assert not directory.exists()
    with suppress(httpx.TransportError):  # the connection that the agent still holds may be gone already
        assert opened.client.get("/v1/models").status_code == 404
    assert len(load_calls(opened.folder)) == 1


def test_closing_breaks_off_and_records_what_is_open(attempt, provider):
    provider.answers = [Scripted(ENDLESS, type=SSE)]
    opened = attempt()
    with opened.client.stream("POST", CHAT, json=chat_request()) as answer:
        chunks = answer.iter_raw()
        next(chunks)
        facts = opened.line.close()
        with pytest.raises(httpx.RemoteProtocolError):
            list(chunks)
    call = load_calls(opened.folder)[0]
    assert (facts.calls, call.cut, call.outcome, call.detail) == (1, True, None, "the attempt ended")


def test_leaving_the_gateway_by_any_way_gives_everything_back(settings_for, provider, tmp_path):
    provider.answers = [Scripted(ENDLESS, type=SSE)]
    threads, descriptors = threading.active_count(), open_files()
    sockets = tmp_path / "s"
    sockets.mkdir()
    with pytest.raises(KeyboardInterrupt), Gateway(settings_for(sockets=sockets)) as gateway:
        gateway.listen_tcp()
        line = gateway.open_line(order(tmp_path / "a"))
        with client(line) as agent, agent.stream("POST", CHAT, json=chat_request()) as answer:
            next(answer.iter_raw())
            raise KeyboardInterrupt
    assert list(sockets.iterdir()) == []
    assert len(load_calls(tmp_path / "a")) == 1
    wait_for(lambda: threading.active_count() <= threads)
    wait_for(lambda: open_files() <= descriptors)


def test_closing_twice_does_nothing(settings_for, tmp_path):
    with Gateway(settings_for()) as gateway:
        line = gateway.open_line(order(tmp_path / "a"))
        gateway.close()
        assert line.close() == line.facts()


def test_after_a_restart_an_agent_goes_on_through_the_same_socket(settings_for, provider, tmp_path):
    provider.answers = [chat_stream()]
    directory = Path(tempfile.mkdtemp(dir="/tmp", prefix="rb-test-"))
    with Gateway(settings_for()) as gateway:
        line = gateway.open_line(order(tmp_path / "a", directory=directory, prefix="/known/scripted"))
        with client(line) as agent:
            agent.post(CHAT, json=chat_request())
    directory.mkdir(exist_ok=True)
    (directory / "model.sock").touch()  # as a killed gateway leaves it
    with Gateway(settings_for()) as gateway:
        line = gateway.open_line(order(tmp_path / "a", directory=directory, prefix="/known/scripted"))
        with client(line) as agent:
            assert agent.post(CHAT, json=chat_request({"role": "user", "content": "on"})).status_code == 200
        assert line.close().calls == 2
    assert [call.number for call in load_calls(tmp_path / "a")] == [1, 2]
    assert not directory.exists()


def test_a_folder_that_cannot_be_written_is_said_and_nothing_stays(settings_for, tmp_path):
    sockets = tmp_path / "s"
    sockets.mkdir()
    with Gateway(settings_for(sockets=sockets)) as gateway:
        with pytest.raises(GatewayError, match="no record can be written"):
            gateway.open_line(LineOrder(tmp_path / "none", Wire.OPENAI_CHAT, "m"))
        (made,) = sockets.iterdir()
        assert list(made.glob("[!.]*")) == []


def test_a_socket_path_that_is_too_long_is_said(settings_for, tmp_path):
    sockets = tmp_path / ("x" * 90)
    sockets.mkdir()
    with pytest.raises(GatewayError, match="too long a path"), Gateway(settings_for(sockets=sockets)):
        pass


def test_a_record_that_cannot_be_written_is_said_at_the_end(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt()
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, opened.line._recorder._calls)
    os.close(full)
    assert opened.post(CHAT, chat_request()).status_code == 200
    with pytest.raises(GatewayError, match=r"the record in .* is incomplete: .*No space left"):
        opened.line.close()
    assert not opened.line.directory.exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"provider": "other"}, "no provider other; there are scripted"),
        ({"wire": "none"}, "add one that does"),
        ({"model": ""}, "needs the name of one"),
    ],
)
def test_an_order_that_no_provider_serves_is_said(settings_for, tmp_path, fields, message):
    wanted = {"folder": tmp_path, "wire": Wire.GEMINI, "model": "m", **fields}
    with Gateway(settings_for()) as gateway, pytest.raises(GatewayError, match=message):
        gateway.open_line(LineOrder(**wanted))


def test_many_lines_serve_side_by_side(settings_for, provider, tmp_path):
    provider.answers = [chat_stream()]
    with Gateway(settings_for()) as gateway:
        lines = [gateway.open_line(order(tmp_path / f"a{number}")) for number in range(12)]
        assert len({line.directory for line in lines}) == 12
        for line in lines:
            with client(line) as agent:
                assert agent.post(CHAT, json=chat_request()).status_code == 200
        assert [line.close().calls for line in lines] == [1] * 12


def test_a_call_that_is_broken_off_leaves_the_cost_of_the_others_known(attempt, provider, tmp_path):
    table = tmp_path / "prices.toml"
    table.write_text('[models.m]\ninput = 1.0\noutput = 2.0\nsource = "a page"\nchecked = "2026-11-01"\n')
    answer = chat_stream("one two", prompt_tokens=1_000_000, completion_tokens=500_000)
    endless = Scripted([answer.chunks[0], FOREVER, *answer.chunks[1:]], type=SSE)
    provider.answers = [answer, endless]
    opened = attempt(prices=table)
    opened.post(CHAT, chat_request())
    with opened.client.stream("POST", CHAT, json=chat_request()) as response:
        next(response.iter_raw())
    facts = opened.line.close()
    assert (facts.calls, facts.abandoned_calls, facts.failed_calls) == (2, 1, 0)
    assert facts.cost_usd == pytest.approx(2.0)


KILLED = """
import os, sys
from pathlib import Path
from runbook.gateway import Gateway, GatewaySettings
Gateway(GatewaySettings(sockets=Path(sys.argv[1]))).__enter__()
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_gateway_left_is_swept_by_the_next_one(settings_for, tmp_path):
    (tmp_path / "rb-somebody").mkdir()  # not ours, as far as can be told
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    left = set(tmp_path.iterdir())
    assert len(left) == 2
    with Gateway(settings_for(sockets=tmp_path)):
        first = set(tmp_path.iterdir())
        with Gateway(settings_for(sockets=tmp_path)):
            assert first < set(tmp_path.iterdir())  # a living one is left alone
        assert first & left == {tmp_path / "rb-somebody"}
    assert [path.name for path in tmp_path.iterdir()] == ["rb-somebody"]
