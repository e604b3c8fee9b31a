"""An adapter file says everything about a CLI, and what is wrong with one is said in one line."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from pathlib import Path

import orjson
import pytest

from runbook.agents import AdapterAgent, AdapterError, Catalogue, Surroundings, UnknownAgentError, make_agent
from runbook.agents import adapter as adapter_module
from runbook.agents.adapter import PLACEHOLDERS, Adapter, Install, Probe, read_adapter
from runbook.agents.catalogue import FoundAdapter
from runbook.agents.tool_chain import ToolChain, recipe_digest
from runbook.gateway.records import Wire

SMALLEST = """
name = "mine"
wire = "openai-chat"
argv = ["mine", "--model", "{model}"]
[install]
version = "1.0"
npm = ["mine@{version}"]
[probe]
argv = ["mine", "--version"]
"""
PLACE = Surroundings(
    workspace="/workspace",
    python="/opt/python3",
    helpers="/opt/helpers",
    prompt="the prompt",
    budget=20,
    base_url="http://127.0.0.1:8399/k3f9/openai",
)


def adapter(**changed: object) -> Adapter:
    plain = {**read_adapter(SMALLEST.encode(), "mine.toml").model_dump(), **changed}
    return Adapter.model_validate(plain)


def found(made: Adapter) -> FoundAdapter:
    return FoundAdapter(made, "mine", "mine.toml", "", {})


def agent(made: FoundAdapter, *, model: str = "gpt", effort: str = "") -> AdapterAgent:
    """An agent whose tool chain is said to be installed in /chain."""
    version = made.adapter.install.version
    chain = ToolChain(
        name=made.adapter.name,
        version=version,
        digest="0" * 12,
        recipe=recipe_digest(made, version),
        machine="x86_64",
        python=None,
        packages={},
        bytes=1,
        seconds=1.0,
        installed_at=datetime.now(UTC),
    )
    return AdapterAgent(made, model, effort, ((Path("/chain"), chain),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(SMALLEST)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('nmae = "x"', "nmae: there is no such key; did you mean name?"),
        ("[env]\nKEY = 'a {modle}'", "there is no placeholder {modle}; there are {arch}"),
        ('[home]\n"../out" = "x"', "is not a path below its folder"),
        ('[home]\n"a\\nb" = "x"', "is not a path below its folder"),
        ('[home]\na = "x"\n"a/b" = "x"', "home: a cannot be a file and a folder"),
        ('[home]\n"{model}" = "x"', "home: a path holds no placeholder"),
        ('[home]\n"/etc/x" = "x"', "home"),
        ("[env]\nE = '{effort}'", "say which efforts there are"),
        ("[efforts]\nlow = 1", "an effort would change nothing"),
        ("x = [", "line"),
        (f"x = {'[' * 5000}{']' * 5000}", "too many levels"),
        (f"[env]\nX = {'[' * 40}{']' * 40}", "env: has more than 32 levels"),
        (f"[env]\n{'.'.join('a' * 3000)} = 1", "env.a"),
        ("[env]\nX = nan", "env: nan is no number in JSON"),
        (f"[env]\nX = {'9' * 30}", "more than 64 bits"),
        ("[env]\nX = 2020-01-01", "env.X: "),
        ('[env]\nX = "a\\u0000b"', "env: X holds a NUL character"),
        ('[env]\n"A=B" = "x"', "env.A=B: must have the form"),
        ('[env]\n"" = "x"', "must have the form"),
        ('[env]\nHOME = "/workspace"', "HOME is the sandbox's own"),
        ('"\\u001b[2J" = 1', ": there is no such key"),
        ('stream = "nope"', "stream: there is no parser 'nope'; there are codex"),
        ('summary = "\\u001b[2J"', "summary: must be one line"),
        ('summary = "\\u202e"', "summary: must be one line"),
        ('quirks = ["a\\nb"]', "quirks.0: must be one line"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(change: str, said: str) -> None:
    top, _, tables = SMALLEST.partition("[install]")
    text = f"{top}\n{change}\n[install]{tables}"
    with pytest.raises(AdapterError) as refused:
        read_adapter(text.encode(), "./mine.toml")
    assert str(refused.value).startswith("./mine.toml")
    assert said in str(refused.value)
    assert all(line.isprintable() and len(line) < 1200 for line in str(refused.value).splitlines())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'argv = ["mine", "--model", "{model}"]',
            "argv = [[]]",
            "argv: the first word must name the program",
        ),
        (
            'argv = ["mine", "--model", "{model}"]',
            'argv = [""]',
            "argv: the first word must name the program",
        ),
        ('"--model", "{model}"', "[]", "argv: a list in it is empty"),
        ('"--model"', '"a\\u0000"', "argv: a word holds a NUL"),
        ('argv = ["mine", "--version"]', 'argv = [""]', "probe.argv: the first word must name the program"),
        ('"--version"', '"{effort}"', "probe.argv: {effort} has no value"),
        ("[probe]", "[probe]\npattern = '('", "probe.pattern: is not a regular expression"),
        ("[probe]", "[probe]\npattern = '1.0'", "probe.pattern: needs a group"),
    ],
)
def test_a_command_that_cannot_work_is_named_with_its_key(old: str, new: str, said: str) -> None:
    with pytest.raises(AdapterError) as refused:
        read_adapter(SMALLEST.replace(old, new).encode(), "./mine.toml")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("files", "../../victim.sh"),
        ("files", "/etc/passwd"),
        ("files", "a/./b"),
        ("remove", "../../precious"),
        ("remove", "node_modules/../../*"),
        ("remove", "a**"),
        ("npm", "--registry=http://evil"),
        ("npm", "git+https://host/x"),
        ("npm", "owner/repository"),
        ("npm", "mine@owner/repository"),
        ("npm", "mine@npm:other@1.0.0"),
        ("npm", "./mine@1.0.0"),
        ("npm", "mine@file:../mine"),
        ("npm", "mine-1.0.0.tgz"),
        ("npm", "mine@1.0.0.tgz"),
        ("npm", "mine"),
        ("pypi", "--no-binary=:all:"),
        ("pypi", "-e"),
        ("pypi", "/path/mine"),
        ("pypi", "./mine==1.0"),
        ("pypi", "mine @ https://host/mine.whl"),
        ("pypi", "mine==1.0 --config-settings=x"),
        ("pypi", "mine"),
    ],
)
def test_an_installation_cannot_leave_its_folder_or_its_registry(key: str, value: str) -> None:
    text = SMALLEST.replace('npm = ["mine@{version}"]', f'{key} = ["{value}"]')
    with pytest.raises(AdapterError, match=rf"install\.{key}"):
        read_adapter(text.encode(), "mine.toml")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("npm", "@scope/mine-linux-{arch}@{version}"),
        ("npm", "mine@1.0.0-rc.1+build-{machine}"),
        ("pypi", "mine[extra,other]=={version}"),
        ("remove", "**/tests"),
        ("files", "deep/mine.py"),
    ],
)
def test_what_an_installation_needs_is_taken(key: str, value: str) -> None:
    text = SMALLEST.replace('npm = ["mine@{version}"]', f'npm = ["x@1"]\n{key} = ["{value}"]')
    if key == "npm":
        text = SMALLEST.replace("mine@{version}", value)
    assert getattr(read_adapter(text.encode(), "mine.toml").install, key) == [value]


def test_an_option_that_may_have_no_value_must_be_a_list_of_its_own() -> None:
    with pytest.raises(ValueError, match="a list of their own"):
        adapter(argv=["mine", "--effort", "{effort}"], efforts={"low": "low"})


def test_the_prompt_goes_to_stdin_unless_the_command_line_carries_it() -> None:
    said = agent(found(adapter())).invocation(PLACE)
    assert (said.argv, said.stdin) == (("mine", "--model", "gpt"), b"the prompt")
    said = agent(found(adapter(argv=["mine", "{prompt}"]))).invocation(PLACE)
    assert (said.argv, said.stdin) == (("mine", "the prompt"), b"")
    said = agent(found(adapter(argv=["mine", "{prompt_file}"]))).invocation(PLACE)
    assert (said.argv, said.stdin) == (("mine", "/home/agent/prompt.md"), b"")
    assert said.home_files == {"prompt.md": "the prompt"}


def test_a_value_is_never_searched_for_placeholders() -> None:
    place = replace(PLACE, prompt="{model} {nope}")
    said = agent(found(adapter(argv=["mine", "{prompt}"]))).invocation(place)
    assert said.argv[1] == "{model} {nope}"


def test_what_belongs_to_an_effort_is_left_out_without_one() -> None:
    made = found(
        adapter(
            argv=["mine", ["--effort", "{effort}"]],
            env={"EFFORT": "{effort}", "ALWAYS": "1"},
            home={"s.json": {"tokens": "{effort}", "deep": {"e": "{effort}", "on": True}}},
            efforts={"low": 1024},
        )
    )
    without, low = agent(made).invocation(PLACE), agent(made, effort="low").invocation(PLACE)
    assert without.argv == ("mine",)
    assert without.env == {"ALWAYS": "1"}
    assert json.loads(without.home_files["s.json"]) == {"deep": {"on": True}}
    assert low.argv == ("mine", "--effort", "1024")
    assert low.env == {"EFFORT": "1024", "ALWAYS": "1"}
    assert json.loads(low.home_files["s.json"]) == {"tokens": 1024, "deep": {"e": 1024, "on": True}}


def test_a_seed_is_given_where_there_is_one() -> None:
    seeded = agent(found(adapter(argv=["mine", ["--seed", "{seed}"]], env={"SEED": "{seed}"})))
    assert seeded.invocation(PLACE).argv == ("mine",)
    invocation = seeded.invocation(replace(PLACE, seed=7))
    assert (invocation.argv, invocation.env["SEED"]) == (("mine", "--seed", "7"), "7")


def test_a_question_image_is_shown_or_its_loss_is_noted() -> None:
    with_image = replace(PLACE, image="/workspace/question_image.png")
    blind = agent(found(adapter())).invocation(with_image)
    assert blind.notes == ("agent mine cannot see images: the question's image was not shown to it",)
    seeing = agent(found(adapter(argv=["mine", ["-i", "{image}"]], images="use `look`.")))
    assert seeing.invocation(with_image).argv == ("mine", "-i", "/workspace/question_image.png")
    assert b"To look at a picture: use `look`." in seeing.invocation(with_image).stdin
    assert seeing.invocation(PLACE).argv == ("mine",)
    assert seeing.invocation(with_image).notes == ()


HOSTILE = 'a "b" \\ {effort} \n größe'


@pytest.mark.parametrize("name", Catalogue().names)
def test_built_in_adapter_survives_any_model_name(name: str) -> None:
    made = Catalogue().find(name)
    for effort in ("", *made.adapter.efforts):
        said = agent(made, model=HOSTILE, effort=effort).invocation(PLACE)
        texts = _texts([*said.argv, *said.env.values(), *said.home_files.values()])
        assert any(HOSTILE in text for text in texts)
        rest = "".join(text.replace(HOSTILE, "") for text in texts)
        assert not any("{" + left + "}" in rest for left in PLACEHOLDERS)
        assert said.env.keys().isdisjoint({"HOME", "PATH", "TMPDIR"})
        assert all(isinstance(value, str) for value in said.env.values())


def _texts(values: list[str]) -> list[str]:
    """The values, and the strings inside those that are JSON."""
    found: list[str] = []
    for value in values:
        try:
            _collect(orjson.loads(value), found)
        except orjson.JSONDecodeError:
            found.append(value)
    return found


def _collect(value: object, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, Mapping):
        for key, member in value.items():
            found.append(str(key))
            _collect(member, found)
    elif isinstance(value, list):
        for member in value:
            _collect(member, found)


@pytest.mark.parametrize("name", Catalogue().names)
def test_built_in_adapter_pins_versions_and_holds_no_key(name: str) -> None:
    recipe = Catalogue().find(name).adapter.install
    for package in recipe.npm:
        assert re.search(r"@(\{version\}(-linux-\{arch\})?|\d+\.\d+\.\d+)$", package)
    for package in recipe.pypi:
        assert re.search(r"==(\{version\}|\d[\d.]*)$", package)
    said = agent(Catalogue().find(name)).invocation(PLACE)
    keys = [value for variable, value in said.env.items() if variable.endswith("KEY")]
    assert set(keys) <= {"none"}


def test_every_key_and_placeholder_is_explained() -> None:
    page = (Path(adapter_module.__file__).parent / "adapters.md").read_text(encoding="utf-8")
    keys = [*Adapter.model_fields, *(f"install.{key}" for key in Install.model_fields)]
    keys += [f"probe.{key}" for key in Probe.model_fields]
    named = [key for key in keys if key not in ("install", "probe")]
    assert [key for key in named if f"`{key}`" not in page] == []
    assert [name for name in PLACEHOLDERS if f"`{{{name}}}`" not in page] == []


def test_every_wire_has_a_built_in_agent() -> None:
    assert {Catalogue().find(name).adapter.wire for name in Catalogue().names} == set(Wire)


def test_an_agent_by_path(folder: Path) -> None:
    assert Catalogue().find(str(folder / "mine.toml")).adapter.name == "mine"


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(AdapterError, match=r"/nowhere/x.toml: .*No such file"):
        Catalogue().find("/nowhere/x.toml")


def test_what_is_no_file_of_a_sensible_size_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(AdapterError, match="is not a file"):
            Catalogue().find(str(tmp_path / f"{name}.toml"))
    (tmp_path / "big.toml").write_text(SMALLEST + f"[env]\nX = '{'x' * 300_000}'")
    with pytest.raises(AdapterError, match="has more than 262,144 bytes"):
        Catalogue().find(str(tmp_path / "big.toml"))
    with pytest.raises(AdapterError, match="null byte"):
        Catalogue().find("a\0b.toml")


def test_a_file_by_path_brings_nothing_along_from_elsewhere(folder: Path) -> None:
    (folder / "mine.toml").write_text(SMALLEST.replace("npm =", 'files = ["key"]\nnpm ='))
    (folder.parent / "secret").write_text("secret")
    (folder / "key").symlink_to(folder.parent / "secret")
    with pytest.raises(AdapterError, match="key leads out of its folder"):
        Catalogue().find(str(folder / "mine.toml"))
    (folder / "key").unlink()
    (folder / "key").symlink_to("/dev/zero")
    with pytest.raises(AdapterError, match=r"key: is not a file"):
        Catalogue().find(str(folder / "mine.toml"))


def test_a_file_that_takes_anothers_name_is_refused(folder: Path) -> None:
    (folder / "mine.toml").write_text(SMALLEST.replace('"mine"', '"codex"', 1))
    with pytest.raises(AdapterError, match="calls itself 'codex', as another agent does"):
        Catalogue().find(str(folder / "mine.toml"))


def test_a_package_offers_an_agent_by_entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "their_agents").mkdir()
    (folder / "their_agents" / "__init__.py").write_text("")
    (folder / "their_agents" / "mine.toml").write_text(SMALLEST)
    (folder / "their_paths.py").write_text(f"MINE = {str(folder / 'mine.toml')!r}\n")
    monkeypatch.syspath_prepend(str(folder))
    for value in ("their_agents", "their_paths:MINE"):
        catalogue = Catalogue([EntryPoint("mine", value, "runbook.agents")])
        assert "mine" in catalogue.names
        assert catalogue.find("mine").adapter.name == "mine"


def test_two_packages_with_one_name_are_both_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pair_of_paths.py").write_text(f"A = B = {str(folder / 'mine.toml')!r}\n")
    monkeypatch.syspath_prepend(str(folder))
    points = [EntryPoint("mine", f"pair_of_paths:{one}", "runbook.agents") for one in "AB"]
    with pytest.raises(AdapterError, match=r"pair_of_paths:A.*pair_of_paths:B"):
        Catalogue(points).find("mine")


def test_a_package_that_breaks_is_named_and_others_still_work() -> None:
    catalogue = Catalogue([EntryPoint("mine", "no_such_module_at_all", "runbook.agents")])
    assert catalogue.find("codex").adapter.name == "codex"
    with pytest.raises(AdapterError, match=r"no_such_module_at_all.*cannot be loaded"):
        catalogue.find("mine")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"name": "nonesuch"},
            "there are scout, command, external, claude-code",
        ),
        ({"name": "codex"}, "needs a model: name one with --model"),
        (
            {"name": "codex", "model": "m", "effort": "huge"},
            "no effort 'huge'; it knows: none, minimal",
        ),
        ({"name": "codex", "model": "a\0b"}, "no text that a program can be given"),
        ({"name": "codex", "model": "\udcff"}, "no text that a program can be given"),
        ({"name": "codex", "model": "m"}, "is not installed: runbook agents install codex==0.171.0"),
        ({"name": "codex", "model": "m", "version": "9.9"}, "runbook agents install codex==9.9"),
        ({"name": "scout", "model": "m"}, "--model goes with an agent that asks a model, not with scout"),
    ],
)
def test_a_choice_that_cannot_work_says_what_would(
    settings: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UnknownAgentError) as refused:
        make_agent(**{"command": None, "tool_chains": tmp_path, **settings})  # type: ignore[arg-type]
    assert said in str(refused.value)


def test_all_that_is_wrong_with_a_file_is_told_at_once_with_its_line() -> None:
    with pytest.raises(AdapterError) as refused:
        read_adapter(f'nmae = "x"\nstream = "nope"\n{SMALLEST}'.encode(), "./mine.toml")
    told = str(refused.value).splitlines()
    assert told[0] == "./mine.toml has 2 faults:"
    assert told[1].startswith("  line 1: nmae: ")
    assert told[2].startswith("  line 2: stream: ")
