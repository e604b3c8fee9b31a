"""Every built-in CLI works in a sandbox without network, and sees nothing but its workspace."""

from collections.abc import Callable

import pytest

from tests.agents.conftest import Ran  # type: ignore[import-not-found]

CLIS = ("codex", "claude-code", "opencode", "gemini-cli", "qwen-code", "pi", "mini-swe-agent")


@pytest.mark.needs("docker", "agents")
@pytest.mark.parametrize("name", CLIS)
def test_cli_asks_the_model_runs_its_commands_and_sees_no_file_above(
    name: str, run_cli: Callable[..., Ran]
) -> None:
    ran = run_cli(name)
    said = f"{ran.stdout[-1500:]}\n{ran.stderr[-1500:]}"
    assert ran.exit_code == 0, said
    assert (ran.workspace / "memory_module_output.json").is_file(), said
    assert ran.results >= 4, said
    assert "PROMPT-MARK" in ran.bodies
    assert "CANARY" not in ran.bodies
