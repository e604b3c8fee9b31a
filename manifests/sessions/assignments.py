"""Whether `name = value` gives a secret away: by the name, and by the value being no program text.

A name such as DB_PASSWORD makes any literal a secret, however plain. What is no literal stays readable:
types, variables, calls, paths, placeholders and prose. Without quotes they look like literals, so it counts
where they stand: `PGPASSWORD=swordfish` is a literal, `login(password=given)` is not.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_letters, digits

from .plain_words import (
    ABOUT_SECRETS,
    ASKING_WORDS,
    CODE_HEADS,
    KEYS_OF_DATA,
    SECRET_KEYS,
    SENTENCE_WORDS,
    TELLING_WORDS,
    TOKENS_OF_TEXT,
)

_READ = 400  # characters of a remark
_NAME_CHARACTERS = ascii_letters + digits + "_-"
_LOOKED_BACK = 80  # characters before a name
_HOLDERS = ("password", "passwd", "passphrase", "secret", "token", "credential", "credentials", "pwd")
_JOINED_KEYS = ("apikey", "accesskey", "privatekey", "secretkey")
_WORKING_FOLDERS = frozenset({"pwd", "oldpwd"})

_VARIABLE = re.compile(
    r"\$[A-Za-z_{(]|%[\w(]|\{|<|\*|\[masked|(?:![A-Za-z:]+|\[[A-Za-z]\w*\]|#[\da-fA-F]{3,8})\Z"
)
_TEMPLATE = re.compile(r"\$\{|\$\(|\{\w*\}|\{\{|%s|%\(")
_PLACEHOLDER = re.compile(
    r"""(?ix) (.)\1* | x{3}.* | \.{2,}.*
    | (?:your|insert|enter|replace|change)[_-]?(?:me|this|it|with|here)?(?:[_-].*|\d{0,4})
    | (?:dummy|placeholder|redacted|changeme|replaceme)[_-]?.*
    | (?:your|my|the|a|some|any|test|fake|mock|sample|example|new|old|bad|wrong|invalid)?[_-]?(?:user)?
      (?:pass(?:word)?|passwd|pwd|pw|secret|token|(?:api|secret|access|private)?[_-]?key|credentials?)"""
)
_PATH = re.compile(
    r"~?\.{0,2}/|[A-Za-z]:(?:\\|/|$)|https?:|arn:|[a-z][a-z0-9+.-]{1,20}://"
    r"|[a-z_.][a-z0-9_.-]{0,60}(?:/[a-z_.][a-z0-9_.-]{0,60}){1,20}\Z"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTERS = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"[\d_.,]+[kKmM]?")
_WRITTEN_NAME = re.compile(r"[A-Za-z_$][A-Za-z_.$-]*\d{0,2}[.?!:]?")  # also correct-horse, config.db.password
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_LONG_PART = re.compile(r"[A-Za-z0-9]{16,}")
_DIGITS = re.compile(r"\d+")
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[].*[)\]][;,)]*")
_TYPE = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]*)+")
_EXPRESSION = re.compile(r"[A-Za-z_][A-Za-z_.]*\d?(?:(?:[-+*/%?]|::|->)[A-Za-z_][A-Za-z_.]*\d?)*(?:->?|::)?")
_OWNER = re.compile(r"\b(?:self|this|cls|[a-z])\.\Z")
_COLON_BEGINS = re.compile(r"(?:\A|\s|\\[nrt]):\Z")
_LINE_ENDS = re.compile(r"[ \t]*(?:\Z|[\r\n]|\\[nrt]|[ \t]#|[\"'`])")
_LINE_BEGINS = re.compile(r"(?:\A|\n|\\n)[ \t]*(?:\d{1,6}[→\t:|])?[ \t]*(?:[-+>*|][ \t]+)?[\"']?\Z")
_FIRST_COLUMN = re.compile(r"(?:\A|\n|\\n)(?:[ \t]{0,8}\d{1,6}[→\t])?[-+]?\Z")


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name = value` as it stands in a text. `operator` has the blanks around it; a flag's is only blanks."""

    name: str
    operator: str
    value: str
    quoted: bool
    before: str  # the name
    after: str  # the value


