"""Hand-overs are carried out in order, when they are due, and not after the client's end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from httpbed.addons.handover.handover_execution import RunningHandovers
from httpbed.addons.handover.handover_plan import HandoverPlan
from httpbed.addons.handover.handover_steps import HANDOVER_STEPS
from httpbed.base.errors import BedError
from httpbed.bed.network.running_network import Emulator
from httpbed.bed.sandbox.sandbox_spec import Exit, ProcessSpec
from httpbed.bed.sandbox.supervisor import Supervisor
from httpbed.experiment.roles import TRIGGER
from httpbed.trial import plan as bed
from recorded import CATALOG, HANDED_OVER, trial

ENDS_AFTER = 4
"""Commands, after which the client is done; so nothing here waits for a clock."""


@dataclass
class Stage:
    """Stands for sandbox, emulator and client."""

    folder: Path
    ended: asyncio.Event
    status: int = 0
    told: list[str] = field(default_factory=list)
    busy_s: float = 0.0
    """What each command takes."""

    async def run(self, spec: ProcessSpec) -> Exit:
        """Take a command, as the sandbox does."""
        await asyncio.sleep(self.busy_s)
        self._took(" ".join(spec.argv[:2]) + (" …flush" if "flush" in (spec.input or "") else ""))
        return Exit(self.status, None, timed_out=False, wall_s=0.0, cpu_s=0.0, max_rss_kib=0)

    async def send(self, order: str, **more: Any) -> None:
        """Take an order, as the emulator does."""
        self._took(f"{order} {more['link']} {json.dumps(more['change'])}")

    def _took(self, what: str) -> None:
        self.told.append(what)
        if len(self.told) == ENDS_AFTER:
            self.ended.set()


def planned(**handover: Any) -> HandoverPlan:
    """Plan another hand-over in the recorded network."""
    one = trial(HANDED_OVER)
    one.document["handover"] = {"links": ["wifi", "cellular"], **handover}
    plan = bed.plan(one, CATALOG).attempt.addition(HandoverPlan)
    assert plan is not None
    return plan


def carried_out(
    tmp_path: Path,
    plan: HandoverPlan,
    before: Callable[[RunningHandovers, asyncio.Event], Awaitable[None]] | None = None,
    status: int = 0,
    busy_s: float = 0.0,
) -> tuple[list[str], list[dict[str, Any]]]:
    """Carry out hand-overs; return the orders and the log."""

    async def run() -> list[str]:
        ended = asyncio.Event()
        stage = Stage(tmp_path, ended, status, busy_s=busy_s)
        handovers = RunningHandovers(cast("Supervisor", stage), plan, tmp_path)
        handovers._emulator = cast("Emulator", stage)
        task = asyncio.create_task(handovers.beside_clients(ended))
        if before:
            await before(handovers, ended)
        await asyncio.wait_for(task, 20)
        return stage.told

    told = asyncio.run(run())
    lines = (tmp_path / HANDOVER_STEPS).read_text().splitlines()
    return told, [json.loads(line) for line in lines]


def test_each_hand_over_has_its_whole_period(tmp_path: Path) -> None:
    """The next one is due a period after the last one began."""
    told, lines = carried_out(tmp_path, planned(kind="blackhole", when={"every": "10 ms"}))
    assert told == [
        'change wifi {"down": true}',
        'change wifi {"down": false}',
        'change cellular {"down": true}',
        'change cellular {"down": false}',
    ]
    downs = [line for line in lines if line["step"] == "down"]
    assert all(two["due_ns"] >= one["began_ns"] for one, two in pairwise(downs))
    assert [line["handover"] for line in lines] == sorted(line["handover"] for line in lines)
    assert all(line["due_ns"] <= line["began_ns"] <= line["ended_ns"] for line in lines)


def test_a_hand_over_waits_for_its_bytes(tmp_path: Path) -> None:
    """The steps begin when the bytes have arrived, and their effects are read afterwards."""

    async def triggered(handovers: RunningHandovers, _: asyncio.Event) -> None:
        await asyncio.sleep(0)
        assert not (tmp_path / HANDOVER_STEPS).read_text()
        handovers.on_trigger("another")
        await asyncio.sleep(0)
        assert not (tmp_path / HANDOVER_STEPS).read_text()
        handovers.on_trigger(TRIGGER)

    plan = planned(kind="address deleted", when={"delivered": "1 kB"}, sockets="destroyed")
    told, lines = carried_out(tmp_path, plan, triggered)
    assert told == ["ip -4 …flush", "ss --kill", "ss --tcp"]
    written = {"handover", "step", "link", "due_ns", "began_ns", "ended_ns"}
    assert all(set(line) == written for line in lines)  # one that fails ends the trial
    assert [(line["step"], line["link"]) for line in lines] == [
        ("detach", "wifi"),
        ("destroy", "wifi"),
    ]


def test_sockets_of_an_address_that_is_back_are_not_read(tmp_path: Path) -> None:
    """The sockets found after the address is back are new ones."""
    repeated = planned(kind="address deleted", when={"every": "10 ms"}, sockets="destroyed")
    told, lines = carried_out(tmp_path, repeated, busy_s=0.02)
    assert [(line["step"], line["link"]) for line in lines] == [
        ("detach", "wifi"),
        ("destroy", "wifi"),
        ("prefer", "cellular"),
        ("attach", "wifi"),
    ]
    assert "ss --tcp" not in told


def test_no_step_follows_the_clients_end(tmp_path: Path) -> None:
    """Every wait ends with the client, whatever it waits for."""

    async def ends(_: RunningHandovers, ended: asyncio.Event) -> None:
        ended.set()

    for when in ({"delivered": "1 kB"}, {"at": "1000 s"}, {"every": "1000 s"}):
        assert carried_out(tmp_path, planned(kind="route", when=when), ends) == ([], [])


def test_a_stable_address_has_no_step_and_no_wait(tmp_path: Path) -> None:
    """A stable address is the control condition."""
    assert carried_out(tmp_path, planned(kind="none")) == ([], [])


def test_a_step_that_fails_is_the_beds_fault(tmp_path: Path) -> None:
    """The error message contains the command that failed."""
    plan = planned(kind="route", when={"at": "1 ms"})
    with pytest.raises(BedError, match=r"ip -4 -batch"):
        carried_out(tmp_path, plan, status=2)
