"""The hand-overs of a trial as a value: planned before the trial, carried out in it.

A planner needs neither numpy nor what runs, so both are imported when they are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from httpbed.addons.handover import handover_steps
from httpbed.addons.handover.handover_steps import BY_EMULATOR, HandoverCommands
from httpbed.base import units
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.experiment.kept import LINK_RESULT
from httpbed.trial.attempt_plan import AttemptAddition, RunningAddition, read_object
from httpbed.trial.hops import NetworkHop

if TYPE_CHECKING:
    from httpbed.bed.sandbox.supervisor import Supervisor
    from httpbed.store.packet_log import PacketLog


@dataclass(frozen=True)
class HandoverPlan(HandoverCommands, AttemptAddition):
    """Everything that the hand-overs of a trial may start."""

    def numbers(self) -> range:
        """Return the numbers of one round of hand-overs; later rounds repeat them."""
        if not self.handover.happens:
            return range(0)
        return range(1, 1 + (len(self.handover.links) if self.handover.repeats_s else 1))

    def before_clients(self) -> tuple[ProcessSpec, ...]:
        """Return the monitor, and the commands that remove the addresses of later."""
        return (self.monitor, *self.without_addresses())

    def reads_packet_log(self) -> bool:
        """Whether the log is reduced to what each link delivered: always."""
        return True

    def reduce(self, artifacts: Path, log: PacketLog, hop: NetworkHop) -> None:
        """Write what each link delivered to the client."""
        from httpbed.addons.handover import handover_deliveries  # noqa: PLC0415 - it needs numpy

        towards = {path.downstream: path.names[0] for path in hop.paths}
        origin_ns = hop.first_packet_ns(read_object(artifacts, LINK_RESULT)) or 0
        handover_deliveries.reduce(artifacts, log, towards, origin_ns)

    def running(
        self, supervisor: Supervisor, artifacts: Path
    ) -> AbstractAsyncContextManager[RunningAddition]:
        """Return what carries them out."""
        from httpbed.addons.handover.handover_execution import RunningHandovers  # noqa: PLC0415

        return nullcontext(RunningHandovers(supervisor, self, artifacts))

    def imported_later(self) -> tuple[str, ...]:
        """Name the modules of execution and reduction."""
        return tuple(
            f"httpbed.addons.handover.{name}"
            for name in ("handover_deliveries", "handover_execution")
        )

    def described(self) -> dict[str, Any]:
        """Return the steps of one round."""
        return {"handovers": list(self._described_steps())}

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the steps of one round, each with its command."""
        for step in self._described_steps():
            if step["is_first"]:
                yield 4, f"# hand-over {step['handover']}, {step['when']}"
            later = f", {units.format_duration(step['after_s'])} later" if step["after_s"] else ""
            yield 4, f"# {step['step']} {step['link']}{later}"
            yield 4, step["command"]

    def _described_steps(self) -> Iterator[dict[str, Any]]:
        after_s = handover_steps.after_last_s(self.handover, 1)
        first = f"when {handover_steps.awaited(self.handover)}"
        if after_s is not None:
            first = f"{units.format_duration(after_s)} after the client's start"
        later = f"{units.format_duration(self.handover.repeats_s or 0.0)} later"
        for number in self.numbers():
            for index, step in enumerate(handover_steps.steps(self.handover, number)):
                made_by = self.carried_out_by(step, number)
                change = json.dumps(BY_EMULATOR.get(step.what))
                yield {
                    "handover": number,
                    "when": first if number == 1 else later,
                    "is_first": index == 0,
                    "step": step.what,
                    "link": step.link,
                    "after_s": step.after_s,
                    "command": made_by.shell() if made_by else f"[emulator] change {change}",
                }
