"""What a sandbox runs: processes, those that make its network, parts of a trial, our executables.

These values need neither topology nor impairments: the code that starts processes does not import
the schema of experiments (``docs/decisions/0034``).
"""

from __future__ import annotations

import json
import shlex
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from httpbed.base.clock import NS
from httpbed.base.errors import HostError
from httpbed.bed.machine import unprivileged

TRIAL_FOLDER = "/trial"
"""Mount point of the attempt's artifacts for the emulator, and of its own folder for a program
under test."""
TOOLS = "tools"
"""Name, inside the sandbox, of the root filesystem that has ip, ethtool, ss and ping."""
LINK_FILES = "/links"
"""Folder with the files that an experiment names, each by its digest."""


@dataclass(frozen=True)
class Ports:
    """Ports that a program opens when it is ready."""

    tcp: tuple[int, ...] = ()
    udp: tuple[int, ...] = ()

    def __str__(self) -> str:
        ports = [f"TCP {port}" for port in self.tcp] + [f"UDP {port}" for port in self.udp]
        return " and ".join(ports)


@dataclass(frozen=True)
class ProcessSpec:
    """A program to start; independent of the machine."""

    argv: tuple[str, ...]
    place: Literal["sandbox", "command", "beside", "outside"] = "sandbox"
    """``command``: with this machine's filesystem, the user's terminal and the user's environment.
    ``beside``: the same before the command starts, without input, and with its output on the
    command's standard error. ``outside``: in this machine's network."""
    host: str | None = None
    """The host that it runs on; None: the emulator's own network."""
    root: str | None = None
    """The root filesystem that it runs in; None for httpbed's own executables."""
    part: str | None = None
    """The part of the trial that it belongs to; None for a program of the bed. A part has its own
    namespaces and filesystem, which contain nothing of the bed."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files written under ``/trial`` before the start: name -> content."""
    environment: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    """Files that only its part sees: path in the part -> content."""
    input: str | None = None
    stdout: str | None = None
    """File under ``/trial``; None discards it."""
    stderr: str | None = None
    lines: bool = False
    """Whether it exchanges JSON lines with httpbed."""
    ready: Ports = Ports()
    timeout_s: float | None = None
    """Upper bound of its run time, and of all its runs together if it is restarted."""
    again: bool = False
    """Whether it is restarted after a failure."""
    file_bytes: int | None = None
    """Upper bound of each file that it writes."""
    memory_bytes: int | None = None
    """Upper bound of the data segment of each of its processes, and of the memory of its whole
    part."""
    processes: int | None = None
    """Upper bound of the processes and threads of its part; before Linux 6.14, of the sandbox."""
    cpu: int | None = None
    """The only processor that it runs on; for programs of a part."""

    def shell(self) -> str:
        """Return the command as a shell line, with the host before it."""
        place = f"[{self.host or 'emulator'}] "
        settings = "".join(f"{name}={shlex.quote(v)} " for name, v in self.environment.items())
        typed = f" <<'END'\n{self.input}END" if self.input else ""
        return place + settings + shlex.join(self.argv) + self._conditions() + typed

    def _conditions(self) -> str:
        """Return readiness, time limit and restarts as a shell comment."""
        opened = [f"tcp {port}" for port in self.ready.tcp] + [f"udp {p}" for p in self.ready.udp]
        words = [f"ready when open: {', '.join(opened)}"] if opened else []
        words += [f"at most {self.timeout_s:g} s"] if self.timeout_s else []
        words += ["restarted until it succeeds"] if self.again else []
        return f"    # {'; '.join(words)}" if words else ""


@dataclass(frozen=True)
class NetworkProcesses:
    """Everything that makes a network, in the order of its first fields."""

    wiring: ProcessSpec | None
    """In the sandbox's own network: the veth pairs; None where the emulator makes the devices."""
    hosts: tuple[ProcessSpec, ...]
    """On each host: addresses, neighbours, routes, offloads. The commands do not depend on
    each other."""
    emulator: ProcessSpec
    """The link emulator; it speaks line by line."""
    after_ready: tuple[ProcessSpec, ...]
    """Commands that need a ready emulator, one after the other."""

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Return every process that makes the network, in order."""
        wiring = (self.wiring,) if self.wiring else ()
        return (*wiring, *self.hosts, self.emulator, *self.after_ready)


def polled_s(event: Mapping[str, Any]) -> float:
    """Return the CPU time in which the emulator polled, by its event ``counters`` or ``result``.

    Time in which it polled and other processes had the CPU is no CPU time.
    """
    return float(min(event.get("polled_ns", 0), event.get("cpu_ns", 0)) / NS)


@dataclass(frozen=True)
class PartSpec:
    """What a part of the trial sees of the machine, and its limits."""

    root: str | None
    """Its root filesystem; None: an empty one with only the files named here."""
    host: str | None = None
    """The host that it runs on; None: the emulator's own network, which no program can reach."""
    folders: Mapping[str, int] = field(default_factory=dict)
    """Folders of the attempt's artifacts that it may write to, under ``/trial``: name -> most bytes
    of all files in it."""
    shared: Mapping[str, Path] = field(default_factory=dict)
    """Files and folders of this machine that only it sees, read-only: path in the part -> path."""
    written: Mapping[str, Path] = field(default_factory=dict)
    """Folders of this machine that only it sees, and writes to: path in the part -> path."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that only it sees: path in the part -> content."""
    memory_bytes: int | None = None
    """Upper bound of the memory of all its processes."""
    processes: int | None = None
    """Upper bound of its processes and threads."""
    guest: bool = False
    """Whether its program is the kernel of a guest, which needs fewer system calls."""


