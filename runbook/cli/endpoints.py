"""Endpoints as the command line names them, and whether they can be spoken to before anything is spent."""

import socket
from contextlib import closing
from urllib.parse import urlsplit

from pydantic import ValidationError

from evals.sampling import JUDGE_SAMPLING, READER_SAMPLING
from runbook.cli.failures import Mistake
from runbook.complaints import of_validation
from runbook.endpoint.chat import Completion, Endpoint
from runbook.endpoint.config import Address, EndpointConfig, Sampling
from runbook.endpoint.errors import EndpointError

TINY_TOKENS = 64
_PASSING = frozenset({408, 409, 425, 429})
"""What a provider may answer now and not the next time, which the run itself waits for."""


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


def refuse_unreachable(role: str, config: Address) -> None:
    """Raise Mistake where nothing listens at the address, before anything is spent.

    `role` is an option without its dashes, or the dotted key of a setting.
    """
    if config.base_url is None:
        return
    address = urlsplit(config.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=config.connect_seconds).close()
    except OSError as error:
        named = role if "." in role else f"--{role}"
        raise Mistake(
            f"{named}: {config.base_url} is not reachable: {error.strerror or error}; "
            "start it, or mend the address"
        ) from None


def tiny_request(config: EndpointConfig, *, seed: int | None = 1) -> Completion:
    """One tiny real request with a run's parameters, so that a refused one shows. Raises EndpointError."""
    sampling = config.sampling or Sampling()
    tiny = config.model_copy(
        update={
            "sampling": sampling.model_copy(update={"max_output_tokens": TINY_TOKENS}),
            "timeout_seconds": 60.0,
            "retry_seconds": 20.0,
        }
    )
    with closing(Endpoint(tiny)) as endpoint:
        return endpoint.complete([{"role": "user", "content": "Reply with the word ready."}], seed=seed)


def refuse_refusing(role: str, config: EndpointConfig, *, seed: int | None = 1) -> None:
    """Raise Mistake where the provider refuses the stage's requests; what may pass is left to the run."""
    try:
        tiny_request(config, seed=seed)
    except EndpointError as error:
        if error.status is None or error.status in _PASSING or error.status >= 500:
            return
        mend = f"list a parameter that it does not take: --set '{role}.sampling.drop=[\"top_k\"]'"
        if error.status in (401, 403, 404):
            mend = "check the model's name and the key"
        raise Mistake(f"the {role} refuses a tiny request: {error}; {mend}") from None
