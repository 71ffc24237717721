"""A process as a value: what is to be started, where, and when it counts as ready."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

TRIAL_FOLDER = "/trial"
"""Where the emulator sees the attempt's artifacts, and a program under test its own folder."""


@dataclass(frozen=True)
class Ports:
    """A program is ready when all of these are open in its network."""

    tcp: tuple[int, ...] = ()
    udp: tuple[int, ...] = ()

    def __str__(self) -> str:
        said = [f"TCP {port}" for port in self.tcp] + [f"UDP {port}" for port in self.udp]
        return " and ".join(said)


@dataclass(frozen=True)
class ProcessSpec:
    """A program to start; nothing here has looked at the machine."""

    argv: tuple[str, ...]
    place: Literal["sandbox", "command", "outside"] = "sandbox"
    """``command``: in this machine's filesystem, as the user, at the terminal, in the user's
    environment. ``outside``: in this machine's network."""
    host: str | None = None
    """The host it runs on; None is the emulator's own network."""
    root: str | None = None
    """The root filesystem it runs in; None is for httpbed's own executables."""
    part: str | None = None
    """The part of the trial that it belongs to: a program under test; None for the bed's own. A
    part has namespaces and a filesystem of its own, in which there is nothing of the bed."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files to write under ``/trial`` before it starts: name -> content."""
    environment: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    """Files that its part alone sees: seen as -> content."""
    input: str | None = None
    stdout: str | None = None
    """File under ``/trial``; None discards it."""
    stderr: str | None = None
    lines: bool = False
    """Whether it speaks with httpbed line by line."""
    ready: Ports = Ports()
    timeout_s: float | None = None
    """Upper bound of how long it runs; of all runs together where it is started again."""
    again: bool = False
    """Whether it is started again when it did not end well."""
    file_bytes: int | None = None
    """Upper bound of any file it writes."""
    memory_bytes: int | None = None
    """Upper bound of what each of its processes has for data, and of what all of its part have
    in memory."""
    processes: int | None = None
    """Upper bound of the processes and threads of its part; before Linux 6.14 of the sandbox."""

    def shell(self) -> str:
        """Write the command as one would type it, with the host before it."""
        place = f"[{self.host or 'emulator'}] "
        settings = "".join(f"{name}={shlex.quote(v)} " for name, v in self.environment.items())
        typed = f" <<'END'\n{self.input}END" if self.input else ""
        return place + settings + shlex.join(self.argv) + self._conditions() + typed

    def _conditions(self) -> str:
        """Say, as a shell comment, when it is ready, when its time is over, and what then."""
        opened = [f"tcp {port}" for port in self.ready.tcp] + [f"udp {p}" for p in self.ready.udp]
        said = [f"ready when open: {', '.join(opened)}"] if opened else []
        said += [f"at most {self.timeout_s:g} s"] if self.timeout_s else []
        said += ["started again until it ends well"] if self.again else []
        return f"    # {'; '.join(said)}" if said else ""


@dataclass(frozen=True)
class PartSpec:
    """What a part of the trial sees, and what it may use of the machine."""

    root: str | None
    """Its root filesystem; None is an empty one, in which is only what is named here."""
    host: str | None = None
    """The host it lives on; None is the emulator's own network, where no program is reached."""
    folders: Sequence[str] = ()
    """Folders of the attempt's artifacts that it sees under ``/trial``, and may write to."""
    shared: Mapping[str, Path] = field(default_factory=dict)
    """What it alone sees of this machine, read-only: seen as -> path."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that it alone sees: seen as -> content."""
    memory_bytes: int | None = None
    """Upper bound of what all its processes have in memory."""
    processes: int | None = None
    """Upper bound of its processes and threads."""

    def as_json(self) -> dict[str, Any]:
        """Write it as the sandbox reads it."""
        return {
            "root": self.root,
            "host": self.host,
            "folders": list(self.folders),
            "shared": {seen: str(path) for seen, path in self.shared.items()},
            "files": dict(self.files),
            "memory_bytes": self.memory_bytes,
            "processes": self.processes,
        }


STOPPED_IN_TIME = "was stopped at its time limit"


@dataclass(frozen=True)
class Exit:
    """How a process ended; or the last of its runs, with what all of them took together."""

    status: int | None
    signal: int | None
    timed_out: bool
    wall_s: float
    """From the first start to the last end."""
    cpu_s: float
    max_rss_kib: int
    """The largest of any run."""
    runs: int = 1
    """How often it was started."""
    ended_for: str | None = None
    """Why the sandbox killed it, where it did."""

    @property
    def clean(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.status == 0

    def __str__(self) -> str:
        return self._how() + (f", after {self.runs} runs" if self.runs > 1 else "")

    def _how(self) -> str:
        if self.timed_out:
            return STOPPED_IN_TIME
        if self.ended_for:
            return f"{self.ended_for}, and was killed"
        return f"signal {self.signal}" if self.status is None else f"exit status {self.status}"
