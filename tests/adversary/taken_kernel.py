"""Attacks of a kernel that a program of its guest has taken over: it runs in the kernel's place.

Each way is a line ``{"way": ..., "succeeded": ..., "said": ...}``. One that succeeds harms nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
CALLS: dict[str, tuple[Any, ...]] = {
    "ptrace": (101, 16, 1, 0, 0),
    "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0),
    "umount2": (166, b"/trial", 2),
    "pivot_root": (155, b"/", b"/tmp"),
    "chroot": (161, b"/tmp"),
    "unshare user": (272, 0x10000000),
    "unshare network": (272, 0x40000000),
    "clone user": (56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
    "setns": (308, 0, 0),
    "open_tree": (428, -100, b"/", 1),
    "fsopen": (430, b"tmpfs", 0),
    "move_mount": (429, -100, b"/tmp", -100, b"/run", 0),
    "mount_setattr": (442, -100, b"/seen", 0, 0, 32),
    "keyctl": (250, 1, 0),
    "add_key": (248, b"user", b"a", b"b", 1, -3),
    "bpf": (321, 0, 0, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0),
    "userfaultfd": (323, 0),
    "io_uring_setup": (425, 8, 0),
    "open_by_handle_at": (304, -100, 0, 0),
    "pidfd_open": (434, 1, 0),
    "pidfd_getfd": (438, 0, 0, 0),
    "kcmp": (312, 1, 1, 0, 0, 0),
    "prlimit of another": (302, 1, 7, 0, 0),
    "clone3": (435, 0, 0),
    "setuid": (105, 65533),
    "reboot": (169, 0xFEE1DEAD, 672274793, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "x32 getpid": (0x40000000 + 39,),
}
SECRET = "@SECRET@"  # noqa: S105 - a path
"""A folder of this machine; the test fills it in."""
FAMILIES = {"UNIX": 1, "IPv4": 2, "IPv6": 10, "netlink": 16, "packet": 17, "vsock": 40}


def call(number: int, *words: object) -> object:
    """Make a system call; raise its error."""
    result = LIBC.syscall(number, *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def written(path: str) -> Callable[[], object]:
    """Return an attack that opens a file to write, or makes it."""
    return lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))


def ways(secret: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every way; ``secret`` is a folder of this machine that the guest has no use for."""
    for name, words in CALLS.items():
        yield name, partial(call, *words)
    for name, family in FAMILIES.items():
        yield f"socket {name}", partial(socket.socket, family, socket.SOCK_DGRAM)
    yield "pair of netlink sockets", lambda: socket.socketpair(16, 3)
    for path in ("/etc/shadow", "/root", "/home", "/seen/etc/shadow", "/seen/root", "/seen/home"):
        yield f"read {path}", partial(os.stat, path)
    for top in ("", "/seen", "/proc/1/root"):
        yield f"read {top} secret", partial(os.listdir, f"{top}{secret}")
    for path in ("/seen/usr/bin/env", "/seen/usr/own", "/seen/httpbed/init", "/kernel", "/dev/own"):
        yield f"write {path}", written(path)
    yield "write a setting", written("/proc/sys/kernel/core_pattern")
    yield "memory of the first process", lambda: os.open("/proc/1/mem", os.O_RDWR)
    yield "environment of the first process", lambda: Path("/proc/1/environ").read_bytes()
    yield "other processes", others
    yield "a capability", capability
    yield "setuid file", setuid
    yield "device", device


def others() -> str:
    """Find a process that is neither the part's first one nor this one."""
    found = {entry for entry in os.listdir("/proc") if entry.isdigit()}
    if not found - {"1", str(os.getpid())}:
        raise PermissionError("none is visible")
    return str(found)


def capability() -> str:
    """Find a capability, or a right that new programs could gain."""
    status = Path("/proc/self/status").read_text().splitlines()
    words = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    held = {name: words[name] for name in words if name.startswith("Cap") and int(words[name], 16)}
    if not held and words["NoNewPrivs"] == "1" and words["Seccomp"] == "2":
        raise PermissionError("none")
    return str(held)


def setuid() -> None:
    """Leave a file that runs as its owner."""
    written("/trial/left/file")()
    Path("/trial/left/file").chmod(0o4755)


def device() -> int:
    """Make a device, and open it."""
    os.mknod("/trial/left/device", 0o020666, os.makedev(1, 1))
    return os.open("/trial/left/device", os.O_RDWR)


def main() -> None:
    """Try every way."""
    for way, attack in ways(SECRET):
        try:
            said, succeeded = str(attack()), True
        except OSError as error:
            said, succeeded = str(error), False
        print(json.dumps({"way": way, "succeeded": succeeded, "said": said}), flush=True)
    Path("/trial/left/device").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
