"""The one outcome of an attempt: what wins over what, and that an agent's exit code decides nothing."""

from pathlib import Path

import pytest

from runbook.deciding import decide, flags
from runbook.evidence import InvalidEvidence, KnownTrajectories, ReadEvidence, Refusal, read_evidence
from runbook.gateway.records import WireFacts
from runbook.outcomes import Outcome
from runbook.venue import Facts
from runbook.watching import StopReason
from sandbox.protocol import Collected, Ending

NOTHING = InvalidEvidence(Refusal.MISSING, "there is no evidence file")


@pytest.fixture
def evidence(tmp_path: Path) -> ReadEvidence:
    file = tmp_path / "memory_module_output.json"
    file.write_text('{"memory_markdown": "found", "trajectory_spans": []}', encoding="utf-8")
    return read_evidence(file, KnownTrajectories([]), budget=20)


def wire(failure: Outcome | None = None, *, tool_calls: int = 3) -> WireFacts:
    return WireFacts(calls=4, tool_calls=tool_calls, failure=failure, detail="as the provider said")


# From the strongest to the weakest: everything after one in this list also holds, and changes nothing.
LADDER = [
    Outcome.HAYSTACK_MODIFIED,
    Outcome.SANDBOX_ERROR,
    Outcome.BUDGET_EXCEEDED,
    Outcome.OUTPUT_LIMIT,
    Outcome.OOM,
    Outcome.TIMEOUT,
]


@pytest.mark.parametrize("strongest", range(len(LADDER)))
def test_the_stronger_outcome_wins(strongest: int) -> None:
    holds = set(LADDER[strongest:])
    ending = Ending.EXITED
    if Outcome.TIMEOUT in holds:
        ending = Ending.DEADLINE
    if Outcome.OUTPUT_LIMIT in holds:
        ending = Ending.DISK_LIMIT
    if Outcome.SANDBOX_ERROR in holds:
        ending = Ending.LOST
    facts = Facts(
        ending=ending,
        exit_code=0,
        collected=Collected(
            main_oom=Outcome.OOM in holds,
            read_only_violations=("haystack/a",) if Outcome.HAYSTACK_MODIFIED in holds else (),
        ),
    )
    failure = Outcome.BUDGET_EXCEEDED if Outcome.BUDGET_EXCEEDED in holds else Outcome.AUTH_ERROR
    assert decide(facts, NOTHING, wire(failure))[0] is LADDER[strongest]


@pytest.mark.parametrize(
    "failure",
    [Outcome.AUTH_ERROR, Outcome.RATE_LIMITED, Outcome.MODEL_MISMATCH, Outcome.PROVIDER_ERROR],
)
def test_a_model_that_failed_last_is_the_outcome_whatever_the_exit_code(failure: Outcome) -> None:
    for exit_code in (0, 1, 145, None):
        facts = Facts(ending=Ending.EXITED, exit_code=exit_code)
        assert decide(facts, NOTHING, wire(failure)) == (failure, "as the provider said")


@pytest.mark.parametrize("failure", [Outcome.AUTH_ERROR, Outcome.BUDGET_EXCEEDED, None])
@pytest.mark.parametrize("ending", [Ending.EXITED, Ending.DEADLINE, Ending.STOPPED, Ending.DISK_LIMIT])
def test_valid_evidence_wins_over_every_limit_and_model_failure(
    evidence: ReadEvidence, ending: Ending, failure: Outcome | None
) -> None:
    facts = Facts(ending=ending, exit_code=1, collected=Collected(main_oom=True))
    assert decide(facts, evidence, wire(failure))[0] is Outcome.OK
    if failure is not None:
        assert failure.value in flags(facts, wire(failure))


def test_an_idle_agent_stalled_also_where_its_model_failed_before() -> None:
    facts = Facts(ending=Ending.STOPPED, stopped_for=StopReason.STALLED)
    assert decide(facts, NOTHING, wire(Outcome.PROVIDER_ERROR))[0] is Outcome.STALLED


def test_an_agent_we_ended_because_its_model_fails_is_not_blamed() -> None:
    facts = Facts(ending=Ending.STOPPED, stopped_for=StopReason.MODEL_FAILS)
    assert decide(facts, NOTHING, wire(Outcome.PROVIDER_ERROR))[0] is Outcome.PROVIDER_ERROR


def test_a_model_that_asks_for_no_tool_is_told_from_one_that_wrote_nothing() -> None:
    facts = Facts(ending=Ending.EXITED, exit_code=0)
    assert decide(facts, NOTHING, wire(tool_calls=0))[0] is Outcome.NO_TOOL_CALLS
    assert decide(facts, NOTHING, wire(tool_calls=2))[0] is Outcome.INVALID_OUTPUT
    assert decide(facts, NOTHING, None)[0] is Outcome.INVALID_OUTPUT
    pipe = InvalidEvidence(Refusal.NOT_REGULAR, "the evidence file is a pipe")
    assert decide(facts, pipe, WireFacts()) == (Outcome.INVALID_OUTPUT, "the evidence file is a pipe")


@pytest.mark.parametrize("exit_code", [125, 126, 127])
def test_an_agent_that_launch_could_not_start_is_nobodys_answer(exit_code: int) -> None:
    facts, said = Facts(ending=Ending.EXITED, exit_code=exit_code), "launch: there is no program 'mine' here"
    decided = decide(facts, NOTHING, WireFacts(), said)
    assert decided == (Outcome.SANDBOX_ERROR, "the agent was not started: there is no program 'mine' here")
    assert decide(facts, NOTHING, wire(), said)[0] is Outcome.INVALID_OUTPUT
    assert decide(facts, NOTHING, WireFacts(), "mine: not found")[0] is Outcome.NO_TOOL_CALLS


def test_a_context_that_overflowed_is_told_as_such() -> None:
    facts = Facts(ending=Ending.EXITED, exit_code=1)
    decided = decide(facts, NOTHING, wire(Outcome.INVALID_OUTPUT, tool_calls=0))
    assert decided == (Outcome.INVALID_OUTPUT, "as the provider said")


def test_a_cancelled_attempt_is_nothing_else(evidence: ReadEvidence) -> None:
    facts = Facts(ending=Ending.STOPPED, stopped_for=StopReason.CANCELLED)
    assert decide(facts, evidence, wire(Outcome.AUTH_ERROR))[0] is Outcome.CANCELLED
