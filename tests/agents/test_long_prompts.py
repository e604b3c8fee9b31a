"""A prompt of any length reaches the agent, or the attempt says why it cannot."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from runbook.agents import AdapterAgent, Surroundings
from runbook.agents.adapter import Adapter
from runbook.agents.arguments import LONGEST_ARGUMENT
from runbook.agents.catalogue import FoundAdapter
from runbook.agents.tool_chain import ToolChain
from runbook.venue import Order, SandboxVenue
from runbook.watching import WatchOrder
from sandbox.protocol import Limits, Mount, Sandbox, SandboxError
from tests.agent_tools import REPOSITORY
from tests.waiting import AT_ONCE, FOREVER

PLACE = Surroundings(
    workspace="/workspace", python="/usr/bin/python3", helpers="/opt/launcher", prompt="", budget=20
)
SHELL = ["/bin/sh", "-c", 'sha256sum <"$0"; cat /dev/stdin; readlink /proc/self/fd/0']


def agent(argv: list[str], chain: Path, **changed: object) -> AdapterAgent:
    """An agent whose tool chain lies at `chain`, though its command line needs none."""
    adapter = Adapter.model_validate(
        {
            "name": "shell",
            "wire": "openai-chat",
            "argv": argv,
            "install": {"version": "1.0", "npm": ["shell@{version}"]},
            "probe": {"argv": ["true"]},
            **changed,
        }
    )
    record = ToolChain(
        name="shell",
        version="1.0",
        digest="0" * 12,
        recipe="0" * 64,
        machine="x86_64",
        python=None,
        packages={},
        bytes=1,
        seconds=1.0,
        installed_at=datetime.now(UTC),
    )
    return AdapterAgent(FoundAdapter(adapter, "shell", "shell.toml", "", {}), "m", "", ((chain, record),))


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("docker", marks=pytest.mark.needs("docker")),
        pytest.param("bubblewrap", marks=pytest.mark.needs("bubblewrap")),
    ],
)
def test_a_prompt_of_a_megabyte_arrives_in_the_prompt_file(
    backend: str, sandbox: Callable[[str], Sandbox], tmp_path: Path
) -> None:
    prompt = "größe\0" * 150_000
    for name in ("workspace", "haystack", "chain/tools", "said"):
        (tmp_path / name).mkdir(parents=True)
    venue = SandboxVenue(sandbox(backend), Mount(REPOSITORY / "helpers", "/opt/launcher"))
    order = Order(
        watch=WatchOrder(
            workspace=tmp_path / "workspace",
            cancel=threading.Event(),
            grace_seconds=AT_ONCE,
            is_valid=lambda _: False,
        ),
        haystack=tmp_path / "haystack",
        invocation=agent([*SHELL, "{prompt_file}"], tmp_path / "chain").invocation(
            replace(PLACE, prompt=prompt)
        ),
        limits=Limits(wall_seconds=FOREVER),
        output_folder=tmp_path / "said",
        labels={},
        begun=time.monotonic(),
    )
    facts = venue.run(order)
    assert (facts.exit_code, (tmp_path / "said" / "stderr").read_text()) == (0, "")
    digest, end = (tmp_path / "said" / "stdout").read_text().splitlines()
    assert digest.split()[0] == sha256(prompt.encode()).hexdigest()
    assert end == "/dev/null"


@pytest.mark.parametrize(
    ("prompt", "why"),
    [("x" * (LONGEST_ARGUMENT + 1), "an argument has 131,072 bytes"), ("a\0b", "holds a NUL")],
)
def test_a_prompt_that_cannot_be_an_argument_is_nobodys_answer(prompt: str, why: str, tmp_path: Path) -> None:
    place = replace(PLACE, prompt=prompt)
    with pytest.raises(SandboxError, match=why) as caught:
        agent(["mine", "{prompt}"], tmp_path).invocation(place)
    assert "{prompt_file}" in str(caught.value)
    with pytest.raises(SandboxError, match="the variable PROMPT"):
        agent(["mine"], tmp_path, env={"PROMPT": "{prompt}"}).invocation(place)
    assert agent(["mine"], tmp_path).invocation(place).stdin == prompt.encode()


def test_arguments_that_are_too_long_together_are_refused(tmp_path: Path) -> None:
    place = replace(PLACE, prompt="x" * LONGEST_ARGUMENT)
    with pytest.raises(SandboxError, match="bytes together"):
        agent(["mine", *["{prompt}"] * 13], tmp_path).invocation(place)
