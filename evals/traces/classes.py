"""What a tool call is for, by the rules of `rules.toml`."""

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
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
    words: re.Pattern[str] | None = None
    arguments: re.Pattern[str] | None = None
    place: re.Pattern[str] | None = None
    writes: re.Pattern[str] | None = None
    body: re.Pattern[str] | None = None
    piped: bool | None = None
    example: str

    def is_of_program(self, program: str) -> bool:
        """Whether the rule is one of commands, and of this program's among others."""
        return not self.tools and _is_one_of(program, self.programs)

    def fits_command(self, command: SimpleCommand, words: str) -> bool:
        """Whether everything else that the rule names is true of a simple command; `words` are its own."""
        return (
            (self.piped is None or self.piped == command.piped)
            and (self.words is None or self.words.search(words) is not None)
            and (self.place is None or any(map(self.place.search, command.places)))
            and (self.writes is None or any(map(self.writes.search, command.writes)))
            and (self.body is None or self.body.search(command.body) is not None)
        )

    def fits_tool(self, tool: str, arguments: str) -> bool:
        """Whether the rule is true of a tool that runs no command."""
        return (
            bool(self.tools)
            and _is_one_of(tool, self.tools)
            and (self.arguments is None or self.arguments.search(arguments) is not None)
        )


class RuleBook(BaseModel):
    """All rules, and which class a call has that fits several."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: tuple[str, ...]
    rule: tuple[Rule, ...]

    def tool_rule_of(self, tool: str, arguments: str) -> Rule | None:
        """The first rule that fits a tool that runs no command; None where it is something else."""
        return next((rule for rule in self.rule if rule.fits_tool(tool, arguments)), None)

    def first(self, kinds: set[str]) -> str:
        """The class of a call whose parts have these classes."""
        return next((kind for kind in self.order if kind in kinds), OTHER)


@dataclass(frozen=True, slots=True)
class Classified:
    """A tool call's class and the simple commands in it."""

    kind: str
    commands: tuple[SimpleCommand, ...]


@lru_cache(maxsize=256)  # agents repeat themselves, and the longest command is 32 KB
def classify(tool: str, command: str, arguments: str) -> Classified:
    """The class of a tool call: of its command, or without one of its tool."""
    book = rules()
    if not command:
        rule = book.tool_rule_of(tool, arguments)
        return Classified(rule.kind if rule else OTHER, ())
    commands = tuple(simple_commands(command))
    found = [rule_of(one) for one in commands]
    return Classified(book.first({rule.kind for rule in found if rule}), commands)


def rule_of(command: SimpleCommand) -> Rule | None:
    """The first rule that fits; None where a command is something else."""
    words = " ".join(command.words)
    return next((rule for rule in _rules_of(command.program) if rule.fits_command(command, words)), None)


@cache
def rules() -> RuleBook:
    """The rules that come with the program."""
    return RuleBook.model_validate(tomllib.loads(files("evals.traces").joinpath("rules.toml").read_text()))


@lru_cache(maxsize=1024)
def _rules_of(program: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules().rule if rule.is_of_program(program))


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
