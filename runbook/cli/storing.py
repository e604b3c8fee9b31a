"""`runbook store`: what a store takes, cleaning it, checking it."""

from dataclasses import asdict
from typing import Annotated

import typer

from runbook.cli.failures import FAILURE, Commands
from runbook.cli.home import existing_store
from runbook.cli.options import AsJson, StoreOption
from runbook.cli.tables import counted, print_json, sized
from runbook.cli.terminal import inert, terminal

storing = typer.Typer(cls=Commands, no_args_is_help=True, help="Look after a store.")


@storing.command()
def du(store: StoreOption = None, as_json: AsJson = False) -> None:
    """Tell how much disk the store and its views take."""
    from manifests.maintenance import disk_use
    from manifests.store import Store
    from runbook.cli.haystacks import views_of

    opened = Store.open(existing_store(store))
    use = disk_use(opened, views_of(opened))
    if as_json:
        print_json({"store": str(opened.root), **asdict(use)})
        return
    terminal().print(
        f"{opened.root}: {counted(use.trajectories, 'trajectory', 'trajectories')}, "
        f"{counted(use.states, 'state')}, "
        f"{sized(use.trajectory_bytes)} of text, {sized(use.image_bytes)} of screenshots, "
        f"{sized(use.index_bytes)} of search index, {sized(use.sheet_bytes)} of contact sheets; "
        f"{counted(len(use.views), 'view')}, {sized(sum(use.views.values()))} of their own "
        f"(cap {sized(use.cap_bytes)}); {sized(use.leftover_bytes)} left by killed processes, "
        f"{sized(use.other_bytes)} of other files",
        highlight=False,
        soft_wrap=True,
    )


@storing.command()
def gc(
    store: StoreOption = None,
    cap_gb: Annotated[float | None, typer.Option(min=0, max=1e9, help="Keep views up to this size.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remove leftovers, and views over the cap.

    Leftovers are what killed processes left, outdated recordings and unused screenshots.
    """
    from manifests.maintenance import collect_garbage
    from manifests.store import Store
    from runbook.cli.haystacks import views_of

    opened = Store.open(existing_store(store))
    cap = None if cap_gb is None else int(cap_gb * 10**9)
    done = collect_garbage(opened, views_of(opened), cap_bytes=cap)
    if as_json:
        print_json(asdict(done))
        return
    note = "; an import is running, so screenshots were left alone" if done.import_running else ""
    terminal().print(
        f"removed {counted(len(done.views), 'view')}, {counted(done.images, 'screenshot')}, "
        f"{counted(done.superseded, 'outdated trajectory', 'outdated trajectories')} and "
        f"{counted(done.leftovers, 'leftover')}, "
        f"{sized(done.freed_bytes)}{note}",
        highlight=False,
        soft_wrap=True,
    )


@storing.command("verify")
def verify_store(
    store: StoreOption = None,
    mend: Annotated[
        bool, typer.Option("--repair", help="Remove what is damaged, so that it is made anew.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare everything with its digests.

    Lists each damaged file, and exits with 1 where there is one that is not repaired.
    """
    from manifests.maintenance import repair, verify, verify_views
    from manifests.store import Store
    from runbook.cli.haystacks import views_of

    opened = Store.open(existing_store(store))
    views = views_of(opened)
    damages = [*verify(opened), *verify_views(views)]
    removed = repair(opened, views, damages) if mend and damages else []
    if as_json:
        print_json(
            {
                "damages": [{"path": str(d.path), "problem": d.problem, "slug": d.slug} for d in damages],
                "removed": removed,
            }
        )
    else:
        console = terminal()
        for damage in damages:
            console.print(
                inert(f"{damage.path}: {damage.problem}"), markup=False, highlight=False, soft_wrap=True
            )
        for damage in damages if mend else ():
            if not damage.slug:
                console.print(inert(f"removed {damage.path}"), markup=False, highlight=False, soft_wrap=True)
        for slug in removed:
            console.print(f"removed {slug}: import its recordings again", markup=False, highlight=False)
        if damages and not mend:
            # A view or a part of an index is made anew when it is needed.
            again = any(damage.slug for damage in damages)
            console.print(
                "mend: runbook store verify --repair" + ", then import the recordings again" * again
            )
        if not damages:
            console.print(f"{opened.root} is intact", highlight=False, soft_wrap=True)
    if damages and not mend:
        raise typer.Exit(FAILURE)
