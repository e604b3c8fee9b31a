"""The scripts of the recorded agents as files."""

from pathlib import Path

import pytest

from evals.demo.script import load_scripts

SCRIPT = """
at = 09:00:00
user = "mira.okafor"
outcome = "success"
goal = "Say hello."
steps = [
  {step},
  ["say", "Hello.", ""],
]
"""


def write(folder: Path, step: str) -> Path:
    file = folder / "monday" / "01-hello.toml"
    file.parent.mkdir()
    file.write_text(SCRIPT.format(step=step))
    return file


def test_ids_are_opaque_distinct_and_independent_of_the_folder(tmp_path: Path) -> None:
    ids = [script.trajectory_id for script in load_scripts()]
    assert len(set(ids)) == len(ids) >= 24
    write(tmp_path, '["goto", "/sla", "Look."]')
    (script,) = load_scripts(tmp_path)
    assert len(script.trajectory_id) == 10
    assert int(script.trajectory_id, 16) >= 0
    assert "hello" not in script.trajectory_id


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('["jump", "/sla", ""]', "not a step"),
        ('["click", "link", "Users"]', "a step click has the parts verb, role, name, thought"),
        ('["say", "Too early.", ""]', "must come last"),
    ],
)
def test_a_faulty_step_is_reported_with_its_file(tmp_path: Path, step: str, message: str) -> None:
    file = write(tmp_path, step)
    with pytest.raises(ValueError, match=message) as error:
        load_scripts(tmp_path)
    assert str(file) in str(error.value)
