"""What an agent saw and did, in order: the states of a trajectory, each with the action that followed it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..model import State
from .texts import Scrubber
from .tool_calls import first_line

PICTURE = "[picture]"
_PICTURE_LOST = "[a picture that was not recorded]"


@dataclass(slots=True)
class _Step:
    """What was seen until the agent acted, and what it thought and did then."""

    folder: str
    seen: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)


class Conversation:
    """Takes what a session records, piece by piece.

    `began` is the time of the first piece; `folder` and `branch` are where it happened, told by `here`.
    """

    def __init__(self) -> None:
        self.began: datetime | None = None
        self.folder = ""
        self.branch = ""
        self.acted = False
        self._date = ""
        self._folder = ""
        self._branch = ""
        self._told = ("", "")
        self._steps: list[_Step] = []
        self._said: list[str] = []
        self._calls: dict[str, str] = {}  # awaiting their results: id -> action
        self._batch: list[str] = []  # ids of the calls made in one step

    def here(self, time: object, folder: object, branch: object) -> None:
        """Where and when the pieces that follow happened; what is not known stays as it was."""
        moment = _moment(time)
        if moment:
            self.began = self.began or moment
            self._date = moment.date().isoformat()
        if isinstance(folder, str) and folder:
            self.folder = self.folder or folder
            self._folder = folder
        if isinstance(branch, str) and branch:
            self.branch = self.branch or branch
            self._branch = branch

    def user(self, text: str) -> None:
        """A message to the agent."""
        seen = self._observing().seen
        now = (self._date, self._branch)
        if any(self._told):
            names = ("Date", "Git branch")
            seen += [f"{n}: {new}" for n, old, new in zip(names, self._told, now, strict=True) if old != new]
        self._told = now
        seen += ["User:", text.strip("\n")]

    def note(self, text: str) -> None:
        """Something else that was put before the agent."""
        self._observing().seen.append(text)

    def result(self, call: object, text: str) -> None:
        """What a tool call led to; it is named where several were made at once."""
        seen = self._observing().seen
        action = self._calls.pop(call, "") if isinstance(call, str) else ""
        if action and (len(self._batch) > 1 or call not in self._batch):
            seen.append(f"Result of {action}:")
        seen.append(text)

    def picture(self, name: str | None) -> None:
        """A picture put before the agent: the name of its file, None where it was not recorded."""
        if name is None:
            self.note(_PICTURE_LOST)
        else:
            self._observing().pictures.append(name)

    def thought(self, text: str) -> None:
        """What the agent thought before it acted."""
        if text.strip():
            self._acting().thoughts.append(text)

    def said(self, text: str) -> None:
        """What the agent wrote: an answer, unless a tool call follows, which it then explains."""
        if text.strip():
            self._acting()
            self._said.append(text)
            self.acted = True

    def did(self, call: object, action: str) -> None:
        """A tool call."""
        step = self._acting()
        step.thoughts += self._said
        self._said = []
        if not step.actions:
            self._batch = []
        step.actions.append(action)
        self.acted = True
        if isinstance(call, str):
            self._calls[call] = first_line(action)
            self._batch.append(call)

    def states(self, head: str, scrubber: Scrubber) -> list[State]:
        """The states, scrubbed; the first one begins with `head`. Empty where nothing was recorded."""
        self._answer()
        states: list[State] = []
        urls = {self.folder: scrubber.scrub_again(folder_url(self.folder))}  # told by the head already
        for number, step in enumerate(self._steps):
            text = "\n".join([head, "", *step.seen] if number == 0 else step.seen)
            folder = step.folder or self.folder
            if folder not in urls:
                urls[folder] = scrubber.scrub(folder_url(folder))
            url = urls[folder]
            # A state shows one picture, so further ones are states in which nothing was done yet.
            for place, picture in enumerate(step.pictures[:-1]):
                states.append(_state(len(states), url, text, picture, scrubber))
                text = f"[picture {place + 2} of {len(step.pictures)}]"
            state = _state(len(states), url, text, step.pictures[-1] if step.pictures else None, scrubber)
            state.action = scrubber.scrub("\n".join(step.actions))
            state.thought = scrubber.scrub("\n".join(step.thoughts))
            states.append(state)
        return states

    def _observing(self) -> _Step:
        """The step that takes what is seen now: a new one where the agent has acted since."""
        self._answer()
        if not self._steps or self._steps[-1].actions or self._steps[-1].thoughts:
            self._steps.append(_Step(self._folder))
        return self._steps[-1]

    def _acting(self) -> _Step:
        if not self._steps:
            self._steps.append(_Step(self._folder))
        return self._steps[-1]

    def _answer(self) -> None:
        """What the agent wrote without acting on it was its answer."""
        if self._said:
            text = "\n".join(self._said)
            self._said = []
            self._steps[-1].actions.append(f'respond("{text}")')


def folder_url(folder: str) -> str:
    """The url of a working folder, "" where none was recorded."""
    return f"file://{folder}" if folder else ""


def _state(index: int, url: str, text: str, picture: str | None, scrubber: Scrubber) -> State:
    return State(
        index=index,
        step=index,
        url=url,
        action="",
        thought="",
        text=scrubber.scrub(text),
        screenshot=picture,
    )


def _moment(time: object) -> datetime | None:
    if not isinstance(time, str):
        return None
    try:
        moment = datetime.fromisoformat(time)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
