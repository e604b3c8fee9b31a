"""What `runbook doctor` looks at."""

import shutil
from collections.abc import Mapping

from runbook.cli.assembly import helper_copies, helper_folders
from runbook.cli.endpoints import tiny_request
from runbook.cli.failures import Mistake
from runbook.cli.home import VARIABLE, home
from runbook.complaints import of_system
from runbook.endpoint.config import EndpointConfig
from runbook.endpoint.errors import EndpointError
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.doctor import Check, docker_checks
from sandbox.protocol import MIB, Capability, SandboxError


def examine(
    base_image: str | None, endpoints: Mapping[str, EndpointConfig | None]
) -> tuple[list[Check], bool]:
    """All checks, and whether some sandbox works and every endpoint answers."""
    docker = docker_checks(helper_folders(), base_image)
    bubblewrap = _bubblewrap()
    own, git = _home(), _git()
    models = [_endpoint(role, config) for role, config in endpoints.items() if config is not None]
    usable = own.ok and git.ok and (all(check.ok for check in docker) or bubblewrap.ok)
    return [own, git, *docker, bubblewrap, *models], usable and all(check.ok for check in models)


def _endpoint(role: str, config: EndpointConfig) -> Check:
    try:
        done = tiny_request(config)
    except EndpointError as error:
        mend = "check the address, the model's name and the key; drop parameters that the provider refuses"
        return Check(role, ok=False, detail=str(error), mend=mend)
    return Check(role, ok=True, detail=f"{done.reply.model or config.model} answers in {done.seconds:.1f} s")


def _home() -> Check:
    """Where stores, copies of the helpers and locks lie; outdated copies only take room."""
    try:
        folder = home()
    except (Mistake, OSError) as error:
        said = of_system(error) if isinstance(error, OSError) else str(error)
        return Check("home", ok=False, detail=said, mend=f"set {VARIABLE}")
    outdated = len(helper_copies().stale())
    detail = f"{folder}, {shutil.disk_usage(folder).free // MIB} MiB free"
    more = (
        f"; outdated copies of the helpers: {outdated} (runbook sandbox gc removes them)" if outdated else ""
    )
    return Check("home", ok=True, detail=detail + more)


def _git() -> Check:
    found = shutil.which("git")
    if found is None:
        return Check(
            "git", ok=False, detail="not on the PATH; workspaces' histories need it", mend="install git"
        )
    return Check("git", ok=True, detail=found)


def _bubblewrap() -> Check:
    try:
        sandbox = BubblewrapSandbox()
    except SandboxError as error:
        return Check("bubblewrap", ok=False, detail=str(error), mend=error.mend)
    lacking = sorted(frozenset(Capability) - sandbox.capabilities)
    detail = f"works, without {', '.join(lacking)}" if lacking else "works, with all limits"
    return Check("bubblewrap", ok=True, detail=detail)
