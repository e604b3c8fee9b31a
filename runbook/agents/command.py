"""command: any command line of the user's, run in the sandbox like any agent CLI."""

import shlex

from runbook.agents.arguments import check_command
from runbook.agents.model_free import ModelFree
from runbook.agents.protocol import Invocation, Surroundings

PLACEHOLDERS = ("{prompt}", "{workspace}", "{python}", "{helpers}")


class CommandAgent(ModelFree):
    """Runs a user's command.

    The words of the command may contain {prompt}, {workspace}, {python} and {helpers}. Where {prompt} does
    not occur, the prompt is given on standard input (one argument holds at most 128 KiB on Linux).
    """

    name = "command"
    trusted = False
    reads_prompt = True

    def __init__(self, command: str) -> None:
        """Split `command` as a POSIX shell would; no shell runs it.

        Raises:
            ValueError: the command is empty or its quotes do not match.
        """
        self.words = shlex.split(command)
        if not self.words:
            raise ValueError("the agent command is empty")

    def invocation(self, surroundings: Surroundings) -> Invocation:
        """Fill in the placeholders.

        Raises:
            SandboxError: the prompt cannot be an argument; every other prompt of the run may fit.
        """
        values = {
            "{prompt}": surroundings.prompt,
            "{workspace}": surroundings.workspace,
            "{python}": surroundings.python,
            "{helpers}": surroundings.helpers,
        }
        takes_prompt = any("{prompt}" in word for word in self.words)
        argv = tuple(_fill(word, values) for word in self.words)
        check_command(
            argv,
            {},
            mend="leave {prompt} out of --agent-command: the prompt then comes on standard input",
        )
        return Invocation(
            argv=argv, stdin=b"" if takes_prompt else surroundings.prompt.encode("utf-8", "replace")
        )


def _fill(word: str, values: dict[str, str]) -> str:
    """Replace placeholders from left to right, never inside a value that was just put in."""
    filled, rest = "", word
    while rest:
        name = next((name for name in PLACEHOLDERS if rest.startswith(name)), None)
        filled += values[name] if name else rest[0]
        rest = rest[len(name) if name else 1 :]
    return filled
