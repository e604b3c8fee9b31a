"""react: a small tool loop on the openai package, run inside the sandbox like any agent CLI.

The prompt comes on standard input; events go to standard output (see events.md). It ends when evidence was
submitted, when the model answers without asking for a tool, or when the steps are used up.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import openai

SYSTEM = (
    "You work in a shell; nobody can be asked. Ask for several tools at once where none needs another's "
    "result. When the task is done, say so in one sentence without asking for a tool."
)
SECONDS, MOST_SECONDS = 120.0, 600.0  # of a command
SHOWN_BYTES, IMAGE_BYTES = 16_000, 5_000_000
TRIES = 3  # of an answer that comes broken
IMAGES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
TOOLS = {
    "bash": (
        "Run a command in a new bash in the current folder. Shows the exit code and at most 16,000 bytes of "
        "output, from its beginning and its end.",
        {
            "command": {"type": "string"},
            "timeout": {"type": "number", "description": "seconds; 120 by default"},
        },
    ),
    "view_image": (
        "See a picture (PNG, JPEG, GIF, WebP) below the current folder.",
        {"path": {"type": "string"}},
    ),
}
ARGUMENT = {"bash": "command", "view_image": "path"}
SCHEMAS: list[dict[str, Any]] = [
    {
        "name": name,
        "description": about,
        "parameters": {"type": "object", "properties": properties, "required": [ARGUMENT[name]]},
    }
    for name, (about, properties) in TOOLS.items()
]


class BrokenAnswerError(Exception):
    """The model's answer ended midway or holds nothing."""


@dataclass(frozen=True)
class Asked:
    """A tool call as the model made it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Said:
    """One answer of the model."""

    model: str
    text: str
    reasoning: str
    calls: list[Asked]
    usage: dict[str, int | None] | None


@dataclass(frozen=True)
class Result:
    """What a tool call gave; `image` is a data URL."""

    text: str
    exit_code: int | None = None
    output_bytes: int = 0
    timed_out: bool = False
    is_error: bool = False
    image: str | None = None


class Chat:
    """A conversation in Chat Completions."""

    def __init__(
        self, client: openai.OpenAI, model: str, effort: str | None, prompt: str, seed: int | None
    ) -> None:
        self.stream: Any = client.chat.completions.stream
        self.fixed: dict[str, Any] = {"model": model, "stream_options": {"include_usage": True}}
        self.fixed["tools"] = [{"type": "function", "function": schema} for schema in SCHEMAS]
        self.fixed.update({"reasoning_effort": effort} if effort else {})
        self.fixed.update({"seed": seed} if seed is not None else {})
        self.said: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]

    def ask(self) -> Said:
        """The answer to all there is so far; raises OpenAIError or BrokenAnswerError."""
        try:
            reply = self._reply()
            choice = reply.choices[0]
        except (TypeError, IndexError) as error:  # what the package makes of missing choices
            raise BrokenAnswerError("the answer has no choices") from error
        if choice.finish_reason is None:
            raise BrokenAnswerError("the stream ended before the answer did")
        message, told = choice.message, reply.usage
        calls = [Asked(one.id, one.function.name, one.function.arguments) for one in message.tool_calls or []]
        self.said.append(
            {"role": "assistant", "content": message.content or None if calls else message.content}
        )
        if calls:
            self.said[-1]["tool_calls"] = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
                for one in calls
            ]
        usage = told and _usage(
            told.prompt_tokens,
            told.prompt_tokens_details,
            told.completion_tokens,
            told.completion_tokens_details,
        )
        reasoning = getattr(message, "reasoning_content", None) or ""
        return Said(reply.model, message.content or "", reasoning, calls, usage)

    def _reply(self) -> Any:
        """Of a model that refuses seeds without one."""
        try:
            with self.stream(messages=self.said, **self.fixed) as stream:
                return stream.get_final_completion()
        except openai.BadRequestError as error:
            if "seed" not in str(error) or self.fixed.pop("seed", None) is None:
                raise
            return self._reply()

    def give(self, asked: list[Asked], results: list[Result]) -> None:
        """Add results. A tool message takes no picture, so pictures follow as the user's."""
        for call, one in zip(asked, results):  # noqa: B905 - Python 3.9
            self.said.append({"role": "tool", "tool_call_id": call.id, "content": one.text})
        pictures = [{"type": "image_url", "image_url": {"url": one.image}} for one in results if one.image]
        self.said += [{"role": "user", "content": pictures}] if pictures else []


