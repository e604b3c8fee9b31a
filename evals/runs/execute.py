"""Run the questions of a run, several at a time, until all are done or one thing is fatal."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from evals.question import EvalQuestion
from evals.runs.folder import RunFailure
from evals.runs.gates import parts, refusal
from evals.runs.results import QuestionResult
from evals.runs.stages import Stages
from runbook.complaints import of_system
from runbook.outcomes import Outcome

CANCEL_SECONDS = 5.0  # an attempt that is cancelled ends within 2


@dataclass(frozen=True, slots=True)
class Progress:
    """What to tell the user after each question."""

    done: int
    total: int
    question: EvalQuestion
    result: QuestionResult


def execute(
    stages: Stages,
    questions: Sequence[EvalQuestion],
    *,
    concurrency: int,
    on_progress: Callable[[Progress], None],
    gates: Sequence[int] = (),
) -> None:
    """Run all questions; earlier results are kept whatever happens.

    After each of the numbers of questions in `gates` the run goes on only if no infrastructure failed.
    A KeyboardInterrupt in the calling thread cancels what runs and is raised again once all threads ended.

    Raises:
        RunFailure: something that no further question should or could survive (a closed gate, a full disk, a
            damaged record).
    """
    ended: dict[str, Outcome] = {}

    def report(progress: Progress) -> None:
        if (outcome := stages.ended(progress.result)) is not None:
            ended[progress.question.id] = outcome
        on_progress(progress)

    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="question")
    waiting: dict[Future[QuestionResult], EvalQuestion] = {}
    done = 0
    try:
        for part in parts(questions, gates):
            _pass_gate(ended)
            for question in part:
                waiting[pool.submit(stages.run, question)] = question
                if len(waiting) < concurrency:
                    continue
                done = _collect(waiting, done, len(questions), report)
            while waiting:
                done = _collect(waiting, done, len(questions), report)
    except BaseException:
        stages.cancel.set()
        wait(waiting, timeout=CANCEL_SECONDS)
        raise
    finally:
        # A thread that waits for a model's answer cannot be ended; its answer would be thrown away.
        pool.shutdown(wait=not stages.cancel.is_set(), cancel_futures=True)


def _pass_gate(ended: Mapping[str, Outcome]) -> None:
    if reason := refusal(ended):
        raise RunFailure(reason)


def _collect(
    waiting: dict[Future[QuestionResult], EvalQuestion],
    done: int,
    total: int,
    on_progress: Callable[[Progress], None],
) -> int:
    """Wait for at least one question to end, report it, and forget it; returns how many are done."""
    ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in ended:
        question = waiting.pop(future)
        try:
            result = future.result()
        except OSError as error:
            raise RunFailure(
                f"{of_system(error)}; nothing written so far is lost: resume the run after that"
            ) from error
        done += 1
        on_progress(Progress(done, total, question, result))
    return done
