"""One JSONL line to one Trajectory: both forms of LongMemEval-V2, lenient on form, strict on meaning."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from .errors import DataError
from .lines import BOM
from .model import State, Trajectory
from .sanitise import REPLACEMENT, Cleaner, are_clean


def read_record(line: bytes, where: str) -> tuple[Trajectory, int]:
    """The trajectory on `line` and how many characters of it had to be replaced.

    `where` is "file:line", for messages. Raises DataError for what is not a trajectory with states.
    """
    raw, lost = _decode(line, where)
    trajectory = _Record(raw, where, _as_recorded).trajectory()
    if are_clean(_texts(trajectory)):
        return trajectory, lost
    cleaner = Cleaner()
    return _Record(raw, where, cleaner.clean).trajectory(), lost + cleaner.replaced


def _as_recorded(text: str) -> str:
    return text


def _texts(trajectory: Trajectory) -> Iterator[str]:
    """Every text of a trajectory."""
    yield from (trajectory.id, trajectory.domain, trajectory.goal, trajectory.start_url)
    yield trajectory.outcome or ""
    for state in trajectory.states:
        yield from (state.url, state.action, state.thought, state.text, state.screenshot or "")
        if isinstance(state.step, str):
            yield state.step


def _decode(line: bytes, where: str) -> tuple[dict[str, Any], int]:
    line = line.removeprefix(BOM)
    lost = 0
    try:
        raw = orjson.loads(line)
    except orjson.JSONDecodeError:
        # Not necessarily wrong: broken UTF-8, lone surrogates and NaN get here too.
        text = line.decode("utf-8", "replace")
        lost = text.count(REPLACEMENT) - line.count(REPLACEMENT.encode())
        try:
            raw = json.loads(text, strict=False)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            column = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise DataError(f"{where}: not valid JSON ({reason}{column}); mend or remove the line") from None
    if not isinstance(raw, dict):
        raise DataError(f"{where}: a trajectory must be a JSON object, not {_kind(raw)}")
    return raw, lost


class _Record:
    """A decoded line, read field by field; every text that is kept goes through `clean`."""

    def __init__(self, raw: dict[str, Any], where: str, clean: Callable[[str], str]) -> None:
        self._raw = raw
        self._where = where
        self._clean = clean
        metadata = raw.get("metadata")
        self._metadata: dict[str, Any] = metadata if isinstance(metadata, dict) else {}

    def trajectory(self) -> Trajectory:
        states = self._states()
        return Trajectory(
            id=self._id(),
            domain=self._text("domain"),
            goal=self._goal(),
            start_url=self._text("start_url"),
            outcome=self._text("outcome") or None,
            states=[self._state(index, state) for index, state in enumerate(states)],
        )

    def _id(self) -> str:
        value = self._field("id")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value:
            raise DataError(f'{self._where}: "id" is missing; every trajectory needs a unique id')
        return self._clean(value)

    def _goal(self) -> str:
        goal = self._raw.get("goal")
        if goal is None:
            goal = self._metadata.get("original_goal", self._metadata.get("goal"))
        if isinstance(goal, list) and all(isinstance(part, str) for part in goal):
            goal = "\n".join(goal)
        return self._as_text(goal, "goal", self._where)

    def _states(self) -> list[Any]:
        name = "states" if "states" in self._raw else "content"
        states = self._raw.get(name)
        if not isinstance(states, list):
            raise DataError(f'{self._where}: "states" must be a list of states, not {_kind(states)}')
        if not states:
            raise DataError(f'{self._where}: "{name}" is empty; a trajectory has at least one state')
        return states

    def _state(self, index: int, raw: Any) -> State:
        where = f"{self._where}: state {index}"
        if not isinstance(raw, dict):
            raise DataError(f"{where} must be a JSON object, not {_kind(raw)}")
        seen = raw.get("observation")
        if seen is None:
            seen = raw
        elif isinstance(seen, str):
            seen = {"text": seen}
        elif not isinstance(seen, dict):
            raise DataError(f'{where}: "observation" must be an object or text, not {_kind(seen)}')
        return State(
            index=index,
            step=self._step(raw, where),
            url=self._as_text(raw.get("url"), "url", where),
            action=self._as_text(raw.get("action"), "action", where),
            thought=self._first(raw, ("thought", "thoughts"), where),
            text=self._first(seen, ("accessibility_tree", "text"), where),
            screenshot=self._first(seen, ("screenshot",), where)
            or self._first(raw, ("screenshot",), where)
            or None,
        )

    def _step(self, raw: dict[str, Any], where: str) -> int | str | None:
        step = raw.get("step", raw.get("state_index"))
        if isinstance(step, float) and step.is_integer():
            step = int(step)
        if step is None or (isinstance(step, int) and not isinstance(step, bool)):
            return step
        if isinstance(step, str):
            return self._clean(step)
        raise DataError(f'{where}: "step" must be a number or text, not {_kind(step)}')

    def _field(self, name: str) -> Any:
        value = self._raw.get(name)
        return self._metadata.get(name) if value is None else value

    def _text(self, name: str) -> str:
        return self._as_text(self._field(name), name, self._where)

    def _first(self, raw: dict[str, Any], names: tuple[str, ...], where: str) -> str:
        for name in names:
            value = raw.get(name)
            if value is not None:
                return self._as_text(value, name, where)
        return ""

    def _as_text(self, value: Any, name: str, where: str) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            raise DataError(f'{where}: "{name}" must be text, not {_kind(value)}')
        return self._clean(value)


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
