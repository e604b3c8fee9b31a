"""What is to be seen inside a bubblewrap sandbox, as arguments of bwrap; the order is that of the mounts."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sandbox.accounts import HOME, ORDINARY, Account
from sandbox.bubblewrap_host import Host
from sandbox.protocol import Mount, SandboxSpec

WORKSPACE = "/workspace"
SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
)
SCRATCH_FOLDERS = ("/dev/shm", "/tmp", HOME)
GENERATED_FILES = {
    "/etc/passwd": Account(ORDINARY, ORDINARY).passwd,
    "/etc/group": Account(ORDINARY, ORDINARY).group,
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# What init needs to become somebody else, and to give up the rest.
KEPT_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


def inside(mount: Mount) -> str:
    """Where a mount is seen."""
    return str(PurePosixPath(WORKSPACE, mount.target))


def namespace_arguments(host: Host) -> list[str]:
    """Namespaces, user and capabilities; where we are root, init itself becomes an ordinary user."""
    common = [
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        "--hostname",
        "sandbox",
        "--cap-drop",
        "ALL",
    ]
    if host.lends:
        spaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        return [*spaces, *common, *_each("--cap-add", KEPT_CAPABILITIES)]
    nested = ["--disable-userns"] if "--disable-userns" in host.options else []
    return [
        "--unshare-all",
        "--unshare-user",
        *nested,
        "--uid",
        f"{ORDINARY}",
        "--gid",
        f"{ORDINARY}",
        *common,
    ]


def root_arguments(host: Host, spec: SandboxSpec) -> list[str]:
    """The whole file system but for generated files: system, devices, scratch, workspace, mounts."""
    arguments = _read_only("/usr", "/usr")
    for folder in map(Path, SYSTEM_FOLDERS):
        if folder.is_symlink():
            arguments += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            arguments += _read_only(str(folder), str(folder))
    for name in SYSTEM_FILES:
        if Path(name).exists():
            arguments += _read_only(name, name)
    if host.interpreter.prefix is not None:
        arguments += _read_only(str(host.interpreter.prefix), str(host.interpreter.prefix))
    arguments += [
        "--dir",
        "/run",
        "--dir",
        "/var/tmp",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--remount-ro",
        "/dev",
    ]
    for name in SCRATCH_FOLDERS:
        arguments += [*_parents(name), *_scratch(host, spec), "--tmpfs", name]
    arguments += ["--bind", str(spec.workspace.absolute()), WORKSPACE]
    for mount in spec.mounts:
        arguments += _read_only(str(mount.source.absolute()), inside(mount))
    return arguments


def file_arguments(host: Host, descriptors: dict[str, int]) -> list[str]:
    """Files by name with the contents that the descriptors give; then the root is closed for writing."""
    mode = ["--perms", "0644"] if "--perms" in host.options else []
    arguments = []
    for name, descriptor in descriptors.items():
        arguments += [*_parents(name), *mode, "--file", str(descriptor), name]
    return [*arguments, "--remount-ro", "/"]


def _read_only(source: str, target: str) -> list[str]:
    return [*_parents(target), "--ro-bind", source, target]


def _scratch(host: Host, spec: SandboxSpec) -> list[str]:
    """Options of a folder in memory that everybody may write."""
    size = ["--size", str(spec.limits.tmpfs_bytes)] if "--size" in host.options else []
    return [*size, "--perms", "1777"] if "--perms" in host.options else size


def _parents(path: str) -> list[str]:
    """Make the folders above `path`; those that bwrap makes by itself are closed to others."""
    above = [str(parent) for parent in reversed(PurePosixPath(path).parents)][1:]
    return list(_each("--dir", above))


def _each(option: str, values: list[str] | tuple[str, ...]) -> Iterator[str]:
    for value in values:
        yield from (option, value)
