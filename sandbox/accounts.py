"""Who the processes inside are: the caller, or an ordinary user where the caller is root."""

import os
from dataclasses import dataclass
from pathlib import Path

HOME = "/home/agent"
ORDINARY = 1000


@dataclass(frozen=True, slots=True)
class Account:
    """A user and group id, as seen inside; `owner_uid`/`owner_gid` is the same user as seen on the host."""

    uid: int
    gid: int

    @classmethod
    def of_caller(cls) -> "Account":
        """The caller's ids, or 1000:1000 for root: agents refuse to run as root, and root is too much."""
        uid, gid = os.geteuid(), os.getegid()
        return cls(ORDINARY, ORDINARY) if uid == 0 else cls(uid, gid)

    @property
    def passwd(self) -> str:
        """The whole /etc/passwd: root and the agent (some CLIs refuse a user without a name)."""
        lines = ["root:x:0:0:root:/root:/bin/sh"]
        if self.uid != 0:
            lines.append(f"agent:x:{self.uid}:{self.gid}:agent:{HOME}:/bin/sh")
        return "\n".join(lines) + "\n"

    @property
    def group(self) -> str:
        """The whole /etc/group."""
        lines = ["root:x:0:"]
        if self.gid != 0:
            lines.append(f"agent:x:{self.gid}:")
        return "\n".join(lines) + "\n"


def write_account_files(account: Account, folder: Path) -> tuple[Path, Path]:
    """Write `passwd` and `group` into `folder`, readable by all; to be mounted over those in /etc."""
    passwd, group = folder / "passwd", folder / "group"
    for path, text in ((passwd, account.passwd), (group, account.group)):
        path.write_text(text, encoding="ascii")
        path.chmod(0o644)
    return passwd, group
