"""``httpbed run`` in its own process, and the sandbox of its current trial."""

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

import process_tree
from families import until
from patience import HTTPBED
from real_runs import CLI_S

VICTIMS = ("outer", "nginx", "init", "curl", "httpbed-link")
"""Every kind of process in a sandbox. Those of the bed and programs under test take turns, so
that no trial is hit four times: then it would rightly be given up."""
_SANDBOX = "httpbed-sandbox"


@dataclass(frozen=True)
class Sandbox:
    """The processes of a trial, seen from outside, and their namespaces."""

    pids: dict[str, int]
    namespaces: frozenset[str]


class Run:
    """A run in progress; as a context manager it ends the run."""

    def __init__(self, experiment: Path, directory: Path, *words: str, jobs: str = "1") -> None:
        self.directory = directory
        self._log = directory.with_name(f"{directory.name}.log")
        command = [*HTTPBED, "run", str(experiment), "-o", str(directory), "--jobs", jobs, *words]
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
        self._own = process_tree.namespaces(os.getpid())

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
        """Output of the run so far."""
        return self._log.read_text()

    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self._process.poll() is not None

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        return self._process.wait(CLI_S)

    def kill(self) -> None:
        """Kill the run with SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the run with SIGSTOP within the context."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def interrupt(self) -> int:
        """Interrupt the run as Ctrl-C does; return the exit code."""
        os.killpg(self.pid, signal.SIGINT)
        return self.wait()

    def sandboxes(self) -> list[Sandbox]:
        """Return the sandbox of each trial under way."""
        outer = [
            descendant
            for descendant in process_tree.descendants(self.pid)
            if descendant.name == _SANDBOX and descendant.parent == self.pid
        ]
        return [self._sandbox(entry.pid) for entry in outer]

    def sandbox(self) -> Sandbox | None:
        """Return the sandbox of the trial that is longest under way; None between trials."""
        return next(iter(self.sandboxes()), None)

    def _sandbox(self, outer: int) -> Sandbox:
        family = process_tree.descendants(outer)
        pids = {p.name: p.pid for p in family if p.name in VICTIMS} | {"outer": outer}
        held = process_tree.namespaces(outer)
        for init in (p for p in family if p.name == _SANDBOX and p.parent == outer):
            pids["init"] = init.pid
            held |= process_tree.namespaces(init.pid)
        return Sandbox(pids, held - self._own)

    def is_emulating(self) -> bool:
        """Whether a trial is under way, not only the question after a program's version."""
        return (found := self.sandbox()) is not None and "httpbed-link" in found.pids

    def await_victim(self, kind: str, seen: set[int]) -> Sandbox | None:
        """Wait until a new trial has such a process; None if the run is over."""
        found: list[Sandbox] = []

        def appeared() -> bool:
            found.extend(
                sandbox
                for sandbox in self.sandboxes()
                if kind in sandbox.pids and sandbox.pids["outer"] not in seen
            )
            return bool(found) or self.is_over()

        until(appeared)
        if not found:
            return None
        seen.add(found[0].pids["outer"])
        return found[0]
