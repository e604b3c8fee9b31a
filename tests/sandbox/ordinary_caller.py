"""A program for an ordinary user: uses bubblewrap sandboxes in FOLDER and prints what it saw as JSON."""

import dataclasses
import json
import os
import sys
from pathlib import Path

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.bubblewrap_host import Host
from sandbox.init import descendants
from sandbox.protocol import Capability, Limits, Mount, RunningSandbox, SandboxSpec

LIMITS = Limits(wall_seconds=600, pids=64, workspace_bytes=8 << 20)
FORKING = """
import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made)
"""


def ask(running: RunningSandbox, *argv: str) -> str:
    return b"".join(chunk.data for chunk in running.exec(argv)).decode().strip()


def look(host: Host, folder: Path) -> dict[str, object]:
    workspace, haystack = folder / "workspace", folder / "view"
    workspace.mkdir(parents=True)
    haystack.mkdir()
    (haystack / "a.txt").write_text("hello")
    backend = BubblewrapSandbox(host)
    spec = SandboxSpec(workspace, LIMITS, mounts=(Mount(haystack, "haystack"),))
    running = backend.start(spec)
    status = "sed -n 's/^CapEff:\\t//p' /proc/self/status"
    seen: dict[str, object] = {
        "limits": Capability.LIMITS in backend.capabilities,
        "counts_by_namespace": host.limits_processes,
        "user": ask(running, "sh", "-c", "echo $(id -u):$(id -g)"),
        "root_writable": ask(
            running, "sh", "-c", "for d in / /usr /etc /run /dev; do (: >$d/x) && echo $d; done 2>&-"
        ),
        "haystack_writable": ask(running, "sh", "-c", "(: >haystack/x) 2>&- && echo yes"),
        "host_visible": ask(running, "sh", "-c", f"ls -d {folder} /root /home/[!a]* 2>&-"),
        "network": ask(running, "ls", "/proc/sys/net/ipv4/neigh").replace("default", "").strip(),
        "capabilities": ask(running, "sh", "-c", status),
    }
    ask(running, "sh", "-c", "echo made >made; mkdir closed; echo x >closed/x; chmod 0 closed")
    seen["deadline"] = running.exec(["sh", "-c", "setsid sleep 600 & sleep 600"], timeout=0.5).result().ending
    running.collect()
    seen["left_alive"] = len(descendants(os.getpid()))
    seen["owner_of_made_file"] = (workspace / "made").stat().st_uid
    seen["closed_folder_is_readable_afterwards"] = (workspace / "closed" / "x").read_text() == "x\n"
    running = backend.start(spec)
    flood = "exec 3>gone; rm gone; head -c 16777216 /dev/zero >&3; sleep 600"
    seen["flood_by_deleted_file"] = running.exec(["sh", "-c", flood], timeout=60).result().ending
    running.collect()
    running = backend.start(spec)
    seen["processes"] = int(ask(running, backend.python, "-c", FORKING))
    running.collect()
    return seen


def main(folder: Path) -> None:
    host = Host.find()
    old = dataclasses.replace(host, options=frozenset())
    print(json.dumps({"all": look(host, folder / "all"), "few": look(old, folder / "few")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
