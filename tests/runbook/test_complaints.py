"""What the system complains of names the file and the mend, and no library speaks to the user."""

import errno
import os
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runbook.complaints import faults_of, naming, of_system, of_validation
from runbook.files import write_atomically


class Settings(BaseModel):
    number: int = Field(ge=1)
    names: tuple[str, ...] = ()


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_no_error_number_is_shown_bare(number: int) -> None:
    line = of_system(OSError(number, os.strerror(number), "/some/file"))
    assert line.startswith("/some/file: ")
    assert "[Errno" not in line
    assert line.endswith(")")


def test_a_file_that_is_missing_is_named() -> None:
    with pytest.raises(OSError, match="No such file") as caught:
        Path("/no/such/file").read_text()
    assert of_system(caught.value).startswith("/no/such/file: it is not there (")


def test_of_a_rename_both_names_are_said() -> None:
    with pytest.raises(OSError, match="No such file") as caught:
        Path("/no/such").rename("/nor/such")
    assert "/no/such -> /nor/such" in of_system(caught.value)


def test_a_full_disk_names_the_file_that_did_not_fit() -> None:
    with pytest.raises(OSError, match="No space") as caught, naming(Path("/dev/full")):
        Path("/dev/full").write_bytes(b"x")
    assert of_system(caught.value).startswith("/dev/full: the disk is full (free some space")


def test_a_record_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no such folder") as caught:
        write_atomically(tmp_path / "gone" / "record.json", b"{}")
    assert str(tmp_path / "gone") in of_system(caught.value)


def test_a_value_that_does_not_fit_is_named_by_its_key_without_an_address() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"number": 0, "names": ["a", 7]})
    line = of_validation(caught.value)
    assert line.startswith("number: ")
    assert "names.1: " in line
    assert "http" not in line
    assert "\n" not in line


class Chosen(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int
    share: float = Field(default=0.5, ge=0, le=1)
    kind: Literal["a", "b"] = "a"
    whole: bool = True
    part: Settings | None = None


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "count: is missing"),
        ({"count": 1, "out": "RUN"}, "out: there is no such key; give it with --out"),
        ({"count": 1, "cuont": 1}, "cuont: there is no such key"),
        ({"count": "many"}, "count: must be a whole number"),
        ({"count": 1.5}, "count: must be a whole number"),
        ({"count": 1, "share": 2}, "share: must be at most 1.0"),
        ({"count": 1, "share": -1}, "share: must be at least 0.0"),
        ({"count": 1, "kind": "c"}, "kind: must be 'a' or 'b'"),
        ({"count": 1, "whole": "perhaps"}, "whole: must be true or false"),
        ({"count": 1, "part": 7}, "part: must be a table"),
    ],
)
def test_a_wrong_setting_is_told_in_plain_words(settings: dict[str, object], line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Chosen.model_validate(settings)
    assert of_validation(caught.value) == line


def test_a_key_like_an_unknown_one_is_told_where_the_model_is_known() -> None:
    with pytest.raises(ValidationError) as caught:
        Chosen.model_validate({"count": 1, "cuont": 1, "out": "x", "zzz": 1})
    told = [text for _, text in faults_of(caught.value, Chosen)]
    assert told == [
        "cuont: there is no such key; did you mean count?",
        "out: there is no such key; give it with --out",
        "zzz: there is no such key",
    ]
