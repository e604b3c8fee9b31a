"""`runbook agents`: which agents there are, and their installation."""

import re
import shutil
from contextlib import ExitStack
from typing import Annotated

import typer

from runbook.cli.agent_tables import print_agents, print_installed
from runbook.cli.agent_testing import test_agents
from runbook.cli.failures import Commands, Mistake
from runbook.cli.home import tool_chains
from runbook.cli.options import AsJson, BaseImage, SandboxName
from runbook.cli.tables import megabytes, print_json
from runbook.cli.terminal import inert, terminal

agents = typer.Typer(
    cls=Commands, no_args_is_help=True, help="Install, show and test the agents that ask a model."
)
agents.command("test")(test_agents)

Named = Annotated[str, typer.Argument(metavar="NAME", help="An agent, or the path of its TOML file.")]
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")


@agents.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List agents, and which versions of them are installed."""
    from runbook.agents import AdapterError, Catalogue
    from runbook.agents.tool_chain import installed

    catalogue, chains = Catalogue(), [chain for _, chain in installed(tool_chains())]
    rows = []
    for name in catalogue.names:
        versions = sorted({chain.version for chain in chains if chain.name == name})
        row: dict[str, object] = {"name": name, "installed": versions, "problem": ""}
        try:
            found = catalogue.find(name)
        except AdapterError as error:
            row["problem"] = str(error)
        else:
            adapter = found.adapter
            row |= {
                "version": adapter.install.version,
                "wire": adapter.wire.value,
                "sees_images": bool(adapter.images),
                "efforts": list(adapter.efforts),
                "summary": adapter.summary,
                "origin": found.origin,
            }
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    print_agents(terminal(), rows)


@agents.command()
def show(name: Named, as_json: AsJson = False) -> None:
    """Show how an agent is run, and where it is installed."""
    from runbook.agents import Catalogue
    from runbook.agents.tool_chain import installed

    found = Catalogue().find(name)
    chains = list(installed(tool_chains(), found.adapter.name))
    if as_json:
        described = {"origin": found.origin, "adapter": found.adapter.model_dump(mode="json")}
        where = [{"folder": str(folder), **chain.model_dump(mode="json")} for folder, chain in chains]
        print_json({**described, "installed": where})
        return
    console = terminal()
    console.print(f"# {found.origin}")
    print_installed(console, chains)
    console.print(inert(found.text), end="")


@agents.command()
def install(
    names: Annotated[list[str], typer.Argument(metavar="NAME[==VERSION]...", help="Agents or TOML files.")],
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
) -> None:
    """Download agents and try them out in the sandbox.

    Each is downloaded once and needs no network after that. No script of any package is run on this machine.
    """
    from runbook.agents import Catalogue
    from runbook.agents.installing import Installer
    from runbook.cli.assembly import open_sandbox

    wanted = [_name_and_version(name) for name in names]
    found = [(Catalogue().find(name), version) for name, version in wanted]
    console = terminal()
    with ExitStack() as stack:
        chosen = open_sandbox(sandbox, base_image, allow_no_isolation=False, say=console.print, stack=stack)
        installer = Installer(tool_chains(), chosen, console.print)
        for one, version in found:
            folder = installer.install(one, version or one.adapter.install.version)
            console.print(f"{one.adapter.name} is in {folder}")


@agents.command()
def uninstall(
    name: Annotated[str, typer.Argument(metavar="NAME[==VERSION]", help="An installed agent.")],
    as_json: AsJson = False,
) -> None:
    """Remove an agent's tool chains, all or one version."""
    from runbook.agents import Catalogue
    from runbook.agents.tool_chain import installed

    asked, version = _name_and_version(name)
    plain = Catalogue().find(asked).adapter.name if asked.endswith(".toml") else asked
    chains = [one for one in installed(tool_chains(), plain) if version in ("", one[1].version)]
    if not chains:
        raise Mistake(f"no {name} is installed in {tool_chains()}: see `runbook agents list`")
    for folder, _ in chains:
        # Under another name first, so that nobody finds half of it.
        going = folder.with_name(f".gone-{folder.name}")
        folder.rename(going)
        shutil.rmtree(going)
    freed = sum(chain.bytes for _, chain in chains)
    if as_json:
        print_json({"removed": [str(folder) for folder, _ in chains], "freed_bytes": freed})
        return
    for folder, _ in chains:
        terminal().print(f"removed {folder}")
    terminal().print(f"{megabytes(freed)} are free again")


@agents.command()
def schema() -> None:
    """Print the JSON Schema of an adapter file."""
    from runbook.agents.adapter import Adapter

    print_json(Adapter.model_json_schema())


def _name_and_version(asked: str) -> tuple[str, str]:
    name, sign, version = asked.partition("==")
    if sign and not _VERSION.fullmatch(version):
        raise Mistake(f"{asked!r}: a version is letters, digits, dots, + and -, for example codex==0.171.0")
    return name, version
