"""An agent CLI as the controller sees it: an adapter, its tool chain, a model and an effort."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from runbook.agents.adapter import PROMPT_FILE
from runbook.agents.arguments import check_command
from runbook.agents.catalogue import FoundAdapter
from runbook.agents.errors import AdapterError, InstallError
from runbook.agents.installing import probe
from runbook.agents.protocol import Invocation, Surroundings
from runbook.agents.target import ARCHITECTURES, TOOLS, Target
from runbook.agents.templates import Values, fill_texts, fill_words
from runbook.agents.tool_chain import TOOLS_FOLDER, ToolChain, find_installed, recipe_digest
from runbook.gateway.records import Wire
from sandbox.protocol import Mount, Sandbox

LONG_PROMPT = (
    "let the adapter use {prompt_file} in place of {prompt}, or neither: the prompt then comes on stdin"
)


@dataclass(frozen=True, slots=True)
class AdapterAgent:
    """An installed agent CLI that asks one model."""

    found: FoundAdapter
    model: str
    effort: str
    """As the user said it; "" for the CLI's own default."""
    chains: tuple[tuple[Path, ToolChain], ...]
    """Its tool chains, one for each platform; `fitted` leaves the one that is used."""

    @property
    def trusted(self) -> bool:
        return False

    @property
    def reads_prompt(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return self.found.adapter.name

    @property
    def version(self) -> str:
        return self._chain[1].version

    @property
    def digest(self) -> str:
        """Of all that the adapter says and brings, and of the version: what decides how the agent runs."""
        said = f"{self.found.adapter.model_dump_json()} {recipe_digest(self.found, self.version)}"
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def wire(self) -> Wire | None:
        return self.found.adapter.wire

    @property
    def stream(self) -> str:
        return self.found.adapter.stream

    @property
    def sees_images(self) -> bool:
        return bool(self.found.adapter.images)

    @property
    def image_note(self) -> str:
        """What the record of an attempt says where the question has an image that the agent cannot see."""
        lost = f"agent {self.name} cannot see images: the question's image was not shown to it"
        return "" if self.sees_images else lost

    @property
    def _chain(self) -> tuple[Path, ToolChain]:
        return self.chains[-1]

    def fitted(self, sandbox: Sandbox) -> "AdapterAgent":
        """The agent with the tool chain that runs in that sandbox, tried out there.

        Raises:
            AdapterError: none of its tool chains is for the sandbox's platform, or it does not run there.
            SandboxError: the sandbox cannot be started.
        """
        target = Target.inside(sandbox)
        fitting = [one for one in self.chains if one[1].fits(target)]
        mend = f"runbook agents install {self.found.asked}=={self.version} --sandbox {sandbox.name}"
        if not fitting:
            there = f"Python {target.python_version} on {target.machine}"
            raise AdapterError(
                f"{self.name} is not installed for the {sandbox.name} sandbox ({there}): {mend}"
            )
        folder, chain = fitting[-1]
        try:
            probe(self.found, chain.version, sandbox, folder / TOOLS_FOLDER, target)
        except InstallError as error:
            raise AdapterError(f"{error}; mend: runbook agents uninstall {self.name}, then {mend}") from None
        return replace(self, chains=(fitting[-1],))

    def invocation(self, surroundings: Surroundings) -> Invocation:
        """The command line, environment and files that the adapter describes.

        Raises:
            SandboxError: the prompt, or another value, cannot be an argument.
        """
        adapter = self.found.adapter
        folder, chain = self._chain
        prompt = surroundings.prompt.encode("utf-8", "replace").decode()
        if adapter.images:
            prompt += f"\n\nTo look at a picture: {adapter.images}\n"
        values: Values = {
            "workspace": surroundings.workspace,
            "python": surroundings.python,
            "helpers": surroundings.helpers,
            "tools": surroundings.tools,
            "home": surroundings.home,
            "arch": ARCHITECTURES[chain.machine],
            "machine": chain.machine,
            "version": chain.version,
            "model": self.model,
            "effort": adapter.efforts[self.effort] if self.effort else None,
            "base_url": surroundings.base_url,
            "prompt": prompt,
            "prompt_file": f"{surroundings.home}/{PROMPT_FILE}",
            "image": surroundings.image or None if adapter.images else None,
            "seed": surroundings.seed,
        }
        files = fill_texts(adapter.home, values)
        if adapter.uses("prompt_file"):
            files[PROMPT_FILE] = prompt
        argv, env = fill_words(adapter.argv, values), fill_texts(adapter.env, values)
        check_command(argv, env, mend=LONG_PROMPT)
        return Invocation(
            argv=argv,
            stdin=b"" if adapter.uses("prompt", "prompt_file") else prompt.encode(),
            env=env,
            mounts=(Mount(folder / TOOLS_FOLDER, TOOLS),),
            home_files=files,
            notes=(self.image_note,) if surroundings.image and not self.sees_images else (),
        )


def adapter_agent(found: FoundAdapter, *, model: str, effort: str, version: str, root: Path) -> AdapterAgent:
    """The agent of an adapter, if it is installed below `root`.

    Raises:
        AdapterError: it is not, or model or effort are missing or not known to it.
    """
    adapter = found.adapter
    if not model:
        raise AdapterError(f"agent {adapter.name} needs a model: name one with --model")
    if "\0" in model or any("\ud800" <= mark <= "\udfff" for mark in model):
        raise AdapterError(f"the model {model!r} is no text that a program can be given")
    if effort and effort not in adapter.efforts:
        known = ", ".join(adapter.efforts) or "none"
        raise AdapterError(f"agent {adapter.name} knows no effort {effort!r}; it knows: {known}")
    version = version or adapter.install.version
    chains = find_installed(root, found, version)
    if not chains:
        raise AdapterError(
            f"agent {adapter.name} {version} is not installed: "
            f"runbook agents install {found.asked}=={version}"
        )
    return AdapterAgent(found, model, effort, tuple(chains))
