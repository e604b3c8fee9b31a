"""external: whoever picks up the workspace; there is no command to run."""

from runbook.agents.model_free import ModelFree
from runbook.agents.protocol import Invocation, Surroundings


class ExternalAgent(ModelFree):
    """A person, an IDE or a remote agent. Works where the workspace lies, without a sandbox."""

    name = "external"
    trusted = True
    reads_prompt = True

    def invocation(self, surroundings: Surroundings) -> Invocation:  # noqa: ARG002 - nothing is run
        """No command: the venue waits for the evidence."""
        return Invocation(argv=())
