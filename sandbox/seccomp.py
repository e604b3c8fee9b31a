"""A filter of system calls that no command of an agent needs and that reach far into the kernel.

What is denied is what container engines deny by default too: new namespaces (an agent's own sandbox inside
ours included), kernel keys, BPF, io_uring, performance events and user faults.
"""

import errno
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass

# Opcodes of classic BPF.
LOAD_WORD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
# Offsets in struct seccomp_data; the low half of an argument comes first on both machines.
CALL, MACHINE, FIRST_ARGUMENT = 0, 4, 16
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
NAMESPACE_FLAGS = 0x7E020000
X32_CALLS = 0x40000000


@dataclass(frozen=True, slots=True)
class _Machine:
    audit_name: int
    denied: tuple[int, ...]
    by_namespace_flags: tuple[int, ...]


# setns, add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, io_uring_{setup,enter,register}
_MACHINES = {
    "x86_64": _Machine(0xC000003E, (308, 248, 249, 250, 321, 298, 323, 425, 426, 427), (56, 272)),
    "aarch64": _Machine(0xC00000B7, (268, 217, 218, 219, 280, 241, 282, 425, 426, 427), (220, 97)),
}
# Its flags lie in memory, where no filter can look; C libraries fall back to clone.
CLONE3 = 435


def filter_program(machine: str | None = None) -> bytes:
    """The filter as the kernel takes it, b"" where there is none for `machine` (default: this one)."""
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return b""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in _instructions(known))


def _instructions(machine: _Machine) -> Iterator[tuple[int, int, int, int]]:
    """(opcode, jump if true, jump if false, operand) each."""
    yield LOAD_WORD, 0, 0, MACHINE
    yield JUMP_EQUAL, 1, 0, machine.audit_name
    yield RETURN, 0, 0, FAIL | errno.EPERM
    yield LOAD_WORD, 0, 0, CALL
    yield JUMP_SET, 0, 1, X32_CALLS
    yield RETURN, 0, 0, FAIL | errno.EPERM
    yield JUMP_EQUAL, 0, 1, CLONE3
    yield RETURN, 0, 0, FAIL | errno.ENOSYS
    for call in machine.denied:
        yield JUMP_EQUAL, 0, 1, call
        yield RETURN, 0, 0, FAIL | errno.EPERM
    for call in machine.by_namespace_flags:
        yield JUMP_EQUAL, 0, 4, call
        yield LOAD_WORD, 0, 0, FIRST_ARGUMENT
        yield JUMP_SET, 0, 1, NAMESPACE_FLAGS
        yield RETURN, 0, 0, FAIL | errno.EPERM
        yield RETURN, 0, 0, ALLOW
    yield RETURN, 0, 0, ALLOW
