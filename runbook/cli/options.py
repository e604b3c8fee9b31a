"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

StoreOption = Annotated[
    Path | None, typer.Option("--store", help="Store of trajectories (default: in the user's cache).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
BaseImage = Annotated[
    str | None, typer.Option(help="Base of the sandbox image.", envvar="RUNBOOK_BASE_IMAGE")
]
AgentName = Annotated[
    str, typer.Option(help="Name of an agent (`runbook agents list`), or a TOML file that describes one.")
]
MemoryName = Annotated[
    str,
    typer.Option(
        help="agent, vanilla (a bare agent), none, random, first, oracle, oracle-slices-notes, rag-slice, "
        "rag-slice-notes, rag-slice-bm25, agentrunbook-r, cascade, or a package's."
    ),
]
AgentVersion = Annotated[
    str, typer.Option(help="Version of the agent's tool chain (default: its adapter's).")
]
Model = Annotated[str, typer.Option(help="The agent's model.")]
Effort = Annotated[str, typer.Option(help="The model's reasoning effort, in the agent's words.")]
ModelUrl = Annotated[
    str | None, typer.Option(help="Where the agent's model answers (default: the provider of its protocol).")
]
ModelKey = Annotated[
    str | None,
    typer.Option(help="Name of the environment variable with the key for --model-url.", metavar="NAME"),
]
Idle = Annotated[
    float,
    typer.Option(min=1, max=1e6, help="Seconds without output and model traffic: the agent stalled."),
]
AgentCommand = Annotated[
    str | None,
    typer.Option(help="For --agent command; {prompt}, {workspace}, {python}, {helpers} are filled in."),
]
SandboxName = Annotated[str, typer.Option(help="auto, docker, bubblewrap or process.")]
NoIsolation = Annotated[bool, typer.Option(help="Let agents other than our own run without isolation.")]
Budget = Annotated[int, typer.Option(min=1, max=10_000, help="States the evidence may hold.")]
Attempts = Annotated[int, typer.Option(min=1, max=1000, help="Attempts per question.")]
Timeout = Annotated[float, typer.Option(min=1, max=1e6, help="Deadline of an attempt in seconds.")]
NoGates = Annotated[
    bool, typer.Option("--no-gates", help="Go on although infrastructure failed for the first questions.")
]
ReaderUrl = Annotated[str | None, typer.Option(help="Base URL of the reader's endpoint.")]
ReaderModel = Annotated[str | None, typer.Option(help="The reader's model.")]
JudgeUrl = Annotated[str | None, typer.Option(help="Base URL of the judge's endpoint.")]
JudgeModel = Annotated[str | None, typer.Option(help="The judge's model.")]
