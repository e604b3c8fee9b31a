"""Settings of a run from a file, options and --set: which wins, and what a wrong one is told."""

from pathlib import Path

import pytest

from evals.runs.config import RunConfig
from evals.runs.config_file import ConfigError, read_config


def settings(tmp_path: Path, text: str, *changes: str, **options: object) -> RunConfig:
    file = tmp_path / "run.toml"
    file.write_text(text, encoding="utf-8")
    return read_config(file, options, changes, store=tmp_path / "default-store")


def test_set_wins_over_options_and_options_over_the_file(tmp_path: Path) -> None:
    text = 'data = "d"\ntimeout = 1\nattempts = 1\nbudget = 1\n'
    config = settings(tmp_path, text, "budget=3", timeout=2.0, budget=2)
    assert (config.attempts, config.timeout, config.budget) == (1, 2.0, 3)


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    config = settings(tmp_path, 'data = "d"\n[gateway]\nrecord = "tape"\n')
    assert config.data == tmp_path / "d"
    assert config.gateway.record == tmp_path / "tape"
    assert config.store == tmp_path / "default-store"


def test_set_reaches_into_tables_and_takes_words_without_quotes(tmp_path: Path) -> None:
    config = settings(
        tmp_path, 'data = "d"\n', "gateway.mismatch=flag", "reader.model=m", "model=gpt-5", "gates=[2]"
    )
    assert config.gateway.mismatch == "flag"
    assert config.reader is not None
    assert config.reader.model == "m"
    assert config.model == "gpt-5"
    assert config.gates == (2,)


@pytest.mark.parametrize(
    ("text", "change", "told"),
    [
        ('data = "d"\ntimeoutt = 3\n', None, "timeoutt: there is no such key; did you mean timeout?"),
        ('data = "d"\n', "timout=5", "timout: there is no such key; did you mean timeout?"),
        ('data = "d"\n', "gateway.run_budget.cals=5", "did you mean calls?"),
        ('data = "d"\n', "gateway.providers.mine.base_ulr=5", "did you mean base_url?"),
        ('data = "d"\n', 'reader={model="m", sampling={temprature=1}}', "did you mean temperature?"),
        ('data = "d"\n', "retrieval.embeding.model=m", "did you mean embedding?"),
        ('data = "d"\ntimeout = "soon"\n', None, "timeout"),
        ('data = "d"\n[gateway.attempt_budget]\ncalls = -1\n', None, "gateway.attempt_budget.calls"),
        ("data = \n", None, "line 1"),
        ('data = "d"\n', "timeout", "KEY=VALUE"),
        ('data = "d"\n', "timeout.seconds=3", "timeout"),
        ("timeout = 3\n", None, "data"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, change: str | None, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings(tmp_path, text, *([change] if change else []), **({"timeout": 3.0} if change else {}))
    assert told in str(refused.value)
    assert "pydantic" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        read_config(tmp_path / "nowhere.toml", {}, store=tmp_path)
