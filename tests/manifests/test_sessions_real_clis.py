"""What the agents' own programs write is what the importers read.

The programs come from npm once, into RUNBOOK_TEST_CLIS or the user's cache; a scripted model answers them.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from manifests.materialise import recorded
from manifests.model import Trajectory
from manifests.sessions import SessionReport, import_sessions
from manifests.store import Store
from tests.waiting import FOREVER

PACKAGES = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.171.0")
REQUEST = "How do we fix the flaky deploy?"
AGAIN = "And on staging?"

pytestmark = [pytest.mark.needs("agents", "shared"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder with `claude` and `codex`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    prefix = Path(os.environ.get("RUNBOOK_TEST_CLIS") or cache / "runbook-tests" / "clis")
    modules = prefix / "node_modules"
    if not (modules / ".installed").is_file():
        install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(prefix)]
        subprocess.run([*install, *PACKAGES], check=True, capture_output=True, timeout=500)
        claude = modules / "@anthropic-ai" / "claude-code"
        subprocess.run(["node", "install.cjs"], cwd=claude, check=True, capture_output=True, timeout=60)
        (modules / ".installed").touch()
    return modules / ".bin"


@pytest.fixture(scope="module")
def model(shared: Path) -> Iterator[str]:
    """The address of a model that thinks, makes four commands, of which two fail, and answers."""
    # Others may take the port between the look and the server's start.
    for _ in range(10):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, shared / "tools" / "scripted_model.py", "--port", str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            if server.stdout.readline().startswith("fakellm on"):
                yield f"http://127.0.0.1:{port}/m/think"
                server.kill()
                return
    raise AssertionError("no scripted model could be started")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder to work in."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "question.json").write_text('{"deploy": "flaky"}\n')
    (folder / "AGENTS.md").write_text("Be good.\n")
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=folder, check=True)
    return folder


def run(command: list[str | Path], request: str, project: Path, home: Path, **env: str) -> None:
    """Run an agent in the project, with a home of its own."""
    home.mkdir(exist_ok=True)
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(home), **env}
    done = subprocess.run(
        command,
        input=request,
        cwd=project,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=FOREVER,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout


def claude(programs: Path, model: str, request: str, project: Path, *options: str) -> None:
    run(
        [
            programs / "claude",
            "-p",
            "--dangerously-skip-permissions",
            "--model",
            "claude-sonnet-4-5",
            *options,
        ],
        request,
        project,
        project.parent / "home",
        ANTHROPIC_BASE_URL=model,
        ANTHROPIC_API_KEY="none",
        IS_SANDBOX="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    )


def codex(programs: Path, model: str, request: str, project: Path, *options: str) -> None:
    provider = f'{{name="bench",base_url="{model}/v1",env_key="BENCH_KEY",wire_api="responses"}}'
    settings = [
        "model_provider=bench",
        f"model_providers.bench={provider}",
        "web_search=disabled",
        "check_for_update_on_startup=false",
        "analytics.enabled=false",
    ]
    command: list[str | Path] = [programs / "codex", "exec", *options, "--json", "--ignore-user-config"]
    command += ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "MODEL"]
    command += ["--disable", "plugins", "--disable", "apps"]
    command += [part for setting in settings for part in ("-c", setting)]
    run([*command, "-"], request, project, project.parent / "home", BENCH_KEY="none")


def imported(agent: str, home: Path, store: Store) -> tuple[SessionReport, list[Trajectory]]:
    report = import_sessions(home, store, agent)
    entries = [store.get(slug) for slug in report.slugs.values()]
    return report, [
        recorded((entry.path / "trajectory.json").read_bytes(), entry.images).trajectory for entry in entries
    ]


def check(session: Trajectory, project: Path, exits: tuple[str, str]) -> None:
    """The five states of the scripted model's session."""
    assert session.goal == REQUEST
    assert session.start_url == f"file://{project}"
    assert session.id.startswith(time.strftime("shop-%Y-", time.gmtime()))
    assert [state.action.split("\n")[0] for state in session.states[:5]] == [
        "pwd; cat question.json",
        "python3 scripts/inspect.py --help",
        "echo to-stderr >&2; sleep 1; exit 3",
        "cat > memory_module_output.json <<'JSON'",
        'respond("Done: memory_module_output.json written. FINAL-MESSAGE-MARK")',
    ]
    assert all("about step" in state.thought for state in session.states[:5])
    assert session.states[0].text.endswith(f"User:\n{REQUEST}")
    assert '{"deploy": "flaky"}' in session.states[1].text
    assert exits[0] in session.states[2].text
    assert exits[1] in session.states[3].text
    assert "Be good." not in "".join(state.text for state in session.states)


def test_claude_code_resumed_and_forked(programs: Path, model: str, project: Path, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    home = tmp_path / "home" / ".claude"
    claude(programs, model, REQUEST, project)
    report, (session,) = imported("claude-code", home, store)
    assert (report.skipped, report.warnings) == (0, [])
    check(session, project, ("Exit code 2", "Exit code 3"))
    assert "Git branch: main" in session.states[0].text

    claude(programs, model, AGAIN, project, "--continue")
    report, (session,) = imported("claude-code", home, store)
    assert (report.sessions, report.reused) == (1, 0)
    assert session.states[5].text.endswith(f"User:\n{AGAIN}")

    claude(programs, model, "And elsewhere?", project, "--continue", "--fork-session")
    report, (session,) = imported("claude-code", home, store)
    assert (report.sessions, report.repeated, report.skipped) == (1, 1, 0)
    assert session.states[-1].text.endswith("User:\nAnd elsewhere?")
    assert len(Store.open(store.root).entries()) == 1


def test_codex_resumed(programs: Path, model: str, project: Path, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    home = tmp_path / "home" / ".codex"
    codex(programs, model, REQUEST, project)
    report, (session,) = imported("codex", home, store)
    assert (report.skipped, report.warnings) == (0, [])
    check(session, project, ("exited with code 2", "exited with code 3"))

    codex(programs, model, AGAIN, project, "resume", "--last")
    report, (session,) = imported("codex", home, store)
    assert (report.sessions, report.reused, report.skipped) == (1, 0, 0)
    assert session.states[5].text.endswith(f"User:\n{AGAIN}")
    assert len(Store.open(store.root).entries()) == 1
