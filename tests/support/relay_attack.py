"""What a hostile command behind ``httpbed link`` tries on the relay in this machine's network.

It prints the names of the attacks that succeeded, as a JSON list. Each would lead it to ports of
this machine that are not exposed.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

PTRACE_ATTACH, PTRACE_DETACH = 16, 17
PIDFD_OPEN, PIDFD_GETFD = 434, 438
"""Numbers of the system calls, which are the same on all architectures."""
LIBC = ctypes.CDLL(None, use_errno=True)


def relays() -> list[int]:
    """Return the processes that listen at the far end for this machine's ports."""
    folders = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [
        int(folder.name) for folder in folders if b"\0expose\0" in (folder / "cmdline").read_bytes()
    ]


def _call(*words: int) -> int:
    result = LIBC.syscall(*map(ctypes.c_long, words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def trace(pid: int) -> None:
    """Attach, as a debugger does before it has a program make other calls."""
    null = ctypes.c_void_p()
    if LIBC.ptrace(PTRACE_ATTACH, pid, null, null) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.waitpid(pid, 0x40000000)  # __WALL
    LIBC.ptrace(PTRACE_DETACH, pid, null, null)


def enter(pid: int) -> None:
    """Enter the relay's network."""
    with Path(f"/proc/{pid}/ns/net").open() as network:
        if LIBC.setns(network.fileno(), 0) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def take_a_socket(pid: int) -> None:
    """Copy a descriptor of the relay."""
    _call(PIDFD_GETFD, _call(PIDFD_OPEN, pid, 0), 3, 0)


def write_memory(pid: int) -> None:
    """Open its memory for writing."""
    os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))


def main() -> None:
    """Try all attacks on all relays; fail if there is none to attack."""
    attacks: list[Callable[[int], None]] = [trace, enter, take_a_socket, write_memory]
    found, successes = relays(), []
    for attack in attacks:
        for pid in found:
            try:
                attack(pid)
            except OSError:
                continue
            successes.append(attack.__name__)
    sys.stdout.write(json.dumps(successes))
    sys.exit(not found)


if __name__ == "__main__":
    main()
