"""What a redacted report no longer tells."""

from pathlib import Path

import pytest

from evals.report.redaction import Redactor
from evals.report.write import write_folder, write_report
from tests.report.building import RunBuilder, Told

KEY = "sk-" + "ant-" + "Zq7Wm2" * 8
"""Looks like a key, and was never one."""


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("open /home/joan/secret/notes.txt", "joan"),
        ("C:\\Users\\joan\\notes.txt", "joan"),
        ("see https://joan:hunter22@build.corp.internal:8443/job/7", "joan"),
        ("see https://build.corp.internal:8443/job/7", "corp"),
        ("ping db-7.lan now", "db-7"),
        ("connect 10.12.0.7:5432", "10.12"),
        ("connect fe80:0:0:0:1ff:fe23:4567:890a", "fe80"),
        ("write to joan.doe+x@mail.example.org", "joan"),
        ("export ACME_API_KEY=x", "ACME"),
        (f"key {KEY}", "Zq7Wm2"),
        ("token ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghij"),
    ],
)
def test_what_identifies_is_gone(text: str, gone: str) -> None:
    redact = Redactor([])
    assert gone not in redact(text)
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "./memory search 'first response' --limit 12",
        "51.3 %",
        "and/or",
        "state 7 of 9",
        "cat /workspace/notes/a.md",
        "gpt-5.2-codex",
        "version 2.1.197",
        "ratio 3:4:5",
    ],
)
def test_what_tells_nothing_stays(text: str) -> None:
    assert Redactor([])(text) == text


def test_the_same_thing_has_the_same_number() -> None:
    redact = Redactor([])
    assert redact("http://a.example.org/x") == "http://[host 1]/x"
    assert redact("http://b.example.org/x") == "http://[host 2]/x"
    assert redact("ask a.example.org") == "ask [host 1]"


def test_a_redacted_report_names_neither_the_run_s_paths_nor_hosts_nor_variables(
    world: RunBuilder, tmp_path: Path
) -> None:
    hostile = "cat /srv/joan/x.txt; curl http://vault.corp.internal/ -H 'x: " + KEY
    told = {
        "q-0": Told(
            command=hostile, response=hostile, note=hostile, reason=hostile, detail=hostile, diff=hostile
        )
    }
    run = world.write(tmp_path / "run", told=told)
    write_report([run.path], tmp_path / "report.html", redact=True)
    write_folder([run.path], tmp_path / "full", redact=True)
    pages = [tmp_path / "report.html", *(tmp_path / "full").rglob("*.html")]
    assert len(pages) > 5
    for page in pages:
        text = page.read_text()
        for secret in (
            "/srv/joan",
            "vault.corp",
            "Zq7Wm2",
            str(world.data_root),
            str(world.store),
            "OPENAI_API",
        ):
            assert secret not in text
        assert str(tmp_path) not in text
        assert "attempts/1" not in text


def test_without_redaction_paths_are_shown(world: RunBuilder, tmp_path: Path) -> None:
    run = world.write(tmp_path / "run")
    write_report([run.path], tmp_path / "report.html")
    assert str(world.store) in (tmp_path / "report.html").read_text()
