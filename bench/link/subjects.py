"""What is measured in turns: emulators, each with the scheduling class in which it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.link.bed import MeasurementError, Wire, expect
from bench.link.emulators import Bridge, Conditions, Emulator, Link, Rattan
from bench.link.figures import Section
from bench.link.peers import Peers

FIFO = "SCHED_FIFO"


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rounds: int
    seconds: float
    """Of one transfer."""
    samples: int
    """Of one series of probes."""


FULL = Scale(rounds=5, seconds=5.0, samples=500)
QUICK = Scale(rounds=1, seconds=1.5, samples=100)


@dataclass(frozen=True)
class Subject:
    """An emulator in a scheduling class."""

    emulator: Emulator
    fifo: bool

    @property
    def label(self) -> str:
        """What the table calls it."""
        return f"{self.emulator.name}, FIFO" if self.fifo else self.emulator.name

    @contextmanager
    def wire(self, asked: Conditions, links: int = 1) -> Iterator[Wire]:
        """Join two fresh hosts, and have the emulator count as it does in a trial."""
        with self.emulator.wire(asked, links) as wire:
            if self.fifo:
                wire.promote()
            if wire.emulator:
                _tell(wire.emulator, "start")
                expect(wire.emulator, '"started"')
            yield wire


@dataclass
class Bench:
    """All there is to measure with, and how much of it."""

    scale: Scale
    iperf3: bool
    links: list[Subject]
    rattans: list[Subject]
    bridge: Subject
    tbf: Subject
    lacking: dict[str, str]
    """Subjects that cannot be measured: why."""

    def section(self, name: str, title: str) -> Section:
        """Begin a section that says first what is missing from it."""
        section = Section(name, title)
        for subject, why in self.lacking.items():
            section.lack(subject, why)
        section.begin()
        return section

    def best(self, subjects: Sequence[Subject]) -> list[Subject]:
        """Of each emulator only the best scheduling class that is permitted."""
        found = {subject.emulator.name: subject for subject in subjects if not subject.fifo}
        found.update({each.emulator.name: each for each in subjects if each.fifo})
        return list(found.values())

    def turns(
        self,
        section: Section,
        subjects: Sequence[Subject],
        measure: Callable[[Subject, int], None],
    ) -> None:
        """Measure every subject once a round, each round beginning with another one."""
        for turn in range(self.scale.rounds):
            first = turn % len(subjects)
            for subject in (*subjects[first:], *subjects[:first]):
                section.order.append(subject.label)
                try:
                    measure(subject, turn)
                except (MeasurementError, subprocess.SubprocessError, OSError) as error:
                    section.lack(subject.label, f"round {turn + 1}: {error}")


def gather(peers: Peers, scale: Scale) -> Bench:
    """Try every emulator once and keep those that work here."""
    lacking = {"mahimahi": peers.mahimahi}
    permitted = may_have_fifo()
    if not permitted:
        lacking[f"any with {FIFO}"] = "the kernel refuses it to this user"
    classes = (True, False) if permitted else (False,)

    def usable(emulator: Emulator) -> list[Subject]:
        why = emulator.missing()
        if why is not None:
            lacking[emulator.name] = why
            return []
        return [Subject(emulator, fifo) for fifo in classes]

    links = [*usable(Link(peers.link)), *usable(Link(peers.link, "tun"))]
    rattans = usable(Rattan(peers.rattan, peers.rattan_why))
    bridge = Subject(Bridge("kernel bridge"), fifo=False)
    tbf = Subject(Bridge("kernel tbf"), fifo=False)
    return Bench(scale, peers.iperf3, links, rattans, bridge, tbf, lacking)


def may_have_fifo() -> bool:
    """Whether this user may give a process real-time priority."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        try:
            os.sched_setscheduler(other.pid, os.SCHED_FIFO, os.sched_param(1))
        except PermissionError:
            return False
        finally:
            other.send_signal(signal.SIGKILL)
    return True


def result(wire: Wire) -> dict[str, Any]:
    """Stop httpbed-link and return its report; empty for anything else."""
    if wire.emulator is None or wire.emulator.stdout is None:
        return {}
    _tell(wire.emulator, "stop")
    for line in wire.emulator.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "result":
            return event
        if event["event"] == "error":
            raise MeasurementError(event["message"])
    raise MeasurementError("the emulator ended without a result")


def doubts(report: dict[str, Any]) -> str:
    """Name what would make a measurement through httpbed-link worthless."""
    named = ("socket_drops", "oversize_frames", "send_failures", "unstamped_frames")
    counted = {name: report.get(name, 0) for name in named}
    return ", ".join(f"{name} {count}" for name, count in counted.items() if count)


def _tell(process: subprocess.Popen[str], what: str) -> None:
    if process.stdin:
        process.stdin.write(json.dumps({"do": what}) + "\n")
        process.stdin.flush()
