"""Endpoints as the command line names them."""

import socket
from urllib.parse import urlsplit

from pydantic import ValidationError

from evals.sampling import JUDGE_SAMPLING, READER_SAMPLING
from runbook.cli.failures import Mistake
from runbook.complaints import of_validation
from runbook.endpoint.config import EndpointConfig


def endpoint(role: str, url: str | None, model: str | None) -> EndpointConfig | None:
    """The endpoint that a pair of options names; None where neither is given. Raises Mistake."""
    if url is None and model is None:
        return None
    if url is None or model is None:
        raise Mistake(f"--{role} and --{role}-model go together")
    try:
        return EndpointConfig(
            base_url=url, model=model, sampling=READER_SAMPLING if role == "reader" else JUDGE_SAMPLING
        )
    except ValidationError as error:
        raise Mistake(f"--{role}: {of_validation(error)}") from None


def refuse_unreachable(role: str, config: EndpointConfig) -> None:
    """Raise Mistake where nothing listens at the endpoint's address, before anything is spent."""
    if config.base_url is None:
        return
    address = urlsplit(config.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=config.connect_seconds).close()
    except OSError as error:
        raise Mistake(
            f"--{role}: {config.base_url} is not reachable: {error.strerror or error}; "
            "start it, or mend the address"
        ) from None