class Responses:
    """A conversation in Responses; the provider stores nothing, reasoning travels along encrypted.

    Responses knows no seeds.
    """

    def __init__(
        self, client: openai.OpenAI, model: str, effort: str | None, prompt: str, _seed: int | None
    ) -> None:
        self.stream: Any = client.responses.stream
        self.fixed: dict[str, Any] = {"model": model, "store": False, "instructions": SYSTEM}
        self.fixed["include"] = ["reasoning.encrypted_content"]
        self.fixed["tools"] = [{"type": "function", "strict": False, **schema} for schema in SCHEMAS]
        self.fixed.update({"reasoning": {"effort": effort}} if effort else {})
        self.said: list[Any] = [{"role": "user", "content": prompt}]

    def ask(self) -> Said:
        """As Chat.ask."""
        try:
            with self.stream(input=self.said, **self.fixed) as stream:
                reply = stream.get_final_response()
            output = list(reply.output)
        except (RuntimeError, TypeError) as error:  # what the package makes of a missing end or output
            raise BrokenAnswerError("the answer has no end or no output") from error
        if not output:
            raise BrokenAnswerError("the answer has no output")
        self.said += [
            one.model_dump(exclude_none=True, exclude={"status", "parsed_arguments"}) for one in output
        ]
        calls = [Asked(one.call_id, one.name, one.arguments) for one in output if one.type == "function_call"]
        reasoning = "\n".join(part.text for one in output if one.type == "reasoning" for part in one.summary)
        told = reply.usage
        usage = told and _usage(
            told.input_tokens, told.input_tokens_details, told.output_tokens, told.output_tokens_details
        )
        return Said(reply.model, reply.output_text, reasoning, calls, usage)

    def give(self, asked: list[Asked], results: list[Result]) -> None:
        """As Chat.give."""
        for call, one in zip(asked, results):  # noqa: B905 - Python 3.9
            self.said.append({"type": "function_call_output", "call_id": call.id, "output": one.text})
        pictures = [{"type": "input_image", "image_url": one.image} for one in results if one.image]
        self.said += [{"role": "user", "content": pictures}] if pictures else []


def _usage(given: int, inputs: Any, output: int, outputs: Any) -> dict[str, int | None]:
    """Buckets that do not overlap; None where the provider does not say."""
    cached, reasoning = getattr(inputs, "cached_tokens", None), getattr(outputs, "reasoning_tokens", None)
    buckets = {"fresh_input": given - (cached or 0), "cache_read": cached, "cache_write": None}
    return {**buckets, "output": output, "reasoning": reasoning}


def use(asked: Asked) -> Result:
    """Run a tool. Never raises for what the model asked: what goes wrong is the result."""
    emit("tool_start", id=asked.id, name=asked.name, command=_command(asked))
    begun = time.monotonic()
    try:
        needed = ARGUMENT[asked.name]
        values = json.loads(asked.arguments)
        run = bash if asked.name == "bash" else view_image
        result = run(str(values[needed]), values)
    except KeyError as error:
        result = Result(f"there is no tool or argument {error}; there are {ARGUMENT}", is_error=True)
    except (OSError, ValueError, TypeError, RecursionError) as error:  # no file, no JSON, a NUL in a command
        result = Result(f"{type(error).__name__}: {error}", is_error=True)
    told = {key: value for key, value in vars(result).items() if key not in ("text", "image")}
    seconds = round(time.monotonic() - begun, 3)
    emit(
        "tool_end",
        id=asked.id,
        name=asked.name,
        command=_command(asked),
        seconds=seconds,
        output=result.text,
        **told,
    )
    return result


def _command(asked: Asked) -> str:
    """What a call is about; the raw arguments where they cannot be read."""
    try:
        return str(json.loads(asked.arguments)[ARGUMENT[asked.name]])
    except (ValueError, KeyError, TypeError, RecursionError):
        return asked.arguments


