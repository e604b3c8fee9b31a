"""Install an agent's tool chain: once, whole or not at all, tried out in a sandbox."""

import fcntl
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from runbook.agents.catalogue import SUFFIX, FoundAdapter
from runbook.agents.errors import InstallError
from runbook.agents.registries import Say, install_npm, install_pypi
from runbook.agents.target import TOOLS, Target, run_inside
from runbook.agents.templates import Values, fill, fill_texts, fill_words
from runbook.agents.texts import VERSION
from runbook.agents.tool_chain import (
    RECORD,
    TOOLS_FOLDER,
    ToolChain,
    chain_digest,
    chain_folder,
    needs_python,
    recipe_digest,
)
from runbook.files import write_json
from sandbox.protocol import Mount, Sandbox

PARTIAL = ".partial-"
COMPILE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Installer:
    """Installs below `root` what runs in `sandbox`."""

    root: Path
    sandbox: Sandbox
    say: Say

    def install(self, found: FoundAdapter, version: str) -> Path:
        """The folder of the tool chain; made unless it is there. Two processes may ask for it at once.

        Raises:
            InstallError: it cannot be made, or does not run in the sandbox; nothing is left behind.
            SandboxError: the sandbox cannot be started.
        """
        if not re.fullmatch(VERSION, version):
            raise InstallError(f"{version!r} is no version: letters, digits, dots, + and -")
        target = Target.inside(self.sandbox)
        folder = chain_folder(self.root, found, version, target)
        if (folder / RECORD).is_file():
            return folder
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with self._only_one(folder):
                if not (folder / RECORD).is_file():
                    self._make(found, version, target, folder)
        except OSError as error:
            raise InstallError(
                f"{found.adapter.name} cannot be installed in {self.root}: {error.strerror or error}"
            ) from error
        return folder

    @contextmanager
    def _only_one(self, folder: Path) -> Iterator[None]:
        """Hold the lock of that folder, and remove what a killed holder left."""
        with (self.root / f".{folder.name}.lock").open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.say(f"another process installs {folder.name}; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            for left in self.root.glob(f"{PARTIAL}{folder.name}.*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    def _make(self, found: FoundAdapter, version: str, target: Target, folder: Path) -> None:
        begun = time.monotonic()
        made = Path(tempfile.mkdtemp(dir=self.root, prefix=f"{PARTIAL}{folder.name}."))
        try:
            tools = made / TOOLS_FOLDER
            tools.mkdir()
            packages = self._fetch(found, version, target, tools)
            self.say(f"trying out {found.adapter.name} in the {self.sandbox.name} sandbox")
            said = probe(found, version, self.sandbox, tools, target)
            record = ToolChain(
                name=found.adapter.name,
                version=said,
                digest=chain_digest(found, version, target),
                recipe=recipe_digest(found, version),
                machine=target.machine,
                python=target.python_version if needs_python(found) else None,
                packages=packages,
                bytes=sum(file.lstat().st_size for file in tools.rglob("*")),
                seconds=time.monotonic() - begun,
                installed_at=datetime.now(UTC),
                adapter_file=str(Path(found.asked).resolve()) if found.asked.endswith(SUFFIX) else "",
            )
            write_json(made / RECORD, record)
            keep_only(made, [TOOLS_FOLDER, RECORD])
            made.chmod(0o755)
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise

    def _fetch(self, found: FoundAdapter, version: str, target: Target, tools: Path) -> dict[str, str]:
        recipe, values = found.adapter.install, platform_values(version, target)
        npm, pypi = ([fill(one, values) for one in wanted] for wanted in (recipe.npm, recipe.pypi))
        packages: dict[str, str] = {}
        if npm:
            self.say(f"downloading {', '.join(npm)} with npm")
            packages |= install_npm(npm, tools, target, self.say)
        if pypi:
            self.say(f"downloading {', '.join(pypi)} with pip")
            packages |= install_pypi(pypi, tools, target, self.say)
        for name, data in found.files.items():
            path = tools / name
            _refuse_outside(path, tools, "files", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for pattern in recipe.remove:
            for path in sorted(tools.glob(fill(pattern, values))):
                _refuse_outside(path.parent / "any", tools, "remove", pattern)
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)  # its folder may have been removed just before
        if recipe.pypi or found.files:
            self.say("compiling Python files")
            self._compile(tools)
        open_to_all(tools)
        return packages

    def _compile(self, tools: Path) -> None:
        """Bytecode for the sandbox's Python, which cannot write any where the tools are mounted."""
        compiler = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."]
        open_to_all(tools)
        # Some packages bring files that are no Python of this version: their absence is not an error.
        run_inside(
            self.sandbox, [self.sandbox.python, "-I", *compiler], workspace=tools, seconds=COMPILE_SECONDS
        )


def probe(found: FoundAdapter, version: str, sandbox: Sandbox, tools: Path, target: Target) -> str:
    """Run the program in the sandbox and return the version that it says.

    Raises:
        InstallError: it does not run there, says no version or another one.
    """
    adapter = found.adapter
    with tempfile.TemporaryDirectory(prefix="") as workspace:
        mount = Mount(tools, TOOLS)
        values: Values = {
            **platform_values(version, target),
            **dict.fromkeys(("model", "base_url", "prompt", "prompt_file"), "none"),
            "effort": None,
            "image": None,
            "workspace": workspace,
            "python": sandbox.python,
            "helpers": "/opt/helpers",
            "tools": sandbox.locate(Path(workspace), mount),
            "home": "/home/agent",
        }
        argv = fill_words(adapter.probe.argv, values)
        said = run_inside(sandbox, argv, mounts=(mount,), env=fill_texts(adapter.env, values))
    if said.exit_code != 0:
        raise InstallError(
            f"{adapter.name} {version} does not run in the {sandbox.name} sandbox: {said.words}"
        )
    read = re.search(adapter.probe.pattern, said.stdout + said.stderr)
    if read is None or read[1] is None:
        raise InstallError(
            f"{adapter.name} {version} does not say its version: {said.words}; "
            f"probe.pattern, {adapter.probe.pattern!r}, has to find it there"
        )
    if read[1] != version:
        raise InstallError(f"{adapter.name} {version} was asked for, but it calls itself {read[1]}")
    return read[1]


def platform_values(version: str, target: Target) -> dict[str, str | int | None]:
    """What is known when packages are installed."""
    return {"version": version, "arch": target.arch, "machine": target.machine}


def _refuse_outside(path: Path, tools: Path, key: str, named: str) -> None:
    """A package may hold links, and what is written or removed through one must still lie in the tool chain.

    Raises:
        InstallError: it does not.
    """
    if not path.resolve().is_relative_to(tools.resolve()):
        raise InstallError(f"install.{key}: {named} leads out of the tool chain")


def open_to_all(tools: Path) -> None:
    """Everybody may read, nobody but the owner write; no file changes who runs it."""
    for path in (tools, *tools.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            path.chmod(0o755)
        elif stat.S_ISREG(mode):
            path.chmod(0o755 if mode & 0o111 else 0o644)


def keep_only(folder: Path, names: list[str]) -> None:
    """Remove everything else."""
    for path in folder.iterdir():
        if path.name not in names:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
