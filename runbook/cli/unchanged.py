"""A run goes on only with the data, prompts and agent that it began with, else its figures mix two runs."""

from collections.abc import Mapping

from evals.runs.config import RunRecord
from runbook.cli.failures import Mistake
from runbook.cli.preparing import Prepared

_READERS = ("reader_", "upstream/")
_JUDGES = ("judge_", "upstream/qa_eval_metrics")
"""How the names of the prompts begin that each is asked with."""


def refuse_changed_data(prepared: Prepared, record: RunRecord) -> None:
    """Raise Mistake where the data root is not what it was when the run began."""
    if dict(prepared.data.digests) != record.data_digests:
        raise Mistake(
            f"the data root {record.config.data} changed since the run began: start a new run, or restore it"
        )


def refuse_changed_prompts(record: RunRecord, digests: Mapping[str, str]) -> None:
    """Raise Mistake where a prompt is not what the run's earlier questions were asked with."""
    changed = [name for name, one in sorted(record.prompt_digests.items()) if digests.get(name) != one]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        upstream = any(name.startswith("upstream/") for name in changed)
        whose = f"the checkout in {record.config.upstream} as it was" if upstream else _version_of(record)
        raise Mistake(
            f"the prompt {changed[0]}{more} changed since the run began: "
            f"start a new run, or go back to {whose}"
        )


def refuse_changed_agent(record: RunRecord, versions: Mapping[str, str]) -> None:
    """Raise Mistake where the agent, or its adapter, is another than when the run began."""
    for name, version in versions.items():
        began = record.versions.get(name, version)
        if began != version:
            raise Mistake(
                f"agent {name} is {_short(version)} (version, adapter) now, the run began with "
                f"{_short(began)}: start a new run, or go back to that one"
            )


def asked_again(digests: Mapping[str, str], *, reads: bool) -> dict[str, str]:
    """Of these prompts those that a judge is asked with and, where it `reads`, a reader."""
    names = (*_READERS, *_JUDGES) if reads else _JUDGES
    return {name: digest for name, digest in digests.items() if name.startswith(names)}


def _version_of(record: RunRecord) -> str:
    revision = f", revision {record.git_revision[:12]}" if record.git_revision else ""
    return f"agent-runbook {record.versions.get('agent-runbook', 'as it was')}{revision}"


def _short(version: str) -> str:
    """A version and the digest of its adapter, which few characters tell apart."""
    number, _, digest = version.partition(" ")
    return f"{number} {digest[:12]}".strip()
