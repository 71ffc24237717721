"""Carries out the hand-overs of a running trial and logs each step.

:mod:`~httpbed.addons.handover.handover_steps` says which steps are due when. A hand-over begins
when the one before has ended, so one that falls due meanwhile comes late and none is left out. Each
logged step has its due time and its actual time. A repeated hand-over is due one period after the
last one began, so a late one makes no later one early.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from httpbed.addons.handover import handover_steps
from httpbed.addons.handover.handover_model import AfterBytes
from httpbed.addons.handover.handover_steps import (
    BY_EMULATOR,
    HANDOVER_STEPS,
    HandoverCommands,
    Step,
)
from httpbed.base.clock import NS
from httpbed.bed.machine import machine_load
from httpbed.bed.network.running_network import Emulator
from httpbed.bed.sandbox.dialogue import run_tool
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Supervisor
from httpbed.experiment.roles import TRIGGER
from httpbed.trial.attempt_plan import RunningAddition
from httpbed.trial.run.clients_and_servers import stop


class RunningHandovers(RunningAddition):
    """The hand-overs of one attempt, with the log of the kernel's messages about them."""

    def __init__(self, supervisor: Supervisor, planned: HandoverCommands, artifacts: Path) -> None:
        """Steps are logged in the folder ``artifacts``."""
        self._supervisor, self._planned, self._artifacts = supervisor, planned, artifacts
        self._triggered = asyncio.Event()

    async def network_is_built(self, emulator: Emulator) -> None:
        """Start the monitor, before any change of addresses or routes."""
        self._emulator = emulator
        self._monitor = await self._supervisor.start(self._planned.monitor)
        # Its timestamps are as late as the process itself.
        machine_load.promote(self._supervisor.init_pid, self._monitor.pid)

    async def before_clients(self) -> None:
        """Remove the addresses that the client does not have at first."""
        for spec in self._planned.without_addresses():
            await run_tool(self._supervisor, spec)

    def on_trigger(self, name: str) -> None:
        """Take note that the configured bytes have been delivered."""
        if name == TRIGGER:
            self._triggered.set()

    async def beside_clients(self, ended: asyncio.Event) -> None:
        """Carry out the hand-overs from the client's start to its end.

        Raises:
            BedError: A step failed; with the tool's output.
        """
        with (self._artifacts / HANDOVER_STEPS).open("w") as file:
            executor = _Executor(
                self._supervisor, self._emulator, self._planned, self._triggered, ended, file
            )
            for number in itertools.count(1):
                due_ns = await executor.due_ns(number)
                if due_ns is None or not await executor.hand_over(number, due_ns):
                    return

    async def after_clients(self) -> None:
        """End the monitor."""
        await stop(self._supervisor, [self._monitor])


@dataclass
class _Executor:
    supervisor: Supervisor
    emulator: Emulator
    planned: HandoverCommands
    triggered: asyncio.Event
    """Set when the configured bytes have been delivered."""
    ended: asyncio.Event
    """Set when the client has ended: no further step begins."""
    file: TextIO
    last_ns: int = field(default_factory=time.monotonic_ns)
    """When the last hand-over began; before the first, when the client started."""

    async def due_ns(self, number: int) -> int | None:
        """Return when a hand-over is due, in ns of CLOCK_MONOTONIC; None: never."""
        described = self.planned.handover
        if isinstance(described.when, AfterBytes) and number == 1:
            return await self._triggered_ns()
        after_s = handover_steps.after_last_s(described, number)
        return None if after_s is None else self.last_ns + round(after_s * NS)

    async def hand_over(self, number: int, due_ns: int) -> bool:
        """Carry out a hand-over; return False if the client ended before its last step."""
        unread: dict[str, list[ProcessSpec]] = {}
        for index, step in enumerate(handover_steps.steps(self.planned.handover, number)):
            step_due_ns = due_ns + round(step.after_s * NS)
            if step_due_ns > time.monotonic_ns():
                await self._read_out(unread)
            if not await self._is_reached(step_due_ns):
                await self._read_out(unread)
                return False
            if index == 0:
                self.last_ns = time.monotonic_ns()
            if step.what == "attach":
                unread.pop(step.link, None)  # an address that is back hides what was left
            await self._carry_out(step, number, step_due_ns)
            unread.setdefault(step.link, []).extend(self.planned.verified_by(step, number))
        await self._read_out(unread)
        return True

    async def _read_out(self, unread: dict[str, list[ProcessSpec]]) -> None:
        """Run the commands that read what steps have left, while no other step is due."""
        while unread:
            for spec in unread.pop(next(iter(unread))):
                await run_tool(self.supervisor, spec)

    async def _triggered_ns(self) -> int | None:
        waiting = [asyncio.create_task(signal.wait()) for signal in (self.triggered, self.ended)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return None if self.ended.is_set() else time.monotonic_ns()

    async def _is_reached(self, at_ns: int) -> bool:
        """Wait for a time; return False if the client ended earlier."""
        try:
            async with asyncio.timeout(max(0, at_ns - time.monotonic_ns()) / NS):
                await self.ended.wait()
        except TimeoutError:
            return not self.ended.is_set()
        return False

    async def _carry_out(self, step: Step, number: int, due_ns: int) -> None:
        spec, began_ns = self.planned.carried_out_by(step, number), time.monotonic_ns()
        if spec is None:
            change = BY_EMULATOR[step.what]
            await self.emulator.send("change", link=step.link, direction=None, change=change)
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