def assignment_of(found: re.Match[str], begin: int, end: int) -> Assignment:
    """The assignment of a match that begins within the name and holds the value at `begin`:`end`."""
    text, start = found.string, found.start()
    before = text[max(0, start - _LOOKED_BACK) : start]
    place = len(before.rstrip(_NAME_CHARACTERS))
    groups = found.groupdict()
    flag = groups.get("flag")
    stop = found.start("flag") if flag else found.end("rest")
    return Assignment(
        name=before[place:] + text[start:stop],
        operator=flag or groups["operator"],
        value=text[begin:end],
        quoted=found.lastgroup != "secret",
        before=before[:place],
        after=text[end : end + 40],
    )


def is_named(assignment: Assignment) -> bool:
    """Whether the name is that of a secret, as DB_PASSWORD and apiKey are; primary_key is not.

    Any other X_KEY is one as well, except in a program, where it is a constant.
    """
    if holds_secret(assignment.name):
        return True
    constant = assignment.operator.strip() != ":" and assignment.operator != "="
    return not constant and _is_some_key(assignment.name)


@lru_cache(1024)
def holds_secret(name: str) -> bool:
    """Whether nothing but a secret has this name."""
    words = _words(name)
    if not words or "".join(words) in _WORKING_FOLDERS or words[0] in ASKING_WORDS:
        return False
    last, others = words[-1], words[:-1]
    if last.endswith(_JOINED_KEYS):
        return True
    if last == "key" and others:
        return others[-1] in SECRET_KEYS or others[-1].endswith(_HOLDERS)
    if last.endswith(_HOLDERS):
        return not (last == "token" and TOKENS_OF_TEXT.intersection(others))
    return last not in ABOUT_SECRETS and any(word.endswith(_HOLDERS) for word in others)


@lru_cache(1024)
def may_hold_secret(name: str) -> bool:
    """Whether the name is that of a secret if its value looks like one."""
    words = _words(name)
    if words[-2:] == ["key", "id"]:
        words = words[:-1]
    if not words:
        return False
    keys = words[-1] == "key" and len(words) > 1 and words[-2] in SECRET_KEYS
    return keys or words[-1] == "auth" or words[-1].endswith(_HOLDERS) or _is_some_key(name)


def _is_some_key(name: str) -> bool:
    words = _words(name)
    return name.isupper() and len(words) > 1 and words[-1] == "key" and KEYS_OF_DATA.isdisjoint(words)


def is_one(assignment: Assignment) -> bool:
    """Whether it is one: a flag begins with a dash; arn:aws:secret:x and :token="of" (Vue) are none."""
    before, operator = assignment.before, assignment.operator
    if not operator.strip():
        return assignment.name.startswith("-") and not before[-1:].isalnum()
    if not before.endswith(":"):
        return True
    begins = _COLON_BEGINS.search(before) is not None
    if operator.strip() == ":":
        return begins  # a symbol of Ruby
    binds_expression = assignment.quoted and operator == "=" and (begins or before.endswith("bind:"))
    return not binds_expression


def is_literal(assignment: Assignment) -> bool:
    """Whether the value is a literal that is no placeholder, path or number of something."""
    value = assignment.value
    if is_stand_in(value) or is_reference(value):
        return False
    if _NUMBER.fullmatch(value):
        return assignment.quoted or not assignment.name.lower().endswith("token")
    return assignment.quoted or _is_unquoted_literal(assignment)


