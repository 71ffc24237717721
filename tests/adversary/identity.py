"""What a program can read of where it is: it could behave well at a repeated attempt only."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

FILES = (
    *("mountinfo", "mounts", "mountstats", "environ", "cgroup", "uid_map", "gid_map", "loginuid"),
    *("sessionid", "attr/current", "limits", "oom_score_adj", "personality", "autogroup"),
)
PLACES = ("/", "/tmp", "/run", "/dev/shm", "/trial", "/etc/hosts", "/certificates", "/content", ".")


def identity() -> None:
    """Write all that may tell one attempt from another."""
    seen = {f"/proc/self/{name}": text(Path("/proc/self") / name) for name in FILES}
    seen |= {path: text(Path(path)) for path in ("/etc/passwd", "/etc/hosts", "/etc/hostname")}
    seen |= {f"times of {place}": times(place) for place in PLACES}
    seen["host"] = " ".join([socket.gethostname(), *os.uname()[:2], socket.getfqdn()])
    seen["user"] = f"{os.getresuid()} {os.getresgid()} {os.getgroups()}"
    seen["process"] = f"{os.getpid()} {os.getppid()} {os.getpgrp()} {os.getsid(0)} {os.getcwd()}"
    seen["processes"] = " ".join(sorted(name for name in os.listdir("/proc") if name.isdigit()))
    seen["descriptors"] = " ".join(sorted(targets()))
    seen["arguments"] = text(Path("/proc/self/cmdline"))
    Path("seen.json").write_text(json.dumps(seen, indent=1) + "\n")


def text(file: Path) -> str:
    """Read a file; an error is seen, too."""
    try:
        return file.read_text(errors="replace")
    except OSError as error:
        return str(error)


def times(place: str) -> str:
    """Return what the kernel tells about a file, without its numbers of devices and inodes."""
    try:
        about = os.stat(place)
    except OSError as error:
        return str(error)
    return f"{about.st_mode:o} {about.st_uid} {about.st_gid} {about.st_nlink} {about.st_mtime_ns}"


def targets() -> list[str]:
    """Return what the open descriptors lead to."""
    return [os.readlink(f"/proc/self/fd/{name}") for name in ("0", "1", "2")]


IDENTITY: dict[str, Callable[[], None]] = {"identity": identity}
