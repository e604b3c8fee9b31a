"""The modes: what is answered to a conversation.

| mode | behaviour |
|---|---|
| `ok` | four shell commands, one failing with exit 3; the last writes evidence; then a final message |
| `think` | the same with reasoning ahead of each answer |
| `memory` | works as the workspace's instruction says: search, read, submit (see `searching`) |
| `parallel` | two commands in one turn, then evidence |
| `slow` | a command of 300 s that has a child in a session of its own, again and again |
| `orphan` | leaves a sleep of 300 s that holds stdout, in another session; prints its pid; then evidence |
| `stdin` | a command that reads its stdin to the end; then evidence |
| `user` | a command that says who runs it; then evidence |
| `big` | a command that prints 3 MB; then evidence |
| `huge` | evidence if the prompt came whole and is longer than 128 KiB, else a final message alone |
| `haystack` | tries to change, remove and replace the haystack; then evidence |
| `files`, `fill` | 100,000 files, 1.2 GB, again and again |
| `fifo` | a pipe where the evidence should be |
| `image` | looks at a picture, if there is a tool for it; the note says how many pictures the request held |
| `badtool`, `badjson` | a call of a tool that does not exist, arguments that are no JSON; then evidence |
| `loop` | a command for ever |
| `empty` | a final message without text |
| `silent` | a final message without any command |
| `mismatch` | as `ok`, but another model claims to have answered |
| `hang` | accepts and never answers |
| `trunc`, `cut` | the stream ends halfway, politely or by a broken connection |
| `null` | status 200 without choices, output, content or candidates |
| `errN`, `lateN` | status N always, or once two commands have run; `err429` says Retry-After: 1 |
| `failN` | status 500 for the first N requests, then `ok` |
| `storm` | status 429 with Retry-After: 1 for the first three requests, then `ok` |
| `ctx` | the context is too long |
| `reader`, `judge` | a reader's or a judge's reply (see `reading`) |

What follows a "-" in the prefix tells runs apart whose requests are counted: `/m/fail2-a/`, `/m/fail2-b/`.
Where it is a number, sleeps can be told apart as well: /m/slow-77/ sleeps for 300.77 seconds.
"""

import json
import re
from dataclasses import dataclass

from tests.scripted_model.conversation import Answer, Call, Conversation, Tool
from tests.scripted_model.reading import judged, read_answer
from tests.scripted_model.searching import search_and_submit

FINAL = "Done: memory_module_output.json is written. FINAL-MESSAGE-MARK"
OTHER_MODEL = "another-model-2"
HUGE = 128 * 1024
_MINI_END = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_TAMPER = (
    "echo changed > haystack/MANIFEST.md; rm -rf haystack/trajectories haystack; mv haystack old; "
    "ln -sfn /tmp haystack; ls haystack/"
)
_BIG = "python3 -c \"for i in range(33000): print('line', i, 'y' * 80)\""


def evidence(note: str = "Looked around; nothing was found.") -> str:
    """The command that writes evidence without the helper: a heredoc, which every agent's shell allows."""
    document = {"memory_markdown": note, "trajectory_spans": [], "evidence_status": "insufficient"}
    name = "memory_module_output.json"
    return f"cat > {name} <<'JSON'\n{json.dumps(document)}\nJSON\nwc -c {name}"


_LOOK = ["ls; cat question.json"], ["./memory overview"]
_ENDLESS = {
    "loop": "echo loop",
    "slow": "touch started; setsid sleep {nap} & sleep {nap}; touch finished",
    # Again and again, for an agent may leave the first one running in the background and ask on.
    "files": "mkdir -p files; cd files; seq 100000 | xargs touch",
    "fill": "for n in 1 2 3 4 5; do head -c 240M /dev/zero > $n.bin; done",
}
_STEPS: dict[str, tuple[list[str], ...]] = {
    "ok": (*_LOOK, ["echo to-stderr >&2; sleep 1; exit 3"], [evidence()]),
    "parallel": (["sleep 1; echo A", "sleep 1; echo B"], [evidence()]),
    "orphan": (["setsid sleep {nap} & echo left $!"], [evidence()]),
    "user": (["id"], [evidence()]),
    "haystack": ([_TAMPER], [evidence()]),
    "fifo": (["mkfifo memory_module_output.json; ls -l"],),
    "stdin": (["timeout 20 cat; echo read to the end: $?"], [evidence()]),
    "big": ([_BIG], [evidence()]),
    "huge": ([evidence()],),
    "badtool": ([evidence()],),
    "badjson": (["true"], [evidence()]),
    "silent": (),
    "empty": (),
}


