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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.clock import GUEST_STARTS

SHARED = Path("/dev/shm/httpbed")  # noqa: S108 - in a mount namespace of its own
"""The shared folder, as seen by the guest's kernel and by its processes."""
INIT = "init"
"""Name in the shared folder of the first program."""
POWER_OFF = 0x4321FEDC
"""``LINUX_REBOOT_CMD_POWER_OFF`` of reboot(2), which ends a guest."""
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


_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def init(
    command: Sequence[str], environment: Mapping[str, str], writable: Sequence[Path] = ()
) -> str:
    """Return the guest's first program: it makes a root, and becomes ``command``.

    The root is this machine's, under a memory file system that takes every change. The shared
    folder and the ``writable`` ones are written through. When the first process ends, the kernel
    panics and ends.
    """
    through = [shlex.quote(str(path)) for path in (SHARED, *writable)]
    kept = "\n".join(f"mount --bind {path} {path}" for path in through)
    joined = "\n".join(f"mount --bind {path} .{path}" for path in through)
    settings = {"PATH": _PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", **environment}
    words = shlex.join(f"{name}={value}" for name, value in settings.items())
    return f"""#!/bin/sh
export PATH={_PATH}
set -e
# An ordinary user's root is nobody here, so mount, a setuid program, would run as nobody.
[ "$1" = bounded ] || exec setpriv --no-new-privs sh "$0" bounded
mount -t proc proc /proc
{kept}
mount -o remount,bind,ro /
# On /sys, which hides no folder that is written through.
mount -t tmpfs -o size=90% tmpfs /sys
mkdir /sys/dev /sys/upper /sys/work /sys/root
mount -t devtmpfs devtmpfs /sys/dev
exec >/sys/dev/console 2>&1  # this machine's /dev may have none
mount -t overlay -o lowerdir=/,upperdir=/sys/upper,workdir=/sys/work overlay /sys/root
cd /sys/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t devtmpfs devtmpfs dev
mkdir dev/pts dev/shm
mount -t devpts devpts dev/pts
mount -t tmpfs tmpfs dev/shm
mkdir .former .{SHARED}
{joined}
pivot_root . .former
cd /
umount --lazy /.former
exec env -i {words} {shlex.join(command)} </dev/null
"""
