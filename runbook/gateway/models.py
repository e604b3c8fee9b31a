"""Whether two names mean the same model: providers answer an alias with a dated name."""

import re

_SUFFIX = re.compile(
    r"(?:[-@](?:20\d{2}-?[01]\d-?[0-3]\d|latest|0\d{2})|-(?:preview|exp)-[01]\d-[0-3]\d|-preview|:free)$"
)


def plain_name(model: str) -> str:
    """A model's name without vendor path, date, `latest` and preview marks, in lower case."""
    name = model.strip().lower().rsplit("/", 1)[-1]
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return name


def same_model(one: str, other: str) -> bool:
    """True where the names differ at most in vendor path, date and letter case.

    Two different dates of one model are two models.
    """
    if one.strip().lower() == other.strip().lower():
        return True
    if plain_name(one) != plain_name(other):
        return False
    dates = {date for date in (_date(one), _date(other)) if date}
    return len(dates) < 2


def _date(model: str) -> str:
    found = re.search(r"(20\d{2})-?([01]\d)-?([0-3]\d)(?!\d)", model)
    return "".join(found.groups()) if found else ""
