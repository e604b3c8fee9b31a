"""Choose the back end: the one that was asked for, or the best one that works here."""

from collections.abc import Callable
from dataclasses import dataclass

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.process import ProcessSandbox
from sandbox.protocol import Capability, Sandbox, SandboxError

NAMES = ("auto", "docker", "bubblewrap", "process")


@dataclass(frozen=True, slots=True)
class Choice:
    """A back end that was tried out, and why better ones were passed over (one sentence each)."""

    sandbox: Sandbox
    passed_over: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """At most one line for the user: what the chosen one lacks, and that it was not the first choice."""
        missing = ", ".join(sorted(frozenset(Capability) - self.sandbox.capabilities))
        lacks = [f"does not promise {missing}"] if missing else []
        over = ["better ones do not work here (`runbook doctor` says why)"] if self.passed_over else []
        told = "; ".join([*lacks, *over])
        return (f"sandbox {self.sandbox.name}: {told}",) if told else ()


def choose(name: str, docker: Callable[[], Sandbox], *, allow_no_isolation: bool) -> Choice:
    """The back end `name`, or for "auto" the first that works of docker, bubblewrap and process.

    Args:
        docker: makes the docker back end, or raises SandboxError where no engine can be used.
        allow_no_isolation: whether "process" may be used, which isolates nothing.

    Raises:
        SandboxError: the one that was asked for does not work, or none does; the mend says what would help.
    """
    makers: dict[str, Callable[[], Sandbox]] = {
        "docker": docker,
        "bubblewrap": BubblewrapSandbox,
        "process": lambda: _process(allow_no_isolation=allow_no_isolation),
    }
    if name in makers:
        return Choice(makers[name]())
    if name != "auto":
        raise SandboxError(f"there is no sandbox {name!r}", mend=f"use one of {', '.join(NAMES)}")
    passed_over: list[str] = []
    for candidate, make in makers.items():
        try:
            return Choice(make(), tuple(passed_over))
        except SandboxError as error:
            passed_over.append(f"{candidate} is passed over: {error}")
    raise SandboxError(
        f"no sandbox works here; {'; '.join(passed_over)}",
        mend="start a Docker engine or install bubblewrap; --allow-no-isolation runs without any",
    )


def _process(*, allow_no_isolation: bool) -> ProcessSandbox:
    if not allow_no_isolation:
        raise SandboxError(
            "the process back end isolates nothing",
            mend="allow it with --allow-no-isolation where the agent can be trusted with this machine",
        )
    return ProcessSandbox()
