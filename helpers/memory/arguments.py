"""What a verb accepts, and its parser: a few lines in place of argparse, which costs a whole start-up."""

from __future__ import annotations

from .failure import HelperError
from .page import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .haystack import Workspace
    from .page import Page

FLAG = "flag"
TEXT = "text"
NUMBER = "number"
COUNT = "count"  # a number from 1
MANY = "many"  # a text that may be given several times

HELP = ("-h", "--help")
COMMON = {"max-bytes": NUMBER}


class Verb:
    """One verb: its usage line, what it takes, what to try instead where it takes too long, and what does it.

    `options` maps a name without dashes to FLAG, TEXT, NUMBER, COUNT or MANY; `short` maps "-i" to a name.
    `run` gets the parsed arguments, the workspace and the page, and returns the exit code.
    """

    def __init__(
        self,
        usage: str,
        about: str,
        run: Callable[[Arguments, Workspace, Page], int],
        *,
        instead: str,
        words: tuple[int, int] = (0, 0),
        options: dict[str, str] | None = None,
        short: dict[str, str] | None = None,
    ) -> None:
        self.usage = usage
        self.about = about
        self.run = run
        self.instead = instead
        self.words = words
        self.options = {**COMMON, **(options or {})}
        self.short = short or {}

    def help(self) -> str:
        """The usage text of this verb."""
        return f"usage: memory {self.usage} [--max-bytes N]\n{self.about}\n"


class Arguments:
    """The parsed line: words in order, options by name."""

    def __init__(self, verb: Verb) -> None:
        self.verb = verb
        self.words: list[str] = []
        self._texts: dict[str, list[str]] = {}

    def add(self, name: str, text: str) -> None:
        """Record one option; twice the same is a mistake unless it may be repeated."""
        given = self._texts.setdefault(name, [])
        if given and self.verb.options[name] != MANY:
            raise HelperError(f"--{name} is given twice")
        given.append(text)

    def word(self, place: int, default: str = "") -> str:
        """The word at a place, or the default."""
        return self.words[place] if place < len(self.words) else default

    def has(self, name: str) -> bool:
        """Whether the option stands on the line."""
        return name in self._texts

    def text(self, name: str, default: str = "") -> str:
        """The value of a TEXT option."""
        return self._texts[name][0] if name in self._texts else default

    def texts(self, name: str) -> list[str]:
        """All values of a MANY option, in order."""
        return self._texts.get(name, [])

    def number(self, name: str, default: int) -> int:
        """The value of a NUMBER or COUNT option: a whole number from 0 or 1."""
        if name not in self._texts:
            return default
        return whole(self._texts[name][0], f"--{name}", least=int(self.verb.options[name] == COUNT))


def whole(text: str, what: str, *, least: int = 0) -> int:
    """A number from `least` up to nine digits; HelperError names `what` otherwise."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) < least:
        raise HelperError(f"{what} must be a whole number from {least} up to nine digits, not {quote(text)}")
    return int(text)


def parse(verb: Verb, line: list[str]) -> Arguments:
    """Parse the words after the verb's name.

    Raises:
        HelperError: an unknown option, a missing value, a missing or surplus word.
    """
    arguments = Arguments(verb)
    rest = iter(line)
    for item in rest:
        if item == "--":
            arguments.words.extend(rest)
        elif item.startswith("-") and item != "-":
            _option(verb, item, rest, arguments)
        else:
            arguments.words.append(item)
    least, most = verb.words
    if len(arguments.words) < least:
        raise HelperError("something is missing")
    if len(arguments.words) > most:
        surplus = quote(arguments.words[most])
        raise HelperError(f"{surplus} is one argument too many (quote a text that has spaces)")
    for name, kind in verb.options.items():
        if kind in (NUMBER, COUNT):
            arguments.number(name, 0)
    return arguments


def _option(verb: Verb, item: str, rest: Iterator[str], arguments: Arguments) -> None:
    name, equals, value = item[2:].partition("=") if item.startswith("--") else (item, "", "")
    name = verb.short.get(name, name)
    kind = verb.options.get(name)
    if kind is None:
        hint = " (put -- before a text that starts with -)" if not item.startswith("--") else ""
        raise HelperError(f"unknown option {quote(item)}{hint}")
    if kind == FLAG:
        if equals:
            raise HelperError(f"--{name} takes no value")
        arguments.add(name, "")
        return
    if not equals:
        following = next(rest, None)
        if following is None:
            raise HelperError(f"--{name} needs a value")
        value = following
    arguments.add(name, value)
