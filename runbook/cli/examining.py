"""What `runbook doctor` looks at."""

from runbook.cli.assembly import helper_folders
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.doctor import Check, docker_checks
from sandbox.protocol import Capability, SandboxError


def examine(base_image: str | None) -> tuple[list[Check], bool]:
    """All checks, and whether some sandbox works."""
    docker = docker_checks(helper_folders(), base_image)
    bubblewrap = _bubblewrap()
    return [*docker, bubblewrap], all(check.ok for check in docker) or bubblewrap.ok


def _bubblewrap() -> Check:
    try:
        sandbox = BubblewrapSandbox()
    except SandboxError as error:
        return Check("bubblewrap", ok=False, detail=str(error), mend=error.mend)
    lacking = sorted(frozenset(Capability) - sandbox.capabilities)
    detail = f"works, without {', '.join(lacking)}" if lacking else "works, with all limits"
    return Check("bubblewrap", ok=True, detail=detail)
