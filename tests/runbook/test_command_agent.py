"""The command agent: placeholders become arguments where Linux takes them, else nothing is started."""

import subprocess

import pytest

from runbook.agents.arguments import LONGEST_ARGUMENT
from runbook.agents.command import CommandAgent
from runbook.agents.protocol import Surroundings
from sandbox.protocol import SandboxError


def surroundings(prompt: str) -> Surroundings:
    return Surroundings(workspace="/w", python="/p", helpers="/h", prompt=prompt, budget=20)


def test_a_prompt_without_placeholder_is_given_on_standard_input() -> None:
    long = "\0" + "é" * LONGEST_ARGUMENT
    invocation = CommandAgent("agent --dir {workspace}").invocation(surroundings(long))
    assert invocation.argv == ("agent", "--dir", "/w")
    assert invocation.stdin == long.encode()


def test_the_longest_argument_is_the_one_that_linux_takes() -> None:
    argv = CommandAgent("true {prompt}").invocation(surroundings("x" * LONGEST_ARGUMENT)).argv
    assert subprocess.run(argv, check=False).returncode == 0
    with pytest.raises(OSError, match="too long"):
        subprocess.run(["true", "x" * (LONGEST_ARGUMENT + 1)], check=False)


@pytest.mark.parametrize(
    ("prompt", "why"), [("é" * (LONGEST_ARGUMENT // 2 + 1), "131,072 bytes"), ("a\0b", "NUL")]
)
def test_a_prompt_that_cannot_be_an_argument_is_nobodys_answer(prompt: str, why: str) -> None:
    with pytest.raises(SandboxError, match=why) as caught:
        CommandAgent("agent -p {prompt}").invocation(surroundings(prompt))
    assert "leave {prompt} out" in str(caught.value)