@dataclass(frozen=True)
class Refusal:
    """An answer other than 200."""

    status: int
    kind: str
    message: str
    retry_after: str | None = None


@dataclass(frozen=True)
class Silence:
    """No answer at all."""


_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def refusal(status: int) -> Refusal:
    retry_after = "1" if status == 429 else None
    return Refusal(status, _KINDS.get(status, "api_error"), f"scripted error {status}", retry_after)


def act(mode: str, said: Conversation, earlier: int, run: str = "") -> Answer | Refusal | Silence:
    """What to do with a request of a run, `earlier` ones with the same prefix having come before."""
    if mode == "hang":
        return Silence()
    if mode == "ctx":
        return Refusal(400, "context", "This model's maximum context length is 1000 tokens, not 250000.")
    if mode == "storm" and earlier < 3:
        return refusal(429)
    if numbered := re.fullmatch(r"(err|late|fail)(\d+)", mode):
        kind, number = numbered[1], int(numbered[2])
        if kind == "fail":
            return refusal(500) if earlier < number else _answer("ok", said, earlier, run)
        return refusal(number) if kind == "err" or said.step >= 2 else _answer("ok", said, earlier, run)
    return _answer(mode, said, earlier, run)


def _answer(mode: str, said: Conversation, earlier: int, run: str) -> Answer:
    if mode == "null":
        return Answer(model=said.model, without_choices=True)
    if mode == "reader":
        return Answer(text=read_answer(said), model=said.model)
    if mode == "judge":
        return Answer(text=judged(said), model=said.model)
    if said.shell is None:
        return Answer(text="A title", model=said.model)
    calls = _odd_calls(mode, said, said.shell, earlier) or _calls(said.shell, _commands(mode, said, run))
    if not calls and mode not in ("silent", "empty") and _MINI_END in said.system + said.prompt:
        calls = _calls(said.shell, [f"echo {_MINI_END}"])
    return Answer(
        text="" if mode == "empty" else FINAL,
        calls=calls,
        reasoning=f"**Thinking** about step {said.step}" if mode == "think" else "",
        model=OTHER_MODEL if mode == "mismatch" else said.model,
    )


def _odd_calls(mode: str, said: Conversation, shell: Tool, earlier: int) -> tuple[Call, ...]:
    """Calls other than well-formed shell commands."""
    if mode == "badtool" and not _tried("no_such_tool", said):
        return (Call("no_such_tool", '{"x": 1}'),)
    if mode == "badjson" and not said.turns and earlier < 3:
        return (Call(shell.name, '{"command": not json'),)
    viewer = said.tool("view_image")
    if mode == "image" and not said.turns and viewer:
        return (Call(viewer.name, json.dumps(viewer.arguments("question_image.png"))),)
    return ()


def _commands(mode: str, said: Conversation, run: str) -> list[str]:
    """The commands of the next turn; none where the work is done."""
    if mode == "memory":
        command = search_and_submit(said)
        return [command] if command else []
    nap = f"300.{run}" if run.isdecimal() else "300"
    if mode in _ENDLESS:
        return [_ENDLESS[mode].replace("{nap}", nap)]
    if mode == "huge" and not _whole(said.prompt):
        return []
    if mode == "image":
        seen = f"pictures seen: {said.images}"
        return [] if any(turn.command for turn in said.turns) else [evidence(seen)]
    done = sum(bool(turn.command) for turn in said.turns if turn.result is not None)
    for commands in _STEPS.get(mode, _STEPS["ok"]):
        if done <= 0:
            return [command.replace("{nap}", nap) for command in commands]
        done -= len(commands)
    return []


def _whole(prompt: str) -> bool:
    """Whether the prompt is there from the instruction to the end of the question, and huge."""
    opened = re.search(r"<question (\w+)>", prompt)
    return len(prompt) > HUGE and opened is not None and f"</question {opened[1]}>" in prompt


def _tried(tool: str, said: Conversation) -> bool:
    return tool in said.prompt or any(turn.name == tool or tool in (turn.result or "") for turn in said.turns)


def _calls(shell: Tool, commands: list[str]) -> tuple[Call, ...]:
    return tuple(Call(shell.name, json.dumps(shell.arguments(command))) for command in commands)
