"""What Linux can pass on to a program that it starts."""

from collections.abc import Mapping, Sequence

from sandbox.protocol import SandboxError

LONGEST_ARGUMENT = 128 * 1024 - 1  # bytes; Linux counts the NUL at the end, too
LONGEST_COMMAND = 1536 * 1024  # bytes of all arguments and variables; Linux allows a quarter of the stack
_POINTER = 8


def check_command(argv: Sequence[str], env: Mapping[str, str], *, mend: str) -> None:
    """Refuse a command that cannot be started whatever program it names.

    Raises:
        SandboxError: one of its texts, or all of them together, cannot be passed on; every other prompt of
            the run may fit.
    """
    texts = [("an argument", word) for word in argv]
    texts += [(f"the variable {name}", f"{name}={value}") for name, value in env.items()]
    why = next((f"{what} {wrong}" for what, text in texts if (wrong := _wrong(text))), "")
    together = sum(_size(text) + 1 + _POINTER for _, text in texts)
    if not why and together > LONGEST_COMMAND:
        why = f"its arguments have {together:,} bytes together, more than {LONGEST_COMMAND:,}"
    if why:
        raise SandboxError(
            f"the agent's command cannot be started: {why}, which Linux does not allow", mend=mend
        )


def _wrong(text: str) -> str:
    if "\0" in text:
        return "holds a NUL character"
    if (size := _size(text)) > LONGEST_ARGUMENT:
        return f"has {size:,} bytes, more than {LONGEST_ARGUMENT:,}"
    return ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
