"""The first process of a guest: it imports the module of a job and runs it.

The module calls :func:`make_root` and :func:`power_off`. The root is what the guest sees of this
machine, with memory above it that takes every change. The folder that is the program's further
argument is written through, and so is the shared folder. All is done by system calls: a guest needs
14 ms of CPU for a fork and as much for the start of a program, and ``mount`` would be started a
dozen times.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from pathlib import Path

from httpbed.addons.virtual.visible_files import LEFT_IN_KERNEL, SHARED, WRITTEN_IN_KERNEL

_MEMORY = Path("/sys")
"""Memory is mounted here first."""
_NO_NEW_PRIVILEGES = 38
_DETACH = 2
_PIVOT_ROOT = 155
"""Number of the system call on x86-64; the C library has no function for it."""
_POWER_OFF = 0x4321FEDC
"""``LINUX_REBOOT_CMD_POWER_OFF`` of reboot(2), which ends a guest."""

_FUTURE = 2
"""``MCL_FUTURE`` of mlockall(2)."""

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Import the module that the first argument names, and run it.

    Meanwhile all memory is mapped as soon as it is allocated, and not by a fault for each page.
    """
    _libc.mlockall(_FUTURE)
    module = importlib.import_module(sys.argv[1])
    _libc.munlockall()
    module.main()


def power_off() -> None:
    """End the guest, once all files are written."""
    os.sync()
    _libc.reboot(_POWER_OFF)


def make_root() -> None:
    """Make the root and enter it; what the guest prints then goes to its console.

    Raises:
        OSError: The guest's kernel refused.
    """
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    _mount("tmpfs", _MEMORY, data="size=90%")
    for name in ("dev", "upper", "work", "root"):
        (_MEMORY / name).mkdir()
    _mount("devtmpfs", _MEMORY / "dev")
    _use_console(_MEMORY / "dev")
    layers = f"lowerdir=/,upperdir={_MEMORY}/upper,workdir={_MEMORY}/work"
    _mount("overlay", _MEMORY / "root", data=layers)
    _fill(_MEMORY / "root")
    _write_through(LEFT_IN_KERNEL, SHARED)
    for folder in map(Path, sys.argv[2:]):
        _write_through(WRITTEN_IN_KERNEL, folder)
    _enter(_MEMORY / "root")


def _use_console(devices: Path) -> None:
    """Read nothing, and print to the console: this machine's /dev may have none."""
    for descriptor, name in enumerate(("null", "console", "console")):
        opened = os.open(devices / name, os.O_RDWR | os.O_NOCTTY)
        if opened == descriptor:
            os.set_inheritable(opened, True)
        else:
            os.dup2(opened, descriptor)
            os.close(opened)
    sys.stdout, sys.stderr = (os.fdopen(one, "w", buffering=1, closefd=False) for one in (1, 2))


def _fill(root: Path) -> None:
    """Mount what programs expect of any Linux."""
    _mount("proc", root / "proc")
    _mount("sysfs", root / "sys")
    _mount("devtmpfs", root / "dev")
    for name in ("pts", "shm"):
        (root / "dev" / name).mkdir()
    _mount("devpts", root / "dev/pts")
    _mount("tmpfs", root / "dev/shm")
    (root / SHARED.relative_to("/")).mkdir(parents=True)


def _write_through(place: str, folder: Path) -> None:
    """Mount a folder of the kernel's own root."""
    _mount("hostfs", _MEMORY / "root" / folder.relative_to("/"), data=place)


def _enter(root: Path) -> None:
    """Make ``root`` the root, and leave the former one."""
    former = root / ".former"
    former.mkdir()
    os.chdir(root)
    _checked(_libc.syscall(_PIVOT_ROOT, b".", b".former"), "pivot_root")
    os.chdir("/")
    _checked(_libc.umount2(b"/.former", _DETACH), "umount of the former root")


def _mount(kind: str, target: Path, *, data: str = "") -> None:
    """Mount a file system of a kind, which is also the name of its source."""
    words = (kind.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(0), data.encode())
    _checked(_libc.mount(*words), f"mount on {target}")


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
