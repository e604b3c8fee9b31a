"""`runbook demo`."""

from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.options import (
    AgentCommand,
    AgentName,
    BaseImage,
    JudgeModel,
    JudgeUrl,
    ReaderModel,
    ReaderUrl,
    SandboxName,
)
from runbook.cli.terminal import WorkConsole


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the demo; a second time shows what is there.")] = Path(
        "runbook-demo"
    ),
    agent: AgentName = "scout",
    agent_command: AgentCommand = None,
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
) -> None:
    """Run the main job on bundled recordings.

    It needs no data, key, Docker or network.
    """

    from runbook.cli.demonstrating import demonstrate
    from runbook.cli.endpoints import endpoint

    demonstrate(
        out.resolve(),
        agent=agent,
        agent_command=agent_command,
        sandbox=sandbox,
        base_image=base_image,
        reader=endpoint("reader", reader, reader_model),
        judge=endpoint("judge", judge, judge_model),
        console=WorkConsole(),
    )
