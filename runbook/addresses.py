"""Addresses of models."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator


def _plain_http(url: str) -> str:
    if not _is_address(url):
        raise ValueError(f"{url!r} is no http or https address")
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("the address holds a user name or password: give the key by environment variable")
    if parts.query or parts.fragment:
        raise ValueError(
            "the address goes on after its path (? or #): leave that out; a key is named by its variable"
        )
    return url


HttpAddress = Annotated[str, AfterValidator(_plain_http)]
"""Where a model answers. It is recorded and printed, so it must not hold a key."""


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")  # refuses labels that are empty or too long
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and port != 0
