"""scout: the model-free agent shipped with the helpers. The floor that every other agent must beat."""

from runbook.agents.model_free import ModelFree
from runbook.agents.protocol import Invocation, Surroundings


class ScoutAgent(ModelFree):
    """Runs `helpers/scout` with the sandbox's Python; needs no model and no network."""

    name = "scout"
    trusted = True
    reads_prompt = False

    def invocation(self, surroundings: Surroundings) -> Invocation:
        """Scout reads question.json in the workspace, so it needs no prompt."""
        return Invocation(
            argv=(surroundings.python, "-I", "-S", "-B", f"{surroundings.helpers}/scout/__main__.py"),
            env={"MEMORY_WORKSPACE": surroundings.workspace, "SCOUT_BUDGET": str(surroundings.budget)},
        )
