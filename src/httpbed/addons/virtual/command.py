"""A guest as a part of a sandbox: what its kernel may reach, and the command that boots it.

The kernel runs programs under test in processes of its own, and one of them may take it over. So it
is confined on this machine like any program under test: in namespaces without a network, as an
ordinary user without rights, with a filter of system calls for just what it needs
(``guest_calls.rs``), and with limits. It sees what a guest needs, and one folder to write to.

The guest's root is not this root: files of the kernel's own process, as those in /proc, are not in
the guest.

::

    what the kernel sees       what the guest sees
    /kernel                    -
    /proc, /dev, /dev/shm      -                    its memory is a file here
    /seen                      /                    read-only
    /seen/httpbed              /httpbed             the work, read-only
    /trial/left                /dev/shm/httpbed     what the guest leaves, in bounded memory
    /written                   its own path         the working folder of a command of the user

The kernel hashes its command line into its first entropy. So the words that it sees depend on the
trial alone: these places are the same in every guest.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from httpbed.addons.virtual import guest_modules, visible_files
from httpbed.addons.virtual.visible_files import HANDED, LEFT, LEFT_IN_KERNEL, WRITTEN_IN_KERNEL
from httpbed.base.clock import GUEST_STARTS
from httpbed.bed.sandbox.sandbox_spec import PartSpec, ProcessSpec, SandboxSpec

CONSOLE = "console"
"""Name in that folder of the kernel's messages and what its first process prints."""
INIT = "init"
"""Name in the handed folder of the first program."""
SEED = "UML_SEED"
"""Environment variable of the kernel: the seed of all its randomness."""

_PART, _KERNEL, _SEEN, _MEMORY = "guest", "/kernel", "/seen", "/dev/shm"  # noqa: S108 - of the part
_MOUNTED_OVER = ("dev", "proc", "run", "sys", "tmp")
"""Folders that every guest has, whatever this machine has there."""
_OWN_BYTES = 2**30
"""Memory of the kernel's processes, beside that of the guest."""
_PROCESSES = 2**15


@dataclass(frozen=True)
class Guest:
    """A guest to boot."""

    kernel: Path
    handed: Path
    """The folder with the work and :data:`INIT`."""
    seed: int
    memory_bytes: int
    cpu: int
    """The processor that it runs on: between several, its processes would only move."""
    left_bytes: int
    """Upper bound of what it leaves."""
    seen: Sequence[Path] = ()
    """Files and folders of this machine that it sees at the same paths, read-only."""
    placed: Mapping[str, Path] = field(default_factory=dict)
    """Files of this machine that it sees elsewhere, read-only: path in the guest -> path here."""
    written: Path | None = None
    """A folder of this machine that it sees at the same path, and writes to. The guest is then a
    command of the user, and keeps this user's rights over it."""
    streams: Iterable[str] = field(default_factory=tuple)
    """Names of empty files that it finds in the folder of what it leaves."""

    def sandbox(self, folder: Path) -> SandboxSpec:
        """Return the sandbox of the guest; ``folder`` gets its files."""
        places = {f"{_SEEN}{path}": path for path in self.seen}
        places |= {f"{_SEEN}{place}": path for place, path in self.placed.items()}
        part = PartSpec(
            root=None,
            folders={LEFT: self.left_bytes},
            shared={_KERNEL: self.kernel, f"{_SEEN}{HANDED}": self.handed, **places},
            written={WRITTEN_IN_KERNEL: self.written} if self.written else {},
            files={
                **{f"{_SEEN}/{name}/.empty": "" for name in _MOUNTED_OVER},
                **{f"{_SEEN}{place}": text for place, text in visible_files.ACCOUNTS.items()},
            },
            memory_bytes=self.memory_bytes + _OWN_BYTES,
            processes=_PROCESSES,
            guest=True,
        )
        return SandboxSpec(
            scratch=folder / "sandbox",
            trial=folder / "trial",
            roots={},
            shared={},
            programs={},
            hosts={},
            sysctls={},
            tmpfs_bytes=self.memory_bytes + _OWN_BYTES,
            parts={_PART: part},
            keeps_user=self.written is not None,
        )

    def process(self, limit_s: float | None) -> ProcessSpec:
        """Return the process of the kernel, which ends when the guest has powered off."""
        console = f"{LEFT_IN_KERNEL}/{CONSOLE}"
        return ProcessSpec(
            (_KERNEL, *self.kernel_words()),
            part=_PART,
            files={f"{LEFT}/{name}": "" for name in self.streams},
            environment=self.environment(),
            stdout=console,
            stderr=console,
            timeout_s=limit_s,
            file_bytes=max(self.memory_bytes, self.left_bytes) + _OWN_BYTES,
            memory_bytes=self.memory_bytes + _OWN_BYTES,
            processes=_PROCESSES,
            cpu=self.cpu,
        )

    def kernel_words(self) -> list[str]:
        """Return the kernel's command line."""
        starts_ns = int(GUEST_STARTS.timestamp()) * 10**9
        return [
            f"mem={-(-self.memory_bytes // 2**20)}M",
            *("root=/dev/root", "rootfstype=hostfs", f"rootflags={_SEEN}", "ro"),
            f"init={HANDED / INIT}",
            *("time-travel=inf-cpu", f"time-travel-start={starts_ns}"),
            *("con0=null,fd:1", "con=null", "quiet", "seccomp=on"),
            *("umid=guest", f"uml_dir={_MEMORY}/"),
        ]

    def environment(self) -> dict[str, str]:
        """Return the environment of the kernel."""
        return {"TMPDIR": _MEMORY, SEED: str(self.seed)}


_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def init(module: str, environment: Mapping[str, str], written: Path | None = None) -> str:
    """Return the guest's first program: this Python, which runs the ``main`` of a module.

    Its further argument is the folder of this machine that it writes to. When it ends without
    powering the guest off, the kernel panics and ends.
    """
    settings = {"PATH": _PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", **environment}
    named = (f"{name}={value}" for name, value in settings.items())
    folder = [str(written)] if written else []
    program = (guest_modules.__file__, str(HANDED / guest_modules.FILE))
    words = ("env", "-i", *named, sys.executable, "-P", *program, module, *folder)
    return f"#!/bin/sh\nexec {shlex.join(words)}\n"
