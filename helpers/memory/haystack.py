"""The workspace and its haystack: which trajectories there are, which one is meant, what a state holds."""

from __future__ import annotations

import os

from .failure import HelperError
from .page import clip, quote

COLUMNS = ("slug", "id", "states", "outcome", "action_convention", "start_url", "goal")
STATE_BYTES = 64 << 20  # of one state file; what a page can show is far less
LEAST_PREFIX = 4
LEAST_PART = 6  # characters from within an id, such as those of a session
ID_LETTERS = 3  # at most, before the digits of an element id
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
EXTENSIONS = ("png", "jpg", "webp", "gif")  # of screenshots


class Row:
    """One line of trajectories.tsv: `states` is a count, the others text (the goal cut at 300 characters)."""

    __slots__ = ("convention", "goal", "id", "outcome", "slug", "start_url", "states")

    def __init__(self, cells: list[str]) -> None:
        self.slug, self.id, states, self.outcome, self.convention, self.start_url, self.goal = cells
        self.states = int(states)


class Workspace:
    """Paths of one attempt's workspace, and the haystack's trajectories by id, slug or prefix."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.haystack = os.path.join(self.root, "haystack")
        self.trajectories = os.path.join(self.haystack, "trajectories")
        self.index_problem = ""  # why the index is not to be used; found while it was
        self._rows: list[Row] | None = None

    def exists(self) -> bool:
        """Whether there is a haystack, damaged or not."""
        return os.path.isdir(self.trajectories)

    def rows(self) -> list[Row]:
        """All trajectories, sorted by slug.

        Raises:
            HelperError: no haystack here, or a damaged trajectories.tsv.
        """
        if self._rows is None:
            self._rows = _read_rows(self.haystack)
        return self._rows

    def find(self, name: str) -> str:
        """The slug of the trajectory that a slug, an original id or a unique part of either names.

        Raises:
            HelperError: nothing or several are named so; the text holds the nearest.
        """
        found = self.lookup(name)
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
            raise HelperError(f"{quote(name)} fits {len(found)} trajectories: {listed}")
        if not name:
            raise HelperError(f"the trajectory id is empty; for example {_examples(self.rows())}")
        raise HelperError(f"no trajectory {quote(name)}; nearest: {_nearest(name, self.rows())}")

    def lookup(self, name: str) -> list[str]:
        """The slugs of all trajectories that the name could mean, by the strictest way that finds any."""
        if is_slug(name) and os.path.isdir(os.path.join(self.trajectories, name)):
            return [name]
        rows = self.rows()
        folded = name.casefold()
        ways = (
            lambda row: row.id == name,
            lambda row: len(name) >= LEAST_PREFIX and (row.slug.startswith(name) or row.id.startswith(name)),
            lambda row: folded in (row.slug.casefold(), row.id.casefold()),
            lambda row: (
                len(name) >= LEAST_PREFIX
                and (row.slug.casefold().startswith(folded) or row.id.casefold().startswith(folded))
            ),
            lambda row: (
                len(name) >= LEAST_PART and (folded in row.slug.casefold() or folded in row.id.casefold())
            ),
        )
        for way in ways:
            found = [row.slug for row in rows if way(row)]
            if found:
                return found
        return []

    def about(self, slug: str) -> dict[str, str]:
        """The fields of a trajectory's about.txt: id, goal, start_url, outcome, states, action_convention.

        Raises:
            HelperError: the file is missing or holds no count of states.
        """
        path = os.path.join(self.trajectories, slug, "about.txt")
        try:
            text = read_text(path)
        except OSError as error:
            raise HelperError(f"trajectory {slug} has no readable about.txt ({error.strerror})") from None
        fields: dict[str, str] = {}
        name = ""
        for line in text.split("\n"):
            if line.startswith("  ") and name:
                fields[name] += "\n" + line[2:]
            elif ": " in line or line.endswith(":"):
                name, _, value = line.partition(":")
                fields[name] = value[1:] if value.startswith(" ") else value
        if not fields.get("states", "").isdigit():
            raise HelperError(f"about.txt of {slug} is damaged: no count of states")
        return fields

    def states(self, slug: str) -> int:
        """How many states the trajectory has."""
        return int(self.about(slug)["states"])

    def state_path(self, slug: str, index: int) -> str:
        """Where the text of a state lies."""
        return os.path.join(self.trajectories, slug, f"{index:04d}.txt")

    def index(self, slug: str, text: str) -> int:
        """A state's number from the command line.

        Raises:
            HelperError: not a number from 0 to the last state.
        """
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        if number < 0 or not os.path.exists(self.state_path(slug, number)):
            last = self.states(slug) - 1
            if 0 <= number <= last:
                raise HelperError(f"the file of state {number} of {slug} is missing from the haystack")
            raise HelperError(f"no state {quote(text)} in {slug}: its states are 0 to {last}")
        return number

    def ranges(self, slug: str, text: str) -> list[tuple[int, int]]:
        """Inclusive ranges from "3", "3-7", "3:7", "3..7" or several with commas between, as given.

        Raises:
            HelperError: not of that form, reversed, or outside the trajectory.
        """
        found = []
        for part in text.replace("..", "-").replace(":", "-").split(","):
            first, dash, last = part.strip().partition("-")
            start = self.index(slug, first.strip())
            end = self.index(slug, last.strip()) if dash else start
            if start > end:
                raise HelperError(f"the range {quote(part)} runs backwards; write {end}-{start}")
            found.append((start, end))
        return found


class StateText:
    """A state file: its header values and all its lines (header, an empty line, the observation)."""

    __slots__ = ("action", "lines", "observation", "thought", "url")

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        if self.lines and not self.lines[-1]:
            self.lines.pop()
        fields: dict[str, str] = {}
        name = ""
        self.observation = len(self.lines)  # the place of the first observation line
        for place, line in enumerate(self.lines):
            if not line:
                self.observation = place + 1
                break
            if line.startswith("  ") and name:
                fields[name] += " " + line.strip()
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        self.url = fields.get("url", "")
        self.action = fields.get("action", "")
        self.thought = fields.get("thought", "")


def read_state(workspace: Workspace, slug: str, index: int) -> StateText:
    """Read one state; HelperError when its file cannot be read."""
    try:
        return StateText(read_text(workspace.state_path(slug, index)))
    except OSError as error:
        raise HelperError(f"state {index} of {slug} cannot be read: {error.strerror}") from None


def screenshot(workspace: Workspace, slug: str, index: int) -> str | None:
    """The path of a state's screenshot, or None."""
    for extension in EXTENSIONS:
        path = os.path.join(workspace.trajectories, slug, f"{index:04d}.{extension}")
        if os.path.isfile(path):
            return path
    return None


