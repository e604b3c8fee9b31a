"""Every number of what a user sets is finite and bounded, no address holds a key: said before a run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from evals.errata.overlay import ErrataError, load_errata
from evals.runs.config import RunConfig
from evals.runs.config_file import ConfigError, read_config
from evals.tokens import ImageTokens
from evals.tuning.study_file import StudyError, StudyFile, read_study
from runbook.agents.adapter import read_adapter
from runbook.agents.errors import AdapterError
from runbook.gateway.prices import LongRates, Price, Prices
from runbook.gateway.settings import GatewayError


def parts(annotation: Any) -> Iterator[Any]:
    """A type and all types within it, with the notes that Annotated adds."""
    yield annotation
    for one in get_args(annotation):
        yield from parts(one)


def unbounded(kind: type[BaseModel], seen: set[type] | None = None) -> Iterator[str]:
    """The numbers of a model, and of the models in it, that have no least or no greatest value."""
    seen = seen if seen is not None else set()
    if kind in seen:
        return
    seen.add(kind)
    for name, field in kind.model_fields.items():
        found = list(parts(field.annotation))
        yield from (one for part in found if _is_model(part) for one in unbounded(part, seen))
        if int not in found and float not in found:
            continue
        notes = [*field.metadata, *(one for part in found for one in _notes(part))]
        least, most = (any(isinstance(one, ends) for one in notes) for ends in ((Ge, Gt), (Le, Lt)))
        if not (least and most):
            yield f"{kind.__name__}.{name}"


def _is_model(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _notes(part: Any) -> list[Any]:
    return part.metadata if isinstance(part, FieldInfo) else []


@pytest.mark.parametrize("kind", [RunConfig, StudyFile, Price, LongRates])
def test_every_number_has_a_least_and_a_greatest_value(kind: type[BaseModel]) -> None:
    assert list(unbounded(kind)) == []


def settings(tmp_path: Path, *changes: str) -> RunConfig:
    return read_config(None, {"data": tmp_path, "reader.model": "m"}, changes, store=tmp_path / "store")


NUMBERS = (
    *("timeout", "grace", "idle", "views_gb", "attempts", "budget", "seed", "sample", "limit", "concurrency"),
    *("reader.timeout_seconds", "reader.retry_seconds", "reader.sampling.temperature"),
    *("gateway.retry_seconds", "gateway.run_budget.money_usd", "gateway.run_budget.calls", "gates.0"),
    *("retrieval.slices", "reader.sampling.extra.min_p"),
)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1" + "0" * 22, "1e300", "-1e300"])
@pytest.mark.parametrize("key", NUMBERS)
def test_a_number_out_of_bounds_is_refused_with_its_key(tmp_path: Path, key: str, value: str) -> None:
    change = f"gates=[{value}]" if key == "gates.0" else f"{key}={value}"
    if key.endswith("min_p") and value.endswith("e300"):
        pytest.skip("what a provider's own field takes is the provider's to say")
    with pytest.raises(ConfigError, match=key.removesuffix(".min_p").replace(".", r"\.")):
        settings(tmp_path, change)


def test_a_seed_below_zero_and_a_list_of_no_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="seed: must be at least 0"):
        settings(tmp_path, "seed=-1")
    with pytest.raises(ConfigError, match="question_ids"):
        settings(tmp_path, "question_ids=[]")


ADDRESSES = ("model_url", "reader.base_url", 'gateway.providers={p={wires=["openai-chat"],base_url')


@pytest.mark.parametrize("key", ADDRESSES)
@pytest.mark.parametrize(
    "address", ["http://u:secret@h/v1", "http://u@h/v1", "https://h/v1?api_key=secret", "https://h/v1#secret"]
)
def test_an_address_that_holds_a_key_is_refused_and_not_repeated(
    tmp_path: Path, key: str, address: str
) -> None:
    with pytest.raises(ConfigError, match="address") as refused:
        settings(tmp_path, f'{key}="{address}"' + "}}" * key.startswith("gateway"))
    assert "secret" not in str(refused.value)


def test_a_key_among_the_headers_of_a_provider_is_refused(tmp_path: Path) -> None:
    provider = '{wires=["openai-chat"],base_url="http://h/v1",headers={X-Api-Key="secret"}}'
    with pytest.raises(ConfigError, match="X-Api-Key holds a key") as refused:
        settings(tmp_path, f"gateway.providers={{p={provider}}}")
    assert '"secret"' not in str(refused.value)


NO_TOML = {
    "nested thousands of levels": b"x = " + b"[" * 3_000 + b"]" * 3_000,
    "a number of thousands of digits": b"x = " + b"1" * 5_000,
    "not UTF-8": b'x = "\xff"',
    "half a line": b"x = ",
    "no such day": b"x = 2026-13-99",
}


@pytest.mark.parametrize("kind", NO_TOML)
def test_whoever_reads_toml_says_in_one_line_that_it_is_none(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "handed-in.toml"
    file.write_bytes(NO_TOML[kind])
    readers: list[tuple[type[Exception], Any]] = [
        (ConfigError, lambda: read_config(file, {}, store=tmp_path)),
        (StudyError, lambda: read_study(file)),
        (ErrataError, lambda: load_errata(file)),
        (GatewayError, lambda: Prices.read(file)),
        (AdapterError, lambda: read_adapter(file.read_bytes(), str(file))),
    ]
    for error, read in readers:
        with pytest.raises(error, match=r"handed-in\.toml") as refused:
            read()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", sorted(NO_TOML.keys() - {"not UTF-8"}))
def test_a_change_that_is_no_toml_is_text(tmp_path: Path, kind: str) -> None:
    text = NO_TOML[kind].decode().removeprefix("x = ")
    assert settings(tmp_path, f"model={text}").model == text


@pytest.mark.parametrize(
    "wrong",
    [
        *({"patch_size": 0}, {"patch_size": -16}, {"merge_size": 0}, {"patch_size": 10**30}),
        *({"max_pixels": -1}, {"min_pixels": 10**9}, {"patch_size": 1e400}, {"patch_size": None}),
    ],
)
def test_numbers_by_which_no_image_can_be_cut_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    file = tmp_path / "preprocessor_config.json"
    good = {"patch_size": 16, "merge_size": 2, "min_pixels": 65_536, "max_pixels": 16_777_216}
    file.write_text(json.dumps(good))
    assert ImageTokens.from_preprocessor_config(file).of_size(640, 480) == 300
    file.write_text(json.dumps(good | wrong).replace("Infinity", "1e400"))
    with pytest.raises(ValueError, match=r"preprocessor_config\.json") as refused:
        ImageTokens.from_preprocessor_config(file)
    assert not isinstance(refused.value, ValidationError)
