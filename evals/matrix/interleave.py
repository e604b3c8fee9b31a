"""Asking all arms the same questions, question by question, so that no hour of the day is one arm's own."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from evals.question import EvalQuestion
from evals.runs.execute import CANCEL_SECONDS, Progress
from evals.runs.folder import RunFailure
from evals.runs.gates import refusal
from evals.runs.results import QuestionResult
from evals.runs.stages import Stages
from runbook.complaints import of_system
from runbook.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class Turn:
    """One question to one arm."""

    arm: str
    question: EvalQuestion


def turns(arms: Sequence[str], questions: Sequence[EvalQuestion]) -> Iterator[Turn]:
    """Each question to every arm before the next question; another arm begins each time."""
    for place, question in enumerate(questions):
        first = place % len(arms)
        for arm in (*arms[first:], *arms[:first]):
            yield Turn(arm, question)


def interleave(
    arms: Mapping[str, Stages],
    questions: Sequence[EvalQuestion],
    *,
    concurrency: int,
    on_progress: Callable[[str, Progress], None],
    gates: Mapping[str, Collection[int]],
) -> None:
    """Run all questions through all arms; what is recorded already is not done again.

    Once so many questions of an arm have ended as its `gates` name, an infrastructure failure of any of them
    stops everything. A KeyboardInterrupt in the calling thread cancels what runs and is raised again.

    Raises:
        RunFailure: a closed gate, a full disk, a damaged record.
    """
    total = len(arms) * len(questions)
    ended: dict[str, dict[str, Outcome]] = {name: {} for name in arms}
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="question")
    waiting: dict[Future[QuestionResult], Turn] = {}
    done = 0

    def collect() -> None:
        nonlocal done
        finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            turn = waiting.pop(future)
            result = _result(future)
            done += 1
            outcome = arms[turn.arm].ended(result)
            if outcome is not None:
                ended[turn.arm][turn.question.id] = outcome
                if len(ended[turn.arm]) in gates[turn.arm]:
                    _pass_gate(turn.arm, ended[turn.arm])
            on_progress(turn.arm, Progress(done, total, turn.question, result))

    try:
        for turn in turns(list(arms), questions):
            waiting[pool.submit(arms[turn.arm].run, turn.question)] = turn
            if len(waiting) >= concurrency:
                collect()
        while waiting:
            collect()
    except BaseException:
        for stages in arms.values():
            stages.cancel.set()
        wait(waiting, timeout=CANCEL_SECONDS)
        raise
    finally:
        cancelled = any(stages.cancel.is_set() for stages in arms.values())
        pool.shutdown(wait=not cancelled, cancel_futures=True)


def _result(future: "Future[QuestionResult]") -> QuestionResult:
    try:
        return future.result()
    except OSError as error:
        raise RunFailure(
            f"{of_system(error)}; nothing written so far is lost: run the same command again after that"
        ) from error


def _pass_gate(arm: str, ended: Mapping[str, Outcome]) -> None:
    if reason := refusal(ended):
        raise RunFailure(f"arm {arm}: {reason}")
