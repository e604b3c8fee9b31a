"""Reader and judge as a run's settings want them: whose prompts, which counter, how many votes."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

import instructions
from evals.judge import Judge
from evals.official.backend import OfficialError
from evals.reader import Reader, ReaderPolicy
from evals.runs.config import RunConfig
from evals.sampling import JUDGE_SAMPLING
from evals.token_counters import CountingError, ExactTokens, FileTexts, ServerTexts
from evals.tokens import EstimatedTokens, ImageTokens, TokenCounter
from evals.upstream import Upstream
from evals.vote_cache import VoteCache
from runbook.cli.failures import Mistake
from runbook.cli.terminal import inert
from runbook.complaints import of_any
from runbook.endpoint.config import EndpointConfig

VOTES_FOLDER = "votes"
OFFICIAL = ReaderPolicy(cut="prefix", empty_content="reasoning", bad_request="empty")
"""What the public harness does at the edges."""


@dataclass(frozen=True, slots=True)
class Evaluators:
    """Who reads and who judges; None where nobody does."""

    reader: Reader | None
    judge: Judge | None
    prompt_digests: dict[str, str] = field(default_factory=dict)
    """Of what they are asked with, by file name."""


@contextmanager
def open_evaluators(
    config: RunConfig, run: Path, console: Console, cancel: threading.Event, *, votes_since: int = 0
) -> Iterator[Evaluators]:
    """Reader and judge of a run in the folder `run`, closed when the context ends.

    Of the votes that were kept only those count that were given since the revision `votes_since`.

    Raises:
        Mistake: the checkout or the tokenizer cannot be used.
        EndpointError: there is no key for a model.
    """
    official = _upstream(config)
    prompts = instructions.prompt_digests()
    if official:
        ours = {name: one for name, one in prompts.items() if not name.startswith(("reader_", "judge_"))}
        prompts = ours | official.digests()
    reader = judge = None
    if config.reader is not None:
        reader = Reader(
            config.reader,
            policy=OFFICIAL if official else None,
            counter=token_counter(config, config.reader),
            prompts=official,
            cancel=cancel,
            remark=_remarks(console, "reader"),
        )
    if config.judge is not None:
        judge = Judge(
            _official_judge(config.judge) if official else config.judge,
            replies="lenient" if official else "strict",
            votes=config.votes,
            prompts=official.judge if official else instructions.judge_messages,
            cache=VoteCache(run / VOTES_FOLDER / (str(votes_since) if votes_since else "")),
            cancel=cancel,
            remark=_remarks(console, "judge"),
        )
    with _closing(reader), _closing(judge):
        yield Evaluators(reader, judge, prompts)


def refuse_unofficial(config: RunConfig) -> None:
    """Raise Mistake where the official profile is asked for with what it does not allow."""
    if config.profile != "official":
        return
    if config.upstream is None:
        raise Mistake(
            "--profile official takes its prompts from a checkout of the public harness: "
            "name it with --upstream or RUNBOOK_UPSTREAM"
        )
    if config.votes > 1 or config.repeats.several:
        raise Mistake("--profile official has one vote and one repeat: leave out --votes and --repeats")
    if config.reader is not None and (config.token_counter == "estimate" or config.preprocessor is None):
        raise Mistake(
            "--profile official counts tokens exactly: give --token-counter endpoint or --tokenizer, and "
            "--preprocessor, the reader's preprocessor_config.json"
        )


def token_counter(config: RunConfig, reader: EndpointConfig) -> TokenCounter:
    """The counter that the settings name. Raises Mistake where it cannot be had."""
    try:
        images = (
            ImageTokens.from_preprocessor_config(config.preprocessor)
            if config.preprocessor is not None
            else None
        )
        if config.token_counter == "estimate":
            return EstimatedTokens(images or ImageTokens(), images_known=images is not None)
        if config.token_counter == "endpoint":
            return ExactTokens(ServerTexts(reader), images)
        if config.tokenizer is None:
            raise Mistake("--token-counter file needs --tokenizer, the reader's tokenizer.json")
        return ExactTokens(FileTexts(config.tokenizer), images)
    except (CountingError, ValueError) as error:
        raise Mistake(str(error)) from None
    except OSError as error:
        raise Mistake(of_any(error)) from None


def _upstream(config: RunConfig) -> Upstream | None:
    if config.profile != "official" or config.upstream is None:
        return None
    try:
        return Upstream.load(config.upstream)
    except OfficialError as error:
        raise Mistake(f"--upstream: {error}") from None


def _official_judge(judge: EndpointConfig) -> EndpointConfig:
    """The harness names the judge's output limit so, whatever the address."""
    sampling = judge.sampled(JUDGE_SAMPLING).sampling or JUDGE_SAMPLING
    named = sampling.model_copy(update={"output_limit_name": "max_completion_tokens"})
    return judge.model_copy(update={"sampling": named})


@contextmanager
def _closing(model: Reader | Judge | None) -> Iterator[None]:
    if model is None:
        yield
        return
    with closing(model):
        yield


def _remarks(console: Console, role: str) -> Callable[[str], None]:
    """What prints that a model is still waited for, above the progress of the run."""
    return lambda line: console.print(inert(f"waiting for the {role}: {line}"), markup=False)
