"""Hand-overs while the client is at work: each step carried out when it is due, and written down.

It decides nothing: what is done when is a :class:`~httpbed.trial.handover.steps.HandoverPlan`. A
hand-over begins when the one before is done with, so one that is due meanwhile comes late, and
none is left out; each step's line tells when it was due and when it was made. Of repeated ones each
is due a period after the one before began, so that one that was late makes none come early.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from httpbed.experiment.handover import AfterBytes
from httpbed.experiment.units import NS
from httpbed.host.sandbox.dialogue import run_tool
from httpbed.host.sandbox.spec import ProcessSpec
from httpbed.host.sandbox.supervisor import Supervisor
from httpbed.network.running import Emulator
from httpbed.trial.handover import steps
from httpbed.trial.handover.steps import BY_EMULATOR, HandoverPlan, Step

STEPS = "handover.jsonl"
"""A line for each step that was carried out; times by CLOCK_MONOTONIC."""

READINGS = 5


@dataclass
class Signals:
    """What hand-overs wait for."""

    triggered: asyncio.Event = field(default_factory=asyncio.Event)
    """So many bytes have been delivered."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """The client is done: no step is begun any more."""


async def execute(
    supervisor: Supervisor,
    emulator: Emulator,
    planned: HandoverPlan,
    signals: Signals,
    artifacts: Path,
) -> None:
    """Carry out the hand-overs of a trial, whose client begins now, until the client is done.

    Raises:
        BedError: A step failed; with what the tool said.
    """
    with (artifacts / STEPS).open("w") as file:
        executor = _Executor(supervisor, emulator, planned, signals, file)
        for number in itertools.count(1):
            due_ns = await executor.due_ns(number)
            if due_ns is None or not await executor.hand_over(number, due_ns):
                return


@dataclass
class _Executor:
    supervisor: Supervisor
    emulator: Emulator
    planned: HandoverPlan
    signals: Signals
    file: TextIO
    last_ns: int = field(default_factory=time.monotonic_ns)
    """When the last hand-over began; at first, when the client did."""

    async def due_ns(self, number: int) -> int | None:
        """Return when a hand-over is due, once that is known; None: it never comes."""
        described = self.planned.handover
        if isinstance(described.when, AfterBytes) and number == 1:
            return await self._triggered_ns()
        after_s = steps.after_last_s(described, number)
        return None if after_s is None else self.last_ns + round(after_s * NS)

    async def hand_over(self, number: int, due_ns: int) -> bool:
        """Carry out a hand-over; return False if the client was done before its last step."""
        looks: dict[str, list[ProcessSpec]] = {}
        for index, step in enumerate(steps.steps(self.planned.handover, number)):
            step_due_ns = due_ns + round(step.after_s * NS)
            if step_due_ns > time.monotonic_ns():
                await self._look(looks)
            if not await self._is_reached(step_due_ns):
                await self._look(looks)
                return False
            if index == 0:
                self.last_ns = time.monotonic_ns()
            if step.what == "attach":
                looks.pop(step.link, None)  # nothing is left to see where an address is back
            await self._carry_out(step, number, step_due_ns)
            looks.setdefault(step.link, []).extend(self.planned.verified_by(step, number))
        await self._look(looks)
        return True

    async def _look(self, looks: dict[str, list[ProcessSpec]]) -> None:
        """See what the steps have left of each link, while no other is due."""
        while looks:
            for spec in looks.pop(next(iter(looks))):
                await run_tool(self.supervisor, spec)

    async def _triggered_ns(self) -> int | None:
        waiting = [
            asyncio.create_task(signal.wait())
            for signal in (self.signals.triggered, self.signals.ended)
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return None if self.signals.ended.is_set() else time.monotonic_ns()

    async def _is_reached(self, at_ns: int) -> bool:
        """Wait for a time; return False if the client was done before."""
        try:
            async with asyncio.timeout(max(0, at_ns - time.monotonic_ns()) / NS):
                await self.signals.ended.wait()
        except TimeoutError:
            return not self.signals.ended.is_set()
        return False

    async def _carry_out(self, step: Step, number: int, due_ns: int) -> None:
        spec, began_ns = self.planned.carried_out_by(step, number), time.monotonic_ns()
        if spec is None:
            told = BY_EMULATOR[step.what]
            await self.emulator.send("change", link=step.link, direction=None, change=told)
        else:
            await run_tool(self.supervisor, spec)
        self._write(step, number, due_ns, began_ns)

    def _write(self, step: Step, number: int, due_ns: int, began_ns: int) -> None:
        line = {
            "handover": number,
            "step": step.what,
            "link": step.link,
            "due_ns": due_ns,
            "began_ns": began_ns,
            "ended_ns": time.monotonic_ns(),
        }
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def read_clocks(
    monotonic_ns: Callable[[], int] = time.monotonic_ns,
    realtime_ns: Callable[[], int] = time.time_ns,
) -> dict[str, int]:
    """Read CLOCK_MONOTONIC and CLOCK_REALTIME at one time, to convert times between them.

    Another process may get the CPU between two readings. So CLOCK_REALTIME is read between two
    readings of CLOCK_MONOTONIC, several times, and the closest pair counts.

    Returns:
        Both clocks, in ns, and ``within_ns``: how far apart the readings of the pair are.
    """
    readings = []
    for _ in range(READINGS):
        before, realtime, after = monotonic_ns(), realtime_ns(), monotonic_ns()
        readings.append((after - before, (before + after) // 2, realtime))
    within, monotonic, realtime = min(readings)
    return {"monotonic_ns": monotonic, "realtime_ns": realtime, "within_ns": within}
