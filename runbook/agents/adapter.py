"""What an agent CLI is to us: one TOML file, read into an `Adapter`.

`runbook agents schema` prints the JSON Schema of the file; adapters.md explains it with examples.
"""

from typing import Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from runbook.agents.errors import AdapterError
from runbook.agents.templates import placeholders
from runbook.agents.texts import (
    VERSION,
    EnvironmentName,
    Line,
    NpmPackage,
    PypiPackage,
    RelativeGlob,
    RelativePath,
    check_json,
    check_version_pattern,
    check_words,
    clash,
)
from runbook.complaints import faults_of
from runbook.gateway.records import Wire
from runbook.toml_places import TomlPlaces, told_faults
from runbook.toml_reading import TomlError, parse_toml
from runbook.traces.streams import STREAMS

PLACES = frozenset({"workspace", "python", "helpers", "tools", "home"})
PLATFORM = frozenset({"arch", "machine", "version"})
SAID = frozenset({"model", "effort", "base_url", "prompt", "prompt_file", "image", "seed"})
PLACEHOLDERS = PLACES | PLATFORM | SAID
OPTIONAL = frozenset({"effort", "image", "seed"})
"""Placeholders that may have no value."""

PROMPT_FILE = "prompt.md"
"""Where in HOME the prompt lies for `{prompt_file}`."""
LARGEST = 256 * 1024
"""Bytes of an adapter's file."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Install(_Part):
    """How the tool chain is made. No script of any package is run on the host."""

    version: str = Field(pattern=VERSION)
    """The version that is installed unless another is asked for. Pin it: patch versions differ."""
    npm: list[NpmPackage] = []
    """Packages of npm with versions. `{version}`, `{arch}` (x64, arm64) and `{machine}` (x86_64, aarch64)
    are filled in; `node-linux-{arch}@22.23.5` brings a Node of its own."""
    pypi: list[PypiPackage] = []
    """Packages of PyPI with versions, installed as wheels into `{tools}/site` for the sandbox's Python."""
    files: list[RelativePath] = []
    """Files beside the TOML file that are copied to `{tools}/`."""
    remove: list[RelativeGlob] = []
    """What is not needed, as glob patterns relative to `{tools}`."""

    @model_validator(mode="after")
    def _installs_something(self) -> Self:
        if not (self.npm or self.pypi or self.files):
            raise ValueError("npm, pypi or files must name something")
        return self


class Probe(_Part):
    """How the installed program says its version, without a network."""

    argv: list[str] = Field(min_length=1)
    """The command."""
    pattern: str = r"(\d+\.\d+\.\d+\S*)"
    """A regular expression searched in its output; its first group is the version."""

    @field_validator("argv")
    @classmethod
    def _is_a_command(cls, value: list[str]) -> list[str]:
        check_words(value)
        if loose := placeholders(value) & OPTIONAL:
            raise ValueError(f"{{{min(loose)}}} has no value when the program is asked for its version")
        return value

    @field_validator("pattern")
    @classmethod
    def _finds_a_version(cls, value: str) -> str:
        check_version_pattern(value)
        return value


