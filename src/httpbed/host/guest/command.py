"""The command that boots a guest, and the first program in it.

The kernel hashes its command line into its first entropy. So the words that it sees depend on the
trial alone: the folder that host and guest share has the same path in every guest.

The guest's processes live in namespaces of their own:

* user: an ordinary user may make the others, and this user's files belong to root in the guest;
* mount: a memory file system from which programs may run, and in it the shared folder;
* PID: when its first process ends, for whatever reason, the host's kernel kills all others.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.clock import GUEST_STARTS

SHARED = Path("/dev/shm/httpbed")  # noqa: S108 - in a mount namespace of its own
"""The shared folder, as seen by the guest's kernel and by its processes."""
INIT = "init"
"""Name in the shared folder of the first program."""
SEED = "UML_SEED"
"""Environment variable of the kernel: the seed of all its randomness."""

_ENTER = f"""
ulimit -c 0
mount -t tmpfs -o mode=755 tmpfs /dev/shm && mkdir {SHARED} && mount --bind "$1" {SHARED} || exit
shift
"$@" </dev/null
exit $?"""
"""Shell commands in the namespaces. The shell stays their first process: a kernel that panics sends
signals, which a first process does not get."""


@dataclass(frozen=True)
class Guest:
    """A guest to boot."""

    kernel: Path
    shared: Path
    """The folder that it shares with this machine; contains :data:`INIT`."""
    seed: int
    memory_bytes: int
    cpu: int
    """The processor that it runs on: between several, its processes would only move."""

    def argv(self) -> list[str]:
        """Return the command that runs the guest until it powers off."""
        return [
            *("setpriv", "--pdeathsig", "KILL"),
            *("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"),
            *("--kill-child", "sh", "-c", _ENTER, "sh", str(self.shared)),
            *("taskset", "--cpu-list", str(self.cpu), "setarch", "--addr-no-randomize"),
            *(str(self.kernel), *self.kernel_words()),
        ]

    def kernel_words(self) -> list[str]:
        """Return the kernel's command line."""
        starts_ns = int(GUEST_STARTS.timestamp()) * 10**9
        return [
            f"mem={-(-self.memory_bytes // 2**20)}M",
            *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", f"init={SHARED / INIT}"),
            *("time-travel=inf-cpu", f"time-travel-start={starts_ns}"),
            *("con0=null,fd:1", "con=null", "quiet", "seccomp=on"),
            *("umid=guest", f"uml_dir={SHARED.parent}/"),
        ]

    def environment(self) -> dict[str, str]:
        """Return the environment of the kernel."""
        return {"PATH": _PATH, "TMPDIR": str(SHARED.parent), SEED: str(self.seed)}


_FIRST = "httpbed.host.guest.first_process"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def init(module: str, environment: Mapping[str, str], writable: Sequence[Path] = ()) -> str:
    """Return the guest's first program: this Python, which runs the ``main`` of a module.

    Its further arguments are the folders of this machine that it writes through, beside the shared
    one. When it ends without powering the guest off, the kernel panics and ends.
    """
    settings = {"PATH": _PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", **environment}
    named = (f"{name}={value}" for name, value in settings.items())
    words = ("env", "-i", *named, sys.executable, "-P", "-m", _FIRST, module, *map(str, writable))
    return f"#!/bin/sh\nexec {shlex.join(words)}\n"
