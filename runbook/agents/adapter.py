"""What an agent CLI is to us: one TOML file, read into an `Adapter`.

`runbook agents schema` prints the JSON Schema of the file; adapters.md explains it with examples.
"""

import tomllib
from typing import Annotated, Self

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
from runbook.complaints import of_validation
from runbook.gateway.records import Wire

PLACES = frozenset({"workspace", "python", "helpers", "tools", "home"})
PLATFORM = frozenset({"arch", "machine", "version"})
SAID = frozenset({"model", "effort", "base_url", "prompt", "prompt_file", "image"})
PLACEHOLDERS = PLACES | PLATFORM | SAID
OPTIONAL = frozenset({"effort", "image"})
"""Placeholders that may have no value."""

RelativePath = Annotated[str, Field(pattern=r"^[^/\x00]+(/[^/\x00]+)*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Install(_Part):
    """How the tool chain is made. No script of any package is run on the host."""

    version: str = Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$")
    """The version that is installed unless another is asked for. Pin it: patch versions differ."""
    npm: list[str] = []
    """Packages of npm with versions. `{version}`, `{arch}` (x64, arm64) and `{machine}` (x86_64, aarch64)
    are filled in; `node-linux-{arch}@22.23.5` brings a Node of its own."""
    pypi: list[str] = []
    """Packages of PyPI with versions, installed as wheels into `{tools}/site` for the sandbox's Python."""
    files: list[RelativePath] = []
    """Files beside the TOML file that are copied to `{tools}/`."""
    remove: list[RelativePath] = []
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


class Adapter(_Part):
    """An agent CLI."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    """What `--agent` calls it."""
    summary: str = ""
    """One line for `runbook agents list`."""
    wire: Wire
    """The protocol in which it speaks to its model."""
    stream: str = ""
    """Name of the parser of its standard output; empty where that holds no events. Traces then come from the
    wire alone."""
    argv: list[str | list[str]] = Field(min_length=1)
    """The command line, no shell. A nested list is left out where a placeholder in it has no value. The
    prompt goes to standard input unless `{prompt}` or `{prompt_file}` occurs here."""
    env: dict[str, JsonValue] = {}
    """The environment, and nothing else reaches the CLI. A table becomes JSON."""
    home: dict[RelativePath, JsonValue] = {}
    """Files in its fresh HOME: a text as it is, a table as JSON."""
    efforts: dict[str, str | int] = {}
    """Reasoning efforts, and what `{effort}` becomes for each. None given: it has no such setting."""
    images: str = ""
    """What the agent is told about how to look at a picture. Empty: it cannot see pictures."""
    quirks: list[str] = []
    """What a user should know."""
    install: Install
    probe: Probe

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

    @field_validator("home")
    @classmethod
    def _stays_in_home(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for path in value:
            if not {".", ".."}.isdisjoint(path.split("/")):
                raise ValueError(f"{path!r} is not a path below HOME")
        return value

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
    try:
        return Adapter.model_validate(tomllib.loads(data.decode("utf-8")))
    except UnicodeDecodeError as error:
        raise AdapterError(f"{origin}: not UTF-8 at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise AdapterError(f"{origin}: {error}") from None
    except ValidationError as error:
        raise AdapterError(f"{origin}: {of_validation(error)}") from None
