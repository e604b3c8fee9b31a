"""`runbook agents`: which agents there are, and their installation."""

import re
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runbook.cli.agent_rows import ABOUT, agent_rows
from runbook.cli.agent_tables import print_agents, print_installed
from runbook.cli.agent_testing import test_agents
from runbook.cli.failures import Commands, Mistake
from runbook.cli.home import tool_chains
from runbook.cli.options import AsJson, BaseImage, SandboxName
from runbook.cli.tables import print_json, sized
from runbook.cli.terminal import WorkConsole, inert, terminal

if TYPE_CHECKING:
    from runbook.agents.catalogue import FoundAdapter
    from runbook.agents.tool_chain import ToolChain

agents = typer.Typer(
    cls=Commands, no_args_is_help=True, help="Install, show and test the agents that ask a model."
)
agents.command("test")(test_agents)

Named = Annotated[str, typer.Argument(metavar="NAME", help="An agent, or the path of its TOML file.")]
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")


@agents.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List agents, and which versions of them are installed.

    Those of a model are installed with `runbook agents install`; an adapter of your own is listed once it is
    installed. scout, command and external need no installation.
    """
    from runbook.agents import Catalogue
    from runbook.agents.tool_chain import installed

    rows = agent_rows(Catalogue(), list(installed(tool_chains())))
    if as_json:
        print_json(rows)
        return
    print_agents(terminal(), rows)


@agents.command()
def show(name: Named, as_json: AsJson = False) -> None:
    """Show how an agent is run, and where it is installed."""
    from runbook.agents.tool_chain import installed

    if name in ABOUT:
        if as_json:
            print_json({"origin": "built in", "about": ABOUT[name], "adapter": None, "installed": []})
        else:
            terminal().print(f"{name}: {ABOUT[name]}")
        return
    found = _found(name)
    chains = list(installed(tool_chains(), found.adapter.name if found else name))
    if as_json:
        described: dict[str, object] = {"origin": None, "adapter": None}
        if found:
            described = {"origin": found.origin, "adapter": found.adapter.model_dump(mode="json")}
        where = [{"folder": str(folder), **chain.model_dump(mode="json")} for folder, chain in chains]
        print_json({**described, "installed": where})
        return
    console = terminal()
    if found:
        console.print(f"# {found.origin}")
    print_installed(console, chains)
    if found:
        console.print(inert(found.text), end="")
    else:
        console.print(f"# its adapter is a file of your own{_gone(chains)}: runbook agents show ./FILE.toml")


def _found(name: str) -> "FoundAdapter | None":
    """The adapter of that name; None where it is of the user's own, installed, and its file is not there.

    Raises:
        AdapterError: there is none.
    """
    from runbook.agents import Catalogue
    from runbook.agents.tool_chain import installed

    catalogue = Catalogue()
    if name in catalogue.names or name.endswith(".toml"):
        return catalogue.find(name)
    chains = list(installed(tool_chains(), name))
    if not chains:
        return catalogue.find(name)  # which says which agents there are
    file = chains[-1][1].adapter_file
    return catalogue.find(file) if file and Path(file).is_file() else None


def _gone(chains: "Sequence[tuple[Path, ToolChain]]") -> str:
    file = chains[-1][1].adapter_file
    return f", {inert(file)}, which is not there any more" if file else ""


@agents.command()
def install(
    names: Annotated[list[str], typer.Argument(metavar="NAME[==VERSION]...", help="Agents or TOML files.")],
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
) -> None:
    """Download agents and try them out in the sandbox.

    It takes from seconds to minutes. Each is downloaded once and needs no network after that. No script of
    any package is run on this machine.
    """
    from runbook.agents import Catalogue
    from runbook.agents.installing import Installer
    from runbook.agents.tool_chain import installed
    from runbook.cli.assembly import open_sandbox

    wanted = [_name_and_version(name) for name in names]
    found = [(Catalogue().find(name), version) for name, version in wanted]
    console = WorkConsole()
    with ExitStack() as stack:
        chosen = open_sandbox(sandbox, base_image, allow_no_isolation=False, say=console.print, stack=stack)
        installer = Installer(tool_chains(), chosen, console.print)
        for one, version in found:
            folder = installer.install(one, version or one.adapter.install.version)
            (chain,) = (chain for where, chain in installed(tool_chains()) if where == folder)
            console.print(f"{one.adapter.name} {chain.version} is in {folder}, {sized(chain.bytes)}")


@agents.command()
def uninstall(
    name: Annotated[str, typer.Argument(metavar="NAME[==VERSION]", help="An installed agent.")],
    as_json: AsJson = False,
) -> None:
    """Remove an agent's tool chains, all or one version."""
    from runbook.agents import Catalogue
    from runbook.agents.tool_chain import installed

    asked, version = _name_and_version(name)
    if asked in ABOUT:
        raise Mistake(f"{asked} is part of Runbook: there is nothing to uninstall")
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
    terminal().print(f"{sized(freed)} are free again")


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
