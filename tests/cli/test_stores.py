"""A store that is wrong, newer or not to be written: said plainly, and used as far as it can be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from manifests.model import State, Trajectory
from manifests.store import Store
from manifests.views import Views
from tests.cli.conftest import PROGRAM, Runbook
from tests.waiting import FOREVER

OPENING = """
import sys
from pathlib import Path
from manifests.store import Store
from runbook.cli.haystacks import Haystacks
store = Store.open(Path(sys.argv[1]))
with Haystacks(store, print).open(store.slugs()) as view:
    print(view.path, (view.path / ".index").is_dir())
"""


def made_store(root: Path) -> Store:
    store = Store.open(root)
    states = [State(0, 0, "http://a.example/", "", "", "[1] link 'Orders'", None)]
    store.add(Trajectory("t1", "web", "Find the orders", "http://a.example/", "success", states), root.parent)
    return store


@pytest.mark.parametrize("name", ["newer", "other"])
def test_a_folder_that_cannot_serve_as_store_is_the_users_mistake(
    runbook: Runbook, tmp_path: Path, name: str
) -> None:
    made_store(tmp_path / "newer").root.joinpath("FORMAT").write_text("7\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("not a store")
    done = runbook("store", "du", "--store", tmp_path / name)
    assert done.returncode == 2
    assert "choose another --store" in done.stderr.replace("\n", " ")


def test_a_missing_file_is_named_with_the_mend(runbook: Runbook, tmp_path: Path) -> None:
    store = made_store(tmp_path / "store")
    (state,) = (store.trajectories / store.slugs()[0] / "states").iterdir()
    state.unlink()
    done = runbook("ask", "Where are the orders?", "--store", store.root, "--agent", "scout")
    said = done.stderr.replace("\n", "")
    assert done.returncode == 1
    assert state.name in said
    assert "runbook store verify --repair" in said


def test_views_of_a_store_that_cannot_be_written_are_in_the_users_folder(tmp_path: Path) -> None:
    store = made_store(tmp_path / "store")
    done = subprocess.run(
        [*_read_only(store.root), sys.executable, "-c", OPENING, store.root],
        env={**os.environ, "RUNBOOK_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=FOREVER,
        check=False,
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no read-only mount here: {done.stderr}")
    assert done.stdout.startswith(str(tmp_path / "home" / "views")), done.stderr
    assert done.stdout.endswith("True\n")
    assert not (store.root / "views").exists()


def _read_only(folder: Path) -> list[str | Path]:
    """The beginning of a command that finds `folder` read-only, also where root runs it."""
    if os.geteuid():
        folder.chmod(0o555)
        return []
    mounting = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", mounting, folder]


def test_a_damaged_part_of_the_index_is_told_and_repaired(tmp_path: Path, data_root: Path) -> None:
    options = ["--data", str(data_root), "--store", str(tmp_path / "store"), "--limit", "1"]
    run = ["eval", "run", *options, "--memory", "rag-slice-bm25", "--out", str(tmp_path / "run")]
    subprocess.run([*PROGRAM, *run], check=True, capture_output=True)
    part = next((tmp_path / "store" / "index").iterdir())
    part.write_bytes(part.read_bytes()[:-5])
    verify = [*PROGRAM, "store", "verify", "--store", str(tmp_path / "store")]
    said = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (said.returncode, f"{part}: does not match its checksum" in said.stdout) == (1, True)
    said = subprocess.run([*verify, "--repair"], capture_output=True, text=True, check=False)
    assert (said.returncode, f"removed {part}" in said.stdout) == (0, True)
    assert not part.exists()
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0


def test_a_changed_view_needs_no_import(runbook: Runbook, tmp_path: Path) -> None:
    store = made_store(tmp_path / "store")
    with Views(store).acquire(store.slugs()) as view:
        (view.path / "states.tsv").write_text("scribbled")
    done = runbook("store", "verify", "--store", store.root)
    assert (done.returncode, "was written to" in done.stdout) == (1, True)
    assert done.stdout.endswith("mend: runbook store verify --repair\n")
    (state,) = (store.trajectories / store.slugs()[0] / "states").iterdir()
    state.write_text("scribbled")
    said = runbook("store", "verify", "--store", store.root).stdout
    assert "mend: runbook store verify --repair, then import" in said
