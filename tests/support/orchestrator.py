"""``httpbed run`` in a process of its own, and the sandbox of the trial that it has under way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import kin
from families import until
from real_runs import CLI_S, HTTPBED

VICTIMS = ("outer", "nginx", "init", "curl", "httpbed-link")
"""Every kind of process in a sandbox. Those of the bed and programs under test take turns, so
that no trial is hit four times: then it would rightly be given up."""
_SANDBOX = "httpbed-sandbox"


@dataclass(frozen=True)
class Sandbox:
    """A trial's processes, as seen from outside, and the namespaces they live in."""

    pids: dict[str, int]
    namespaces: frozenset[str]


class Run:
    """A run under way; use it as a context: none is left when it is left."""

    def __init__(self, experiment: Path, directory: Path, *words: str) -> None:
        self.directory = directory
        self._log = directory.with_name(f"{directory.name}.log")
        command = [*HTTPBED, "run", str(experiment), "-o", str(directory), *words]
        self.temporary = directory.with_name("temporary")
        self.temporary.mkdir(exist_ok=True)
        with self._log.open("a") as log:
            # A session of its own, as a terminal gives: an interrupt goes to its whole group.
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.temporary)},
            )
        self.pid = self._process.pid
        self._own = kin.namespaces(os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self._log.read_text()

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        return self._process.wait(CLI_S)

    def kill(self) -> None:
        """Kill it without a word."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop it for a while; it knows nothing of that."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def interrupt(self) -> int:
        """Do as the terminal does for Ctrl-C; return the exit code."""
        os.killpg(self.pid, signal.SIGINT)
        return self.wait()

    def sandbox(self) -> Sandbox | None:
        """Look at the trial under way; None if there is none at this moment."""
        family = kin.descendants(self.pid)
        outer = [p for p in family if p.name == _SANDBOX and p.parent == self.pid]
        if not outer:
            return None
        pids = {p.name: p.pid for p in family if p.name in VICTIMS}
        pids["outer"] = outer[0].pid
        held = kin.namespaces(outer[0].pid)
        for init in (p for p in family if p.name == _SANDBOX and p.parent == outer[0].pid):
            pids["init"] = init.pid
            held |= kin.namespaces(init.pid)
        return Sandbox(pids, held - self._own)

    def await_victim(self, kind: str, seen: set[int]) -> Sandbox | None:
        """Wait until a trial that was not seen before has such a process; None if it is over."""
        found: list[Sandbox] = []

        def appeared() -> bool:
            now = self.sandbox()
            if now and kind in now.pids and now.pids["outer"] not in seen:
                found.append(now)
            return bool(found) or self.is_over()

        until(appeared)
        if not found:
            return None
        seen.add(found[0].pids["outer"])
        return found[0]