@dataclass(frozen=True)
class ShellSpec:
    """Additions to a sandbox that runs a command of the user."""

    written: Mapping[str, Path]
    """Files of this machine that programs write under ``/trial``: name -> path."""
    shown: Mapping[str, str]
    """Files that the command sees in place of this machine's: path -> content."""
    outside: int
    """The number of programs that will run in this machine's network."""
    confined: bool = False
    """Whether the command has no rights over the sandbox even if root starts it. Root could trace
    the programs in this machine's network, and so have them connect elsewhere."""


@dataclass(frozen=True)
class SandboxSpec:
    """The specification of a sandbox."""

    scratch: Path
    trial: Path | None
    """Folder that becomes ``/trial``; None: in memory, and nothing remains."""
    roots: Mapping[str, Path]
    shared: Mapping[str, Path]
    programs: Mapping[str, Path]
    hosts: Mapping[str, Mapping[str, str]]
    """Sysctls of each host, by the host's name."""
    sysctls: Mapping[str, str]
    """Sysctls of the sandbox's own network."""
    tmpfs_bytes: int
    """Upper bound of the files in memory of each part and of the bed."""
    parts: Mapping[str, PartSpec] = field(default_factory=dict)
    """The programs under test, by part. The sandbox's first process and the emulator belong to no
    part."""
    shell: ShellSpec | None = None
    """For a command of the user, which sees this machine's filesystem."""
    keeps_user: bool = False
    """Whether it stays root if root starts it, as a command of the user does."""
    keeps_network: bool = False
    """Whether it stays in this machine's network; it then has no hosts, and its parts open no
    sockets but those of IPv4 and IPv6."""

    def folders(self) -> dict[str, int]:
        """Return the folders of all parts: name -> most bytes."""
        return {name: most for part in self.parts.values() for name, most in part.folders.items()}

    def line(self, stdio: Sequence[int], root_to: int) -> bytes:
        """Return the sandbox's input.

        Args:
            stdio: The descriptors of the command.
            root_to: A socket, over which the sandbox sends a descriptor of its root.
        """
        shell = self.shell and {**vars(self.shell), "stdio": stdio}
        told = {
            **vars(self),
            "unprivileged": None if self.shell or self.keeps_user else unprivileged.user(),
            "shell": shell,
            "root_to": root_to,
        }
        del told["keeps_user"]
        return json.dumps(told, default=_as_json).encode() + b"\n"


def _as_json(value: PartSpec | Path | Mapping[str, Any]) -> object:
    """Return what the sandbox reads; its fields of a part are called as those of the class."""
    if isinstance(value, PartSpec):
        return vars(value)
    return str(value) if isinstance(value, Path) else dict(value)


STOPPED_IN_TIME = "was stopped at its time limit"


@dataclass(frozen=True)
class Exit:
    """How a process ended; after restarts, how the last run ended, with sums over all runs."""

    status: int | None
    signal: int | None
    timed_out: bool
    wall_s: float
    """Seconds from the first start to the last end."""
    cpu_s: float
    max_rss_kib: int
    """Maximum over all runs."""
    runs: int = 1
    """Number of starts."""
    ended_for: str | None = None
    """Why the sandbox killed it, if it did."""

    @property
    def clean(self) -> bool:
        """Whether it exited with status 0."""
        return self.status == 0

    def __str__(self) -> str:
        return self._how() + (f", after {self.runs} runs" if self.runs > 1 else "")

    def _how(self) -> str:
        if self.timed_out:
            return STOPPED_IN_TIME
        if self.ended_for:
            return f"{self.ended_for}, and was killed"
        return f"signal {self.signal}" if self.status is None else f"exit status {self.status}"


SANDBOX = "httpbed-sandbox"
LINK = "httpbed-link"
PROBE = "httpbed-probe"
ALL = (SANDBOX, LINK, PROBE)


@cache
def executable(name: str) -> Path:
    """Return the path of one of httpbed's own executables.

    Raises:
        HostError: It is not installed.
    """
    beside = Path(sysconfig.get_path("scripts")) / name
    path = str(beside) if beside.is_file() else shutil.which(name)
    if not path:
        raise HostError(
            f"the executable {name} is not installed",
            "build and install httpbed's wheel from a checkout with cargo: make build",
        )
    return Path(path).resolve()