def with_screenshots(workspace: Workspace, slug: str) -> list[int]:
    """The states of a trajectory that have a screenshot."""
    names = os.listdir(os.path.join(workspace.trajectories, slug))
    parts = [name.partition(".") for name in names]
    return sorted(int(stem) for stem, _, extension in parts if stem.isdigit() and extension in EXTENSIONS)


def read_text(path: str, most: int = STATE_BYTES) -> str:
    """The text of a file, broken bytes replaced, at most `most` bytes of it."""
    with open(path, "rb", buffering=0) as file:
        parts = []
        while most > 0:
            part = file.read(most)
            if not part:
                break
            parts.append(part)
            most -= len(part)
    return b"".join(parts).decode("utf-8", "replace")


def is_slug(text: str) -> bool:
    """Whether the text could name a trajectory's folder (and nothing above or beside it)."""
    letters = text.replace("-", "").replace("_", "").replace(".", "")
    return letters.isascii() and letters.isalnum() and len(text) <= 64 and text[0] not in ".-"


def plain(line: str) -> str:
    """A line without indentation and leading element id ("[12] ", "[a324] "): these change between states."""
    line = line.strip()
    if line.startswith("["):
        end = line.find("]")
        digits = line[1:end].lstrip(_LETTERS) if 1 < end < 24 else ""
        if digits.isdigit() and end - 1 - len(digits) <= ID_LETTERS:
            return line[end + 1 :].lstrip()
    return line


def compact(numbers: list[int]) -> str:
    """Sorted numbers as ranges: [3, 4, 5, 7] -> "3-5,7"."""
    parts: list[str] = []
    start = previous = None
    for number in [*numbers, None]:
        if number is not None and previous is not None and number == previous + 1:
            previous = number
            continue
        if start is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = number
    return ",".join(parts)


def _read_rows(haystack: str) -> list[Row]:
    path = os.path.join(haystack, "trajectories.tsv")
    try:
        text = read_text(path)
    except OSError as error:
        if not os.path.isdir(haystack):
            raise HelperError(f"no haystack at {haystack}; run memory in the workspace") from None
        raise HelperError(f"{path} cannot be read: {error.strerror}") from None
    rows = []
    for number, line in enumerate(text.split("\n")[1:], 2):
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) != len(COLUMNS) or not is_slug(cells[0]) or not cells[2].isdigit():
            found = f"{len(COLUMNS)} columns wanted, found {quote(line)}"
            raise HelperError(f"haystack/trajectories.tsv is damaged at line {number}: {found}")
        rows.append(Row(cells))
    return rows


def _examples(rows: list[Row]) -> str:
    return ", ".join(clip(row.slug, 60) for row in rows[:3]) or "none: the haystack is empty"


def _nearest(name: str, rows: list[Row]) -> str:
    from difflib import get_close_matches

    by_name = {name_.casefold(): row.slug for row in rows for name_ in (row.slug, row.id)}
    folded = name[:80].casefold()
    inside = [slug for known, slug in by_name.items() if len(folded) >= LEAST_PREFIX and folded in known]
    near = inside + [by_name[known] for known in get_close_matches(folded, by_name, n=5, cutoff=0.4)]
    unique = list(dict.fromkeys(near))[:3]
    return (", ".join(unique) or _examples(rows)) + "  (memory overview lists all)"