def is_whole_line(assignment: Assignment) -> bool:
    """Whether a line holds nothing but this, as those of an environment do, and no program text."""
    value = assignment.value
    begins = _FIRST_COLUMN.search(assignment.before.removesuffix("export ")) is not None
    # What holds none of these is read by the other rules, which know more.
    signs = not set("&),;|<>(){}[]").isdisjoint(value)
    return (
        begins and signs and not is_stand_in(value) and not is_reference(value) and not _CALL.fullmatch(value)
    )


def is_stand_in(value: str) -> bool:
    """Whether the value stands for one: a variable, a template, a placeholder."""
    if _VARIABLE.match(value) or _PLACEHOLDER.fullmatch(value):
        return True
    return ("{" in value or "%" in value or "$(" in value) and _TEMPLATE.search(value) is not None


def is_remark(value: str) -> bool:
    """Whether the value says something of a secret: "string", "required|min:8", "Password is too short"."""
    several = " " in value.strip()
    first = _LETTERS.search(value)
    if first is None or not (several or first[0].lower() in TELLING_WORDS):
        return False
    words = [word.lower() for word in _LETTERS.findall(value[:_READ])]
    if TELLING_WORDS.issuperset(words):
        return True
    return several and (not SENTENCE_WORDS.isdisjoint(words) or value.endswith((".", ":", "?", "...")))


def is_reference(value: str) -> bool:
    """Whether the value names the place of a secret: a path, config.db2.password, prod-credentials."""
    if _PATH.match(value):
        return True
    if _WRITTEN_NAME.fullmatch(value) is None:
        return False
    words = _words(value)
    named = len(words) > 1 and min(map(len, words)) > 1
    return named and ("key" in words or any(word in _HOLDERS for word in words))


def is_attribute(value: str) -> bool:
    """Whether the value is one of a program, as config.db2.password is; SG.<random>.<random> is a token."""
    return _DOTTED.fullmatch(value) is not None and not any(map(_is_random, _LONG_PART.findall(value)))


def _is_random(part: str) -> bool:
    """Whether part of a name is none that a person would give: oauth2Sha256 has few numbers in long words."""
    numbers = _DIGITS.findall(part)
    return len(numbers) > 2 or (len("".join(numbers)) > 1 and _is_jumble(part))


def _is_unquoted_literal(assignment: Assignment) -> bool:
    value, after, operator = assignment.value, assignment.after, assignment.operator
    if operator != "=" and is_attribute(value):
        return False
    if _WRITTEN_NAME.fullmatch(value) is None or _is_jumble(value):
        return not (_EXPRESSION.fullmatch(value) and not assignment.name.isupper())
    if after.startswith(("(", "[", "<", "{", ">")):
        return False
    if not operator.strip():
        return True
    if operator == "=":
        return _is_tight_literal(assignment)
    if not _LINE_ENDS.match(after):
        return False
    if operator.strip() == ":":
        return not _TYPE.fullmatch(value) and (
            _LINE_BEGINS.search(assignment.before) is not None or "pass" in assignment.name.lower()
        )
    return len(_words(value)) == 1 and _FIRST_COLUMN.search(assignment.before) is not None


def _is_tight_literal(assignment: Assignment) -> bool:
    """Whether the word in `name=word` is one: not in an argument list, and no attribute."""
    head = assignment.value.split(".", 1)[0].lower()
    if assignment.name.isupper():
        return not (is_attribute(assignment.value) and head in CODE_HEADS)
    in_code = _OWNER.search(assignment.before) is not None or assignment.after.startswith((",", ")"))
    return not in_code and not is_attribute(assignment.value)


def _is_jumble(value: str) -> bool:
    """Whether a name is none that a person would give: too many too short words."""
    words = _LETTERS.findall(value) and _WORD.findall(value)
    return len(value) >= 12 and len(value) / max(len(words), 1) < 3.5 and "_" not in value


def _words(name: str) -> list[str]:
    """The words of a name in lower case, without numbers: dbPassword2 -> db, password."""
    return [word.lower() for word in _WORD.findall(name)]
