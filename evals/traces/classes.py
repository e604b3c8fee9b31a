"""What a tool call is for, by the rules of `rules.toml`."""

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from evals.traces.shell import SimpleCommand, simple_commands

OTHER = "other"


class Rule(BaseModel):
    """One row of the rules; see there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: str = Field(alias="class")
    programs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    words: str | None = None
    arguments: str | None = None
    place: str | None = None
    writes: str | None = None
    body: str | None = None
    piped: bool | None = None
    example: str

    def fits_command(self, command: SimpleCommand) -> bool:
        """Whether everything that the rule names is true of a simple command."""
        return (
            _is_one_of(command.program, self.programs)
            and _found(self.words, [" ".join(command.words)])
            and _found(self.place, command.places)
            and _found(self.writes, command.writes)
            and _found(self.body, [command.body])
            and self.piped in (None, command.piped)
        )

    def fits_tool(self, tool: str, arguments: str) -> bool:
        """Whether the rule is true of a tool that runs no command."""
        return _is_one_of(tool, self.tools) and _found(self.arguments, [arguments])


class RuleBook(BaseModel):
    """All rules, and which class a call has that fits several."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: tuple[str, ...]
    rule: tuple[Rule, ...]

    def rule_of(self, command: SimpleCommand) -> Rule | None:
        """The first rule that fits; None where a command is something else."""
        return next((rule for rule in self._of_commands if rule.fits_command(command)), None)

    def tool_rule_of(self, tool: str, arguments: str) -> Rule | None:
        """The first rule that fits a tool that runs no command; None where it is something else."""
        return next((rule for rule in self._of_tools if rule.fits_tool(tool, arguments)), None)

    @cached_property
    def _of_commands(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rule if not rule.tools)

    @cached_property
    def _of_tools(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rule if rule.tools)

    def first(self, kinds: set[str]) -> str:
        """The class of a call whose parts have these classes."""
        return next((kind for kind in self.order if kind in kinds), OTHER)


@dataclass(frozen=True, slots=True)
class Classified:
    """A tool call's class and the simple commands in it."""

    kind: str
    commands: tuple[SimpleCommand, ...]


def classify(tool: str, command: str, arguments: str) -> Classified:
    """The class of a tool call: of its command, or without one of its tool."""
    book = rules()
    if not command:
        rule = book.tool_rule_of(tool, arguments)
        return Classified(rule.kind if rule else OTHER, ())
    commands = tuple(simple_commands(command))
    found = [book.rule_of(one) for one in commands]
    return Classified(book.first({rule.kind for rule in found if rule}), commands)


@cache
def rules() -> RuleBook:
    """The rules that come with the program."""
    return RuleBook.model_validate(tomllib.loads(files("evals.traces").joinpath("rules.toml").read_text()))


@lru_cache(maxsize=4096)
def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _found(pattern: str | None, texts: list[str] | tuple[str, ...]) -> bool:
    return pattern is None or any(re.search(pattern, text) for text in texts)
