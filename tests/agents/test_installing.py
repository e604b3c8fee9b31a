"""Tool chains are installed once, whole or not at all, by the ordinary clients; here from local packages."""

import io
import json
import stat
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runbook.agents import InstallError
from runbook.agents.adapter import Adapter
from runbook.agents.catalogue import FoundAdapter
from runbook.agents.installing import Installer
from runbook.agents.registries import explained
from runbook.agents.tool_chain import find_installed, installed
from sandbox.process import ProcessSandbox

CLI = "node_modules/mine/cli.py"


class Registry(ThreadingHTTPServer):
    """What npm needs of its registry, for packages given as member name to text."""

    def __init__(self, packages: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.address = f"http://127.0.0.1:{self.server_port}/"
        self.files: dict[str, bytes] = {}
        for name, members in packages.items():
            described = json.loads(members["package.json"])
            described["dist"] = {"tarball": f"{self.address}{name}.tgz"}
            version = described["version"]
            listed = {"name": name, "dist-tags": {"latest": version}, "versions": {version: described}}
            self.files[f"/{name}"] = json.dumps(listed).encode()
            self.files[f"/{name}.tgz"] = packed(members)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class Answer(BaseHTTPRequestHandler):
    """Of the registry."""

    server: Registry

    def do_GET(self) -> None:
        data = self.server.files.get(self.path, b"")
        self.send_response(200 if data else 404)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def packed(members: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in members.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text), 0o600
            archive.addfile(entry, io.BytesIO(text.encode()))
    return file.getvalue()


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Offer npm a package of one program that says its version; its install script would leave a file."""
    registries: list[Registry] = []

    def offer(**more: object) -> str:
        script = {"postinstall": f"touch {tmp_path}/RAN"}
        described = {"name": "mine", "version": "1.2.3", "scripts": script, **more}
        program = {"cli.py": "print('mine 1.2.3')\n", "useless.bin": "x" * 1000}
        registries.append(Registry({"mine": {"package.json": json.dumps(described), **program}}))
        monkeypatch.setenv("npm_config_registry", registries[-1].address)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
        return "mine@1.2.3"

    yield offer
    for registry in registries:
        registry.shutdown()
        registry.server_close()


@pytest.fixture
def package(publish: Callable[..., str]) -> str:
    return publish()


def found(package: str, **install: object) -> FoundAdapter:
    adapter = Adapter.model_validate(
        {
            "name": "mine",
            "wire": "openai-chat",
            "argv": ["{python}", f"{{tools}}/{CLI}"],
            "install": {"version": "1.2.3", "npm": [package], **install},
            "probe": {"argv": ["{python}", f"{{tools}}/{CLI}"]},
        }
    )
    return FoundAdapter(adapter, "mine", "mine.toml", "", dict.fromkeys(adapter.install.files, b"pass\n"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "agents"


def installer(root: Path, said: list[str] | None = None) -> Installer:
    return Installer(root, ProcessSandbox(), (said if said is not None else []).append)


@pytest.mark.needs("agents")
def test_a_chain_is_whole_readable_by_all_and_writable_by_nobody_else(root: Path, package: str) -> None:
    one = found(package, remove=["node_modules/mine/*.bin"], files=["extra.py"])
    folder = installer(root).install(one, "1.2.3")
    assert sorted(path.name for path in folder.iterdir()) == ["chain.json", "tools"]
    assert (folder / "tools" / CLI).is_file()
    assert (folder / "tools" / "extra.py").is_file()
    assert not (folder / "tools" / "node_modules" / "mine" / "useless.bin").exists()
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        assert mode & 0o044 == 0o044, path
        assert stat.S_ISLNK(mode) or mode & 0o022 == 0, path
    ((where, chain),) = installed(root)
    assert (where, chain.version, chain.packages) == (folder, "1.2.3", {"mine": "1.2.3"})


@pytest.mark.needs("agents")
def test_no_script_of_a_package_runs_on_this_machine(root: Path, package: str, tmp_path: Path) -> None:
    installer(root).install(found(package), "1.2.3")
    assert not (tmp_path / "RAN").exists()


@pytest.mark.needs("agents")
def test_a_package_cannot_bring_a_folder_of_this_machine(
    root: Path, publish: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "package.json").write_text('{"name": "precious", "version": "1.0.0"}')
    package = publish(dependencies={"precious": f"file:{tmp_path}/precious"})
    with pytest.raises(InstallError, match=r"precious comes from .*, not from a registry"):
        installer(root).install(found(package, remove=["node_modules/precious/*"]), "1.2.3")
    assert [path.name for path in (tmp_path / "precious").iterdir()] == ["package.json"]
    assert list(installed(root)) == []


@pytest.mark.needs("agents")
def test_a_package_cannot_bring_a_repository_that_prepares_itself(
    root: Path, publish: Callable[..., str], tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    script = {"prepare": f"touch {tmp_path}/RAN"}
    described = {"name": "source", "version": "1.0.0", "scripts": script}
    (source / "package.json").write_text(json.dumps(described))
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "s"]):
        subprocess.run(["git", *command], cwd=source, check=True)
    package = publish(dependencies={"source": f"git+file://{source}"})
    with pytest.raises(InstallError, match="npm cannot install"):
        installer(root).install(found(package), "1.2.3")
    assert not (tmp_path / "RAN").exists()


@pytest.mark.needs("agents")
def test_nothing_but_what_lies_in_the_tool_chain_is_removed(root: Path, package: str) -> None:
    with pytest.raises(InstallError, match="leads out of the tool chain"):
        installer(root).install(found(package, remove=["**"]), "1.2.3")


def test_a_version_is_no_path(root: Path) -> None:
    with pytest.raises(InstallError, match=r"1\.2\.3' is no version"):
        installer(root).install(found("mine@1.2.3"), "../../1.2.3")


@pytest.mark.needs("agents")
def test_a_second_install_needs_no_registry(
    root: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = installer(root).install(found(package), "1.2.3")
    before = (folder / "chain.json").stat().st_mtime_ns
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    assert installer(root).install(found(package), "1.2.3") == folder
    assert (folder / "chain.json").stat().st_mtime_ns == before


@pytest.mark.needs("agents")
def test_two_at_once_make_one_chain(root: Path, package: str) -> None:
    folders: list[Path] = []
    threads = [
        threading.Thread(target=lambda: folders.append(installer(root).install(found(package), "1.2.3")))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(folders) == 2
    assert len(set(folders)) == 1


@pytest.mark.needs("agents")
def test_what_a_killed_install_left_is_removed(root: Path, package: str) -> None:
    folder = installer(root).install(found(package), "1.2.3")
    left = root / f".partial-{folder.name}.killed"
    (left / "tools").mkdir(parents=True)
    (folder / "chain.json").unlink()
    folder.rename(root / "elsewhere")
    installer(root).install(found(package), "1.2.3")
    assert not left.exists()


@pytest.mark.needs("agents")
def test_another_recipe_is_another_chain(root: Path, package: str) -> None:
    plain, trimmed = found(package), found(package, remove=["node_modules/mine/*.bin"])
    assert installer(root).install(plain, "1.2.3") != installer(root).install(trimmed, "1.2.3")
    assert len(find_installed(root, plain, "1.2.3")) == 1


@pytest.mark.needs("agents")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pattern": r"mine (\d)$"}, "does not say its version"),
        ({"argv": ["{python}", "-c", "print('mine 9.9.9')"]}, "was asked for, but it calls itself 9.9.9"),
        ({"argv": ["{python}", "-c", "raise SystemExit('broken')"]}, "does not run in the process sandbox"),
    ],
)
def test_a_program_that_does_not_run_or_is_another_version_is_not_installed(
    root: Path, package: str, change: dict[str, object], said: str
) -> None:
    one = found(package)
    plain = one.adapter.model_dump()
    plain["probe"] |= change
    one = FoundAdapter(Adapter.model_validate(plain), "mine", "mine.toml", "", {})
    with pytest.raises(InstallError, match=said):
        installer(root).install(one, "1.2.3")
    assert [path.name for path in root.iterdir() if not path.name.endswith(".lock")] == []


@pytest.mark.needs("agents")
@pytest.mark.parametrize("client", ["npm", "pypi"])
def test_a_registry_that_is_not_reached_is_said(
    root: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(root.parent / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    spec = {
        "npm": {"npm": ["no-such-package@1.2.3"]},
        "pypi": {"npm": [], "pypi": ["no-such-package==1.2.3"]},
    }
    with pytest.raises(InstallError, match="does not reach its registry for no-such-package"):
        installer(root).install(found("mine@1.2.3", **spec[client]), "1.2.3")
    assert list(installed(root)) == []


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("a file")
    with pytest.raises(InstallError, match=r"mine cannot be installed in .*agents"):
        installer(tmp_path / "agents").install(found("mine@1.2.3"), "1.2.3")


def test_of_all_versions_that_pip_lists_the_newest_are_told() -> None:
    versions = ", ".join(f"0.{number}.0" for number in range(200))
    said = (
        "ERROR: Could not find a version that satisfies the requirement gptme==9.99 "
        f"(from versions: {versions})\nERROR: No matching distribution found for gptme==9.99\n"
    )
    line = explained("pip", said, ["gptme==9.99"])
    assert "(the newest are 0.195.0, 0.196.0, 0.197.0, 0.198.0, 0.199.0)" in line
    assert "choose another with NAME==VERSION" in line
    assert "0.100.0" not in line


def test_a_long_line_of_a_client_ends_between_two_words() -> None:
    line = explained("npm", "npm error " + "word " * 200, ["mine"])
    assert line.endswith(" word ...")
