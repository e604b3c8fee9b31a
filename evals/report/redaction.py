"""Taking out of a report what would tell whose machine, network and accounts a run was made with.

The same thing gets the same number wherever it stands, so that a reader still sees what belongs together.
Pictures are not looked into.
"""

import getpass
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from evals.runs.config import RunRecord
from manifests.sessions.secrets import Masker

_INSIDE = ("/workspace", "/usr/bin/", "/bin/", "/dev/null", "/opt/helpers")
"""Paths that every sandbox has, and that tell nothing of the machine around it."""
_COMMON_NAMES = frozenset(
    {"root", "user", "admin", "ubuntu", "debian", "runner", "nobody", "localhost", "home"}
)
_PATH = re.compile(
    r"(?<![\w./:<>&;\]-])(?:file://)?(?:~?/|[A-Za-z]:\\{1,2})[\w.@+~-]+(?:[\\/]{1,2}[\w.@+~,=-]+)+[\\/]?"
    r"|\\\\[\w.-]+\\[\w.$\\-]+"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_URL = re.compile(
    r"(?i)\b((?:https?|wss?|ftp|ssh|git|postgres(?:ql)?|mysql|redis|mongodb)://)"
    r"(?:[^\s/@\"'<>]{1,200}@)?(\[[0-9a-fA-F:]+\]|[^\s/:\"'<>?#)\]},\\]{1,253})(:\d{1,5})?"
)
_ADDRESS = re.compile(
    r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]*\.\d)(?::\d{1,5})?"
    r"|(?<![\w:])(?:[0-9a-fA-F]{1,4}:){3,7}(?::?[0-9a-fA-F]{1,4}){1,4}(?![\w:])"
)
_HOST = re.compile(
    r"(?i)(?<![\w.@/-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+"
    r"(?:com|org|net|edu|gov|mil|int|io|dev|app|ai|co|cloud|info|biz|de|uk|fr|jp|cn|ru|eu|us|nl|ch|in|"
    r"internal|intranet|local|localdomain|lan|corp|home|private|example|test|localhost)(?![\w-])(?:\.(?!\w))?(?::\d{1,5})?"
)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\b")


class Redactor:
    """Redacts text; one object serves a whole report, so that numbers mean the same everywhere."""

    def __init__(self, records: Iterable[RunRecord], folders: Iterable[Path] = ()) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._masker = Masker()
        self._hosts: set[str] = set()
        known: dict[str, str] = {}
        for record in records:
            config = record.config
            for place in (config.data, config.store, config.upstream, config.preprocessor):
                known |= dict.fromkeys(_spellings(place), "path") if place else {}
            known |= dict.fromkeys(_variables(record), "variable")
            self._hosts.update(filter(None, map(_host_of, _addresses(record))))
        for folder in folders:
            known |= dict.fromkeys(_spellings(folder), "path")
        known |= _of_this_machine()
        known |= dict.fromkeys(self._hosts, "host")
        self._known = known
        self._literal = _any_of(known)

    def __call__(self, text: str) -> str:
        """The text without what identifies. Doing it twice changes nothing more."""
        text = self._masker.mask(text)
        if self._literal is not None:
            text = self._literal.sub(lambda found: self._named(self._known[found[0]], found[0]), text)
        if "://" in text:
            text = _URL.sub(self._url, text)
        if "@" in text:
            text = _EMAIL.sub(lambda found: self._named("email", found[0]), text)
        text = _ADDRESS.sub(lambda found: self._named("address", found[0]), text)
        if "." in text:
            text = _HOST.sub(lambda found: self._named("host", found[0].lower()), text)
        if "/" in text or "\\" in text:
            text = _PATH.sub(self._path, text)
        return _VARIABLE.sub(lambda found: self._named("variable", found[0]), text)

    def _named(self, kind: str, what: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        return f"[{kind} {numbers.setdefault(what, len(numbers) + 1)}]"

    def _url(self, found: re.Match[str]) -> str:
        if found[2].startswith("[host") or found[2].startswith("[address"):
            return found[1] + found[2]
        return found[1] + self._named("host", found[2].lower())

    def _path(self, found: re.Match[str]) -> str:
        if found[0].startswith(_INSIDE):
            return found[0]
        return self._named("path", found[0])


def _spellings(place: Path) -> list[str]:
    """The ways in which a path can stand in a record, the longest first."""
    names = {str(place), str(place.absolute())}
    with suppress(OSError):
        names.add(str(place.resolve()))
    return [name for name in names if len(name) > 4]


def _variables(record: RunRecord) -> list[str]:
    config = record.config
    named = [config.model_key]
    named += [one.api_key_variable for one in (config.reader, config.judge) if one]
    named += [provider.key_env for provider in config.gateway.providers.values()]
    return [name for name in named if name]


def _addresses(record: RunRecord) -> list[str]:
    config = record.config
    urls = [config.model_url or ""]
    urls += [one.base_url or "" for one in (config.reader, config.judge) if one]
    urls += [provider.base_url for provider in config.gateway.providers.values()]
    return urls


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _of_this_machine() -> dict[str, str]:
    """Who makes the report, and where: often the one who made the run."""
    found: dict[str, str] = {}
    with suppress(OSError, KeyError, ImportError):
        found[getpass.getuser()] = "user"
    host = socket.gethostname()
    found |= {host: "host", host.partition(".")[0]: "host"}
    with suppress(RuntimeError):
        found |= dict.fromkeys(_spellings(Path.home()), "path")
        found[Path.home().name] = "user"
    return {name: kind for name, kind in found.items() if len(name) > 2 and name not in _COMMON_NAMES}


def _any_of(known: Iterable[str]) -> re.Pattern[str] | None:
    names = sorted(known, key=len, reverse=True)
    if not names:
        return None
    return re.compile("|".join(rf"(?<![\w]){re.escape(name)}(?![\w])" for name in names))
