"""The scripts of the recorded agents: what each wanted, who it was, and what it did, in files one can read.

A step is a list: a verb, its arguments, and the thought that comes with it. The element is named by role and
accessible name, as the agent sees it:

    ["click", "link", "Machines North", "The ticket should be in my queue."]
    ["fill", "textbox", "PIN", "5904", ""]      ["select", "combobox", "State", "Open", ""]
    ["press", "searchbox", "Search ..", "Enter", ""]
    ["goto", "/sla", ""]   ["back", ""]   ["scroll", 300, ""]
    ["say", "The answer.", ""]   ["stop", "Out of ideas."]       (one of these two comes last)
"""

import hashlib
import tomllib
from datetime import time
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from evals.demo.app.world import DAYS

SCRIPTS = Path(__file__).parent / "scripts"
ARGUMENTS = {
    "click": ("role", "name"),
    "fill": ("role", "name", "value"),
    "select": ("role", "name", "value"),
    "press": ("role", "name", "value"),
    "goto": ("value",),
    "back": (),
    "scroll": ("value",),
    "say": ("value",),
    "stop": (),
}


class Step(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    verb: Literal["click", "fill", "select", "press", "goto", "back", "scroll", "say", "stop"]
    role: str = ""
    name: str = ""
    value: str = ""
    thought: str = ""

    @property
    def last(self) -> bool:
        return self.verb in ("say", "stop")


def step_of(row: object) -> object:
    """The named parts of a step that is written as a list."""
    if not isinstance(row, list) or not row or row[0] not in ARGUMENTS:
        raise ValueError(f"not a step: {row!r}")
    names = ("verb", *ARGUMENTS[row[0]], "thought")
    if len(row) != len(names):
        raise ValueError(f"a step {row[0]} has the parts {', '.join(names)}: {row!r}")
    return dict(zip(names, map(str, row), strict=True))


class Script(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    day: str
    name: str
    at: time
    """When on that day it begins."""
    user: str = ""
    """Login of the user who is logged in at the start; empty where the agent begins at the log-in page."""
    start: str = "/"
    goal: str
    outcome: Literal["success", "failure"]
    steps: list[Annotated[Step, BeforeValidator(step_of)]] = Field(min_length=2)

    @model_validator(mode="after")
    def ends_once(self) -> Self:
        if [step.last for step in self.steps] != [False] * (len(self.steps) - 1) + [True]:
            raise ValueError("a say or stop must come last, and only there")
        return self

    @property
    def trajectory_id(self) -> str:
        """Opaque, and the same in every recording."""
        return hashlib.sha256(f"{self.day}/{self.name}".encode()).hexdigest()[:10]


def load_scripts(folder: Path = SCRIPTS) -> list[Script]:
    """All scripts, day by day, in the order in which they are performed in that day's one world.

    Raises ValueError naming the file that is not a script.
    """
    scripts = []
    for day in DAYS:
        for file in sorted((folder / day).glob("*.toml")):
            try:
                row = tomllib.loads(file.read_text(encoding="utf-8"))
                scripts.append(Script.model_validate({"day": day, "name": file.stem, **row}))
            except ValueError as error:
                raise ValueError(f"{file}: {error}") from error
    return scripts
