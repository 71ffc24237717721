"""Descendants of a process, their namespaces, and the state of this machine."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


@dataclass(frozen=True)
class ProcessEntry:
    """A living process."""

    pid: int
    parent: int
    name: str


def descendants(ancestor: int) -> list[ProcessEntry]:
    """List the living descendants of a process, without zombies."""
    children: dict[int, list[ProcessEntry]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found = list(children.get(ancestor, []))
    for process in found:  # grows while it is walked
        found += children.get(process.pid, [])
    return found


def _processes() -> Iterator[ProcessEntry]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - polled, and listdir is the quickest
        if not entry.isdigit():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        name, (state, parent) = stat[stat.index("(") + 1 : stat.rindex(")")], _after(stat)
        if state not in "ZX":
            yield ProcessEntry(int(entry), parent, name)


def _after(stat: str) -> tuple[str, int]:
    state, parent = stat[stat.rindex(")") + 2 :].split()[:2]
    return state, int(parent)


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Make orphaned descendants children of this process, so that all can be found."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def namespaces(pid: int) -> frozenset[str]:
    """Return the namespaces of a process, such as ``net:[4026531840]``; empty if it is gone."""
    try:
        return frozenset(str(Path(f"/proc/{pid}/ns/{name}").readlink()) for name in NAMESPACES)
    except OSError:
        return frozenset()


def holders(of: frozenset[str]) -> dict[str, list[str]]:
    """Return the other processes that hold one of these namespaces, or have it open."""
    found: dict[str, list[str]] = {}
    for process in _processes():
        if process.pid == os.getpid():
            continue
        places = [f"/proc/{process.pid}/ns/{name}" for name in NAMESPACES]
        with contextlib.suppress(OSError):
            places += [
                f"/proc/{process.pid}/fd/{fd}"
                for fd in os.listdir(f"/proc/{process.pid}/fd")  # noqa: PTH208
            ]
        for place in places:
            with contextlib.suppress(OSError):
                target = str(Path(place).readlink())
                if target in of:
                    found.setdefault(target, []).append(f"{place} ({process.name})")
    return found


@dataclass(frozen=True)
class Host:
    """The state of this machine that a trial must not change."""

    interfaces: frozenset[str]
    mounts: tuple[str, ...]
    routes: str
    own: frozenset[str]
    """The namespaces of this process."""


def host() -> Host:
    """Return the state of this machine."""
    return Host(
        interfaces=frozenset(path.name for path in Path("/sys/class/net").iterdir()),
        mounts=tuple(sorted(Path("/proc/self/mountinfo").read_text().splitlines())),
        routes=Path("/proc/net/route").read_text(),
        own=namespaces(os.getpid()),
    )


def sysctls() -> dict[str, str]:
    """Read the kernel's settings, except counters and clocks."""
    counting = ("random/", "ns_last_pid", "pty/nr", "nf_conntrack_count", "sched_domain", "flush")
    found = {}
    for part in ("net", "kernel", "user", "vm"):
        for path in Path("/proc/sys", part).rglob("*"):
            if not any(word in str(path) for word in counting):
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    found[str(path)] = path.read_text()
    return found
