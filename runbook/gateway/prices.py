"""The price table: dated, per model, in USD per million tokens."""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runbook.complaints import of_any
from runbook.gateway.models import plain_name
from runbook.gateway.records import Usage
from runbook.gateway.settings import Budget, GatewayError
from runbook.toml_reading import TomlError, parse_toml

_MILLION = 1_000_000


class Rates(BaseModel):
    """USD per million tokens of each bucket. A cache rate that is left out is the input rate."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    input: float = Field(ge=0, le=1e9)
    output: float = Field(ge=0, le=1e9)
    cache_read: float | None = Field(default=None, ge=0, le=1e9)
    cache_write: float | None = Field(default=None, ge=0, le=1e9)


class LongRates(Rates):
    """Rates of a whole request whose input, cached or not, is longer than `above` tokens."""

    above: int = Field(gt=0, le=10**12)


class Price(Rates):
    """One model's price, where it was read, and when."""

    source: str
    checked: str
    long: LongRates | None = None

    def cost(self, usage: Usage) -> float | None:
        """USD; None where input or output is unknown."""
        if usage.fresh_input is None or usage.output is None:
            return None
        read, written = usage.cache_read or 0, usage.cache_write or 0
        entered = usage.fresh_input + read + written
        rates: Rates = self.long if self.long is not None and entered > self.long.above else self
        cost = usage.fresh_input * rates.input + usage.output * rates.output
        cost += read * (rates.input if rates.cache_read is None else rates.cache_read)
        cost += written * (rates.input if rates.cache_write is None else rates.cache_write)
        return cost / _MILLION


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    models: dict[str, Price]


class Prices:
    """Looks prices up by a model's name, dates and vendor paths aside."""

    def __init__(self, models: dict[str, Price]) -> None:
        self._models = {name.lower(): price for name, price in models.items()}

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Read a table; the built-in one where no path is given.

        Raises:
            GatewayError: the file is missing or not a price table.
        """
        try:
            text = (path or files(__package__).joinpath("prices.toml")).read_text(encoding="utf-8")
            return cls(_Table.model_validate(parse_toml(text)).models)
        except (OSError, UnicodeError, TomlError, ValidationError) as error:
            raise GatewayError(f"{path or 'prices.toml'} is not a price table: {of_any(error)}") from None

    def items(self) -> Iterable[tuple[str, Price]]:
        """Every model and its price."""
        return self._models.items()

    def of(self, model: str | None) -> Price | None:
        """A model's price; None where it is unknown, which is not free."""
        if model is None:
            return None
        name = model.lower()
        return self._models.get(name) or self._models.get(plain_name(name))


def refuse_unpriced(budgets: Mapping[str, Budget], prices: Prices, models: Iterable[str]) -> None:
    """Raise GatewayError where a budget in money alone could not be kept.

    Args:
        budgets: by their key in a run's settings, such as `gateway.run_budget`.
        models: all that may be asked.
    """
    asked = list(models)
    for key, budget in budgets.items():
        if budget.money_usd is None or budget.tokens is not None:
            continue
        for model in asked:
            if prices.of(model) is None:
                raise GatewayError(
                    f"{key}.money_usd = {budget.money_usd:g} cannot be kept: the price of {model} is "
                    f"unknown; add [models.{_quoted(model)}] to a price table (gateway.prices), or set "
                    f"{key}.tokens, too"
                )


def _quoted(model: str) -> str:
    """A name as a TOML table may have it."""
    return orjson.dumps(model).decode()