class Adapter(_Part):
    """An agent CLI."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    """What `--agent` calls it."""
    summary: Line = ""
    """One line for `runbook agents list`."""
    wire: Wire
    """The protocol in which it speaks to its model."""
    stream: str = ""
    """Name of the parser of its standard output; empty where that holds no events. Traces then come from the
    wire alone."""
    argv: list[str | list[str]] = Field(min_length=1)
    """The command line, no shell. A nested list is left out where a placeholder in it has no value. The
    prompt goes to standard input unless `{prompt}` or `{prompt_file}` occurs here."""
    env: dict[EnvironmentName, JsonValue] = {}
    """The environment, and nothing else reaches the CLI. A table becomes JSON."""
    home: dict[RelativePath, JsonValue] = {}
    """Files in its fresh HOME: a text as it is, a table as JSON."""
    efforts: dict[Line, Line | int] = {}
    """Reasoning efforts, and what `{effort}` becomes for each. None given: it has no such setting."""
    images: Line = ""
    """What the agent is told about how to look at a picture. Empty: it cannot see pictures."""
    quirks: list[Line] = []
    """What a user should know."""
    install: Install
    probe: Probe

    @field_validator("stream")
    @classmethod
    def _stream_is_known(cls, value: str) -> str:
        if value and value not in STREAMS:
            raise ValueError(f"there is no parser {value!r}; there are {', '.join(STREAMS)}")
        return value

    @field_validator("argv")
    @classmethod
    def _is_a_command(cls, value: list[str | list[str]]) -> list[str | list[str]]:
        check_words(value)
        return value

    @field_validator("env", "home")
    @classmethod
    def _can_be_written(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        check_json(value)
        return value

    @field_validator("env")
    @classmethod
    def _can_be_given(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for name, text in value.items():
            if isinstance(text, str) and "\0" in text:
                raise ValueError(f"{name} holds a NUL character, which no program can be given")
        return value

    @field_validator("argv", "env", "home", "install", "probe")
    @classmethod
    def _placeholders_are_known(cls, value: object) -> object:
        plain = value.model_dump() if isinstance(value, BaseModel) else value
        if unknown := placeholders(plain) - PLACEHOLDERS:
            raise ValueError(
                f"there is no placeholder {{{min(unknown)}}}; there are "
                + ", ".join(f"{{{name}}}" for name in sorted(PLACEHOLDERS))
            )
        return value

    @field_validator("install")
    @classmethod
    def _packages_depend_on_the_platform_alone(cls, value: Install) -> Install:
        if wrong := placeholders([*value.npm, *value.pypi, *value.remove]) - PLATFORM:
            raise ValueError(f"{{{min(wrong)}}} has no value when packages are installed")
        return value

    @model_validator(mode="after")
    def _home_can_be_made(self) -> Self:
        if placeholders([*self.home]):
            raise ValueError("home: a path holds no placeholder")
        taken = [*self.home, *([PROMPT_FILE] if self.uses("prompt_file") else [])]
        if len(taken) > len({*taken}):
            raise ValueError(f"home: {PROMPT_FILE} is where {{prompt_file}} lies")
        if both := clash(taken):
            raise ValueError(f"home: {both} cannot be a file and a folder")
        return self

    @model_validator(mode="after")
    def _left_out_where_it_may_be(self) -> Self:
        for word in self.argv:
            if isinstance(word, str) and (loose := placeholders(word) & OPTIONAL):
                raise ValueError(
                    f"argv: {{{min(loose)}}} may have no value: put the words that go with it into a list of "
                    f'their own, such as ["--option", "{{{min(loose)}}}"]'
                )
        used = "effort" in placeholders([self.argv, self.env, self.home])
        if used and not self.efforts:
            raise ValueError("efforts: {effort} is used, so say which efforts there are")
        if self.efforts and not used:
            raise ValueError("efforts: {effort} is used nowhere, so an effort would change nothing")
        return self

    def uses(self, *names: str) -> bool:
        """Whether the command line holds one of these placeholders."""
        return not placeholders(self.argv).isdisjoint(names)


def read_adapter(data: bytes, origin: str) -> Adapter:
    """Read an adapter from TOML.

    Raises:
        AdapterError: it is no TOML, has an unknown key or a wrong value; `origin` and the key are named.
    """
    if len(data) > LARGEST:
        raise AdapterError(f"{origin}: has more than {LARGEST:,} bytes, so it is no adapter")
    try:
        return Adapter.model_validate(parse_toml(data))
    except TomlError as error:
        raise AdapterError(f"{origin}: {error}") from None
    except ValidationError as error:
        # Of a key that is wrong, the library tells "[key]" beside it.
        faults = [(place, told.replace(".[key]", "")) for place, told in faults_of(error, Adapter)]
        raise AdapterError(told_faults(origin, TomlPlaces(data.decode()), faults)) from None