def bash(command: str, values: dict[str, Any]) -> Result:
    """Run a command in a process group of its own, which is killed at the timeout.

    Output goes to a file, not a pipe, so that a process left behind that holds stdout does not hold us.
    """
    seconds = min(float(values.get("timeout") or SECONDS), MOST_SECONDS)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        size = output.seek(0, os.SEEK_END)
        shown = _shown(output, size)
    head = f"exit code {code}" if code is not None else f"killed after {seconds:g} seconds"
    return Result(f"{head}\n{shown}", code, size, timed_out=code is None, is_error=code is None)


def _shown(output: IO[bytes], size: int) -> str:
    half = SHOWN_BYTES // 2
    output.seek(0)
    if size <= SHOWN_BYTES:
        return output.read().decode("utf-8", "replace")
    head, tail = output.read(half), os.pread(output.fileno(), half, size - half)
    left_out = f"\n[... {size - 2 * half:,} bytes left out ...]\n"
    return head.decode("utf-8", "replace") + left_out + tail.decode("utf-8", "replace")


def view_image(path: str, _values: dict[str, Any]) -> Result:
    """A picture below the current folder, as a data URL."""
    file = Path(path).resolve(strict=True)
    if not (file.is_relative_to(Path.cwd()) and file.is_file() and file.stat().st_size <= IMAGE_BYTES):
        raise ValueError(f"{path} is no file of at most {IMAGE_BYTES:,} bytes below the current folder")
    data = file.read_bytes()
    kind = next((kind for magic, kind in IMAGES.items() if data.startswith(magic)), None)
    if kind is None:
        raise ValueError(f"{path} is no PNG, JPEG, GIF or WebP")
    url = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return Result(f"{path} is shown below", output_bytes=len(data), image=url)


def emit(event: str, **values: Any) -> None:
    """Print one event."""
    print(json.dumps({"type": event, "at": time.time(), **values}), flush=True)


def ask(talk: Chat | Responses, step: int) -> Said:
    """One answer; a broken one is asked for again."""
    for left in reversed(range(TRIES)):
        begun = time.monotonic()
        try:
            said = talk.ask()
        except (BrokenAnswerError, openai.APIConnectionError):  # the package retries a connection, no stream
            if left:
                continue
            raise
        told = {**vars(said), "calls": [call.id for call in said.calls]}
        emit("model", id=str(step), seconds=round(time.monotonic() - begun, 3), **told)
        return said
    raise AssertionError("unreachable: the last try returns or raises")


def work(talk: Chat | Responses, max_steps: int) -> tuple[str, int]:
    """The loop; why it ended and after how many steps."""
    for step in range(1, max_steps + 1):
        try:
            said = ask(talk, step)
        except (openai.OpenAIError, BrokenAnswerError) as error:
            status = getattr(error, "status_code", None)
            emit("error", message=str(error), status=status, kind=type(error).__name__)
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return "error", step
        if not said.calls:
            emit("message", text=said.text)
            return "message", step
        with ThreadPoolExecutor() as pool:
            results = list(pool.map(use, said.calls))
        if Path(".submitted").exists():
            return "submitted", step
        talk.give(said.calls, results)
    emit("error", message=f"{max_steps} steps are used up", status=None, kind="steps")
    return "steps", max_steps


def main() -> int:
    """Run; 0 when evidence was submitted or the model ended by itself."""
    parser = argparse.ArgumentParser("react", description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--wire", choices=("chat", "responses"), default="chat")
    parser.add_argument("--effort", help="reasoning effort, as the provider calls it")
    parser.add_argument("--seed", type=int, help="of the model's chance, where it takes one")
    parser.add_argument("--max-steps", type=int, default=60)
    options = parser.parse_args()
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    client = openai.OpenAI(timeout=1800.0)
    wire = f"openai-{options.wire}"
    begun, told = time.monotonic(), {**vars(options), "wire": wire}
    emit("start", tools=list(TOOLS), **told)
    conversation = Chat if options.wire == "chat" else Responses
    talk = conversation(client, options.model, options.effort, prompt, options.seed)
    reason, steps = work(talk, options.max_steps)
    emit("end", reason=reason, steps=steps, seconds=round(time.monotonic() - begun, 3))
    return 0 if reason in ("submitted", "message") else 1


if __name__ == "__main__":
    sys.exit(main())
