"""Shell text taken apart into its simple commands, by a grammar and not by looking at how it begins."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

DEPTH = 60
"""Nesting beyond which nothing is looked at."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_WRAPPERS = frozenset(
    {"env", "timeout", "time", "nice", "nohup", "sudo", "command", "exec", "stdbuf", "xargs"}
)
_WITH_VALUE = frozenset({"-n", "-I", "-P", "-L", "-d", "-a", "-s", "-u", "-k"})
_PATH = re.compile(r"[^\s'\"()<>|;&]+")
_VALUE_CHARACTERS = 1000
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program with its words, where its files lie seen from where the whole command started."""

    program: str
    """The name without its folder; "" for a bare redirection."""
    words: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """Words that can be paths, and what is read from by redirection; many are none, for example patterns."""
    writes: tuple[str, ...] = ()
    body: str = ""
    """Here-documents and here-strings."""
    piped: bool = False
    """Whether it reads what another command prints."""


@dataclass(slots=True)
class _Draft:
    words: list[str]
    folder: str
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    body: str = ""
    piped: bool = False


def simple_commands(text: str, *, depth: int = 3) -> list[SimpleCommand]:
    """The simple commands of a shell text in its order, those of `bash -c` and of substitutions included.

    Text that is no valid shell gives what can be made out. `depth` is how many shells in shells are opened.
    """
    return [one for draft in _Reading().read(text) for one in _finished(draft, depth)]


class _Reading:
    """Walks one syntax tree; `cd` changes where the commands after it stand."""

    def __init__(self) -> None:
        self._source = b""
        self._folder = ""
        self._drafts: list[_Draft] = []
        self._variables: dict[str, str] = {}

    def read(self, text: str) -> list[_Draft]:
        self._source = text.encode("utf-8", "replace")
        self._visit(_parser().parse(self._source).root_node, 0)
        return self._drafts

    def _visit(self, node: Node, depth: int) -> None:
        if depth > DEPTH:
            return
        match node.type:
            case "command":
                self._command(node, depth)
            case "redirected_statement":
                self._redirected(node, depth)
            case "pipeline":
                self._pipeline(node, depth)
            case "heredoc_body" | "comment":
                return
            case "for_statement" | "variable_assignment":
                self._assign(node, depth)
            case _:
                for child in node.named_children:
                    self._visit(child, depth + 1)

    def _assign(self, node: Node, depth: int) -> None:
        """Remember what a variable is, of a loop's values the first."""
        name = node.child_by_field_name("variable") or node.child_by_field_name("name")
        values = node.children_by_field_name("value")
        if name is not None and values:
            self._variables[self._raw(name)] = self._text(values[0])[:_VALUE_CHARACTERS]
        for child in node.named_children:
            self._visit(child, depth + 1)

    def _command(self, node: Node, depth: int) -> None:
        words = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                continue
            if child.type in ("file_redirect", "herestring_redirect"):
                continue
            words.append(self._text(child))
            self._substitutions(child, depth + 1)
        draft = _Draft(words, self._folder)
        self._drafts.append(draft)
        for child in node.named_children:
            if child.type in ("file_redirect", "herestring_redirect"):
                self._redirect(child, draft)
        if words and words[0] == "cd":
            self._folder = _joined(self._folder, words[1] if len(words) > 1 else "~")

    def _redirected(self, node: Node, depth: int) -> None:
        before = len(self._drafts)
        redirects = node.children_by_field_name("redirect")
        for child in node.named_children:
            if child not in redirects:
                self._visit(child, depth + 1)
        if len(self._drafts) == before:
            self._drafts.append(_Draft([], self._folder))
        draft = self._drafts[-1]
        for redirect in redirects:
            self._redirect(redirect, draft)
            if redirect.type == "heredoc_redirect":
                for child in redirect.named_children:
                    self._visit(child, depth + 1)

    def _pipeline(self, node: Node, depth: int) -> None:
        for number, child in enumerate(node.named_children):
            before = len(self._drafts)
            self._visit(child, depth + 1)
            if number and len(self._drafts) > before:
                self._drafts[before].piped = True

    def _redirect(self, node: Node, draft: _Draft) -> None:
        if node.type == "heredoc_redirect":
            draft.body += "".join(self._raw(one) for one in node.named_children if one.type == "heredoc_body")
            return
        if node.type == "herestring_redirect":
            draft.body += "".join(self._text(one) for one in node.named_children)
            return
        destination = node.child_by_field_name("destination")
        if destination is None:
            return
        signs = {child.type for child in node.children if not child.is_named}
        target = self._text(destination)
        if any(">" in sign for sign in signs):
            draft.writes.append(target)
        else:
            draft.reads.append(target)

    def _substitutions(self, node: Node, depth: int) -> None:
        if depth > DEPTH or not node.named_child_count:
            return
        if node.type in ("command_substitution", "process_substitution"):
            self._visit(node, depth + 1)
            return
        for child in node.named_children:
            self._substitutions(child, depth + 1)

    def _text(self, node: Node) -> str:
        """A word without its quotes; what is only known when it runs stays as it is written."""
        match node.type:
            case "raw_string":
                return self._raw(node)[1:-1]
            case "ansi_c_string":
                return self._raw(node)[2:-1]
            case "string":
                return self._quoted(node)
            case "word":
                return _unescaped(self._raw(node))
            case "concatenation" | "command_name":
                return "".join(self._text(child) for child in node.named_children) or self._raw(node)
            case "simple_expansion" | "expansion":
                raw = self._raw(node)
                return self._variables.get(raw.strip("${}"), raw)
        return self._raw(node)

    def _quoted(self, node: Node) -> str:
        """The content of double quotes, with the space between its parts, which the tree leaves out."""
        told, place = [], node.start_byte + 1
        for child in node.named_children:
            told.append(self._source[place : child.start_byte].decode("utf-8", "replace"))
            raw = child.type == "string_content"
            told.append(_unescaped(self._raw(child)) if raw else self._text(child))
            place = child.end_byte
        return "".join(told) + self._source[place : node.end_byte - 1].decode("utf-8", "replace")

    def _raw(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _finished(draft: _Draft, depth: int) -> Iterator[SimpleCommand]:
    words = _without_wrappers(draft.words)
    program = _name(words[0]) if words else ""
    script = _script(program, words)
    if script is not None and depth > 0:
        inner = simple_commands(f"cd {draft.folder}\n{script}" if draft.folder else script, depth=depth - 1)
        yield from inner[1:] if draft.folder else inner
        return
    if program == "find" and (given := _executed(words)):
        yield from _finished(_Draft(given, draft.folder, piped=True), depth)
    yield SimpleCommand(
        program=program,
        words=tuple(words[1:]),
        places=tuple(
            _joined(draft.folder, place) for place in (*words[1:], *draft.reads) if _PATH.fullmatch(place)
        ),
        writes=tuple(_joined(draft.folder, place) for place in draft.writes),
        body=draft.body,
        piped=draft.piped,
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _script(program: str, words: list[str]) -> str | None:
    """What `bash -c` runs; None for anything else."""
    if program not in _SHELLS:
        return None
    for number, word in enumerate(words[1:-1], start=1):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[number + 1]
        if not word.startswith("-"):
            return None
    return None


def _without_wrappers(words: list[str]) -> list[str]:
    """`timeout 5 rg x` and the like without what only changes how a program runs."""
    rest = words
    while rest and (wrapper := _name(rest[0])) in _WRAPPERS:
        rest = rest[1:]
        while rest and (rest[0].startswith("-") or (wrapper == "env" and "=" in rest[0])):
            rest = rest[2:] if rest[0] in _WITH_VALUE else rest[1:]
        if wrapper == "timeout" and rest:
            rest = rest[1:]
    return rest or words


def _executed(words: list[str]) -> list[str]:
    """What `find -exec` runs on each file."""
    place = next((number for number, word in enumerate(words) if word in ("-exec", "-execdir")), None)
    if place is None:
        return []
    folders = [word for word in words[1:place] if not word.startswith("-")][:1]
    return [word for word in words[place + 1 :] if word not in ("{}", ";", "+")] + folders


def _joined(folder: str, place: str) -> str:
    if not folder and "/" not in place:
        return place
    return posixpath.normpath(posixpath.join(folder, place)) if place else folder


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))
