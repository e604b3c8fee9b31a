"""Every built-in CLI works in a sandbox without network, and sees nothing but its workspace."""

from collections.abc import Callable
from typing import Any

import pytest

CLIS = ("codex", "claude-code", "opencode", "gemini-cli", "qwen-code", "pi", "mini-swe-agent")
IN_DOCKER = [pytest.param(name, "docker", marks=pytest.mark.needs("docker", "agents")) for name in CLIS]
IN_BUBBLEWRAP = pytest.param("codex", "bubblewrap", marks=pytest.mark.needs("bubblewrap", "agents"))


@pytest.mark.parametrize(("name", "backend"), [*IN_DOCKER, IN_BUBBLEWRAP])
def test_cli_asks_the_model_runs_its_commands_and_takes_nothing_of_this_host(
    name: str, backend: str, run_cli: Callable[..., Any]
) -> None:
    ran = run_cli(name, backend=backend)
    said = f"{ran.stdout[-1500:]}\n{ran.stderr[-1500:]}"
    assert ran.exit_code == 0, said
    assert (ran.workspace / "memory_module_output.json").is_file(), said
    assert ran.results >= 4, said
    assert "PROMPT-MARK" in ran.sent
    assert "CANARY" not in ran.sent
