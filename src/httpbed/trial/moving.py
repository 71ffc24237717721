"""Hand-overs while the client is at work: each step carried out when it is due, and written down.

It decides nothing: what is done when is a :class:`~httpbed.trial.handover.HandoverPlan`. A
hand-over begins when the one before is done with, so one that is due meanwhile comes late, and
none is left out; each step's line tells when it was due and when it was made.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from httpbed.model.handover import AfterBytes
from httpbed.network.running import Emulator
from httpbed.process.dialogue import run_tool
from httpbed.process.supervisor import Supervisor
from httpbed.trial import handover
from httpbed.trial.handover import BY_EMULATOR, HandoverPlan, Step

STEPS = "handover.jsonl"
"""A line for each step that was carried out; times by CLOCK_MONOTONIC."""
NS = 1e9


@dataclass
class Signals:
    """What hand-overs wait for."""

    triggered: asyncio.Event = field(default_factory=asyncio.Event)
    """So many bytes have been delivered."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """The client is done: no step is begun any more."""


async def move(
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
        mover = _Mover(supervisor, emulator, planned, signals, file)
        for number in itertools.count(1):
            due_ns = await mover.due_ns(number)
            if due_ns is None or not await mover.hand_over(number, due_ns):
                return


@dataclass
class _Mover:
    supervisor: Supervisor
    emulator: Emulator
    planned: HandoverPlan
    signals: Signals
    file: TextIO
    began_ns: int = field(default_factory=time.monotonic_ns)

    async def due_ns(self, number: int) -> int | None:
        """Return when a hand-over is due, once that is known; None: it never comes."""
        described = self.planned.handover
        if isinstance(described.when, AfterBytes) and number == 1:
            return await self._triggered_ns()
        due_s = handover.due_s(described, number)
        return None if due_s is None else self.began_ns + round(due_s * NS)

    async def hand_over(self, number: int, due_ns: int) -> bool:
        """Carry out a hand-over; return False if the client was done before its last step."""
        for step in handover.steps(self.planned.handover, number):
            step_due_ns = due_ns + round(step.after_s * NS)
            if not await self._is_reached(step_due_ns):
                return False
            await self._carry_out(step, number, step_due_ns)
        return True

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
            await self.emulator.tell("change", link=step.link, direction=None, change=told)
        else:
            await run_tool(self.supervisor, spec)
        self._write(step, number, due_ns, began_ns)
        if look := self.planned.verified_by(step, number):
            await run_tool(self.supervisor, look)

    def _write(self, step: Step, number: int, due_ns: int, began_ns: int) -> None:
        line = {
            "handover": number,
            "step": step.what,
            "link": step.link,
            "due_ns": due_ns,
            "began_ns": began_ns,
            "ended_ns": time.monotonic_ns(),
            "status": 0,
        }
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
