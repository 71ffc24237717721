"""When a failed client starts again: soon, and rarely where retries fail at once; how it stops."""

from __future__ import annotations

import asyncio
import math
import signal
from typing import Any, cast

import pytest

from httpbed.bed.sandbox.sandbox_spec import Exit, ProcessSpec
from httpbed.bed.sandbox.supervisor import Process
from httpbed.trial.run.clients_and_servers import (
    APART_S,
    END_S,
    LATER_SHARE,
    MANY_RUNS,
    Client,
    Pauses,
)


def starts(limit_s: float, takes_s: float) -> list[float]:
    """Return when each run begins, if each fails after so long."""
    pauses, found, now = Pauses(limit_s), list[float](), 0.0
    while now < limit_s:
        found.append(now)
        ended = now + takes_s
        now = max(ended, pauses.due_s(now, ended))
    return found


@pytest.mark.parametrize("limit_s", [60.0, 900.0])
def test_retries_outlast_a_gap_of_any_length(limit_s: float) -> None:
    """They go on until the time limit, and are few."""
    found = starts(limit_s, takes_s=0.02)
    assert len(found) <= 20 + math.log(limit_s / 2) / math.log(1 + LATER_SHARE) + 2 < MANY_RUNS
    for one, following in zip(found, [*found[1:], limit_s], strict=True):
        assert following - one <= max(APART_S, LATER_SHARE * (one + 0.02)) + 1e-9


def test_retries_begin_every_tenth_of_a_second_at_first() -> None:
    """For two seconds."""
    assert starts(2.0, 0.02)[:20] == pytest.approx([number * APART_S for number in range(20)])


def test_a_long_run_is_followed_at_once() -> None:
    """Earlier failures do not delay it."""
    pauses = Pauses(900.0)
    for number in range(50):
        pauses.due_s(number * 0.5, number * 0.5 + 0.02)
    assert pauses.due_s(25.0, 60.0) <= 60.0
    assert pauses.due_s(60.0, 60.02) == 60.0 + APART_S


@pytest.mark.parametrize("takes_s", [0.0, 0.11, 1.0])
def test_the_number_of_runs_is_bounded(takes_s: float) -> None:
    """Even where each run lasts until the next is due."""
    assert len(starts(900.0, takes_s)) <= 2 * MANY_RUNS


class SlowSupervisor:
    """A sandbox whose second start takes until it may end, and whose programs ignore SIGTERM."""

    def __init__(self) -> None:
        self.started = list[Process]()
        self.begins, self.may_end = asyncio.Event(), asyncio.Event()

    async def start(self, spec: ProcessSpec) -> Process:
        """Start a run; the first one fails at once."""
        if self.started:
            self.begins.set()
            await self.may_end.wait()
        number = len(self.started) + 1
        process = Process(number, spec, asyncio.get_running_loop().create_future())
        if not self.started:
            process.exit.set_result(ended(status=1))
        self.started.append(process)
        return process

    async def signal(self, process: Process, number: int) -> None:
        """End a program by SIGKILL only."""
        if number == signal.SIGKILL:
            process.exit.set_result(ended(signal=number))


def ended(**how: int) -> Exit:
    values: dict[str, Any] = {"status": None, "signal": None, "timed_out": False}
    return Exit(**{**values, **how}, wall_s=0.1, cpu_s=0.0, max_rss_kib=1)


def test_a_client_that_is_stopped_while_a_run_starts_ends_with_it() -> None:
    """The run is stopped when it has started, and killed if it does not end by itself."""

    async def stopped() -> Client:
        supervisor = SlowSupervisor()
        client = Client(cast("Any", supervisor), ProcessSpec(("curl",), again=True))
        working = asyncio.create_task(client.work())
        await supervisor.begins.wait()
        stopping = asyncio.create_task(client.stop())
        await asyncio.sleep(0)  # it sees that a run starts
        assert len(supervisor.started) == 1
        supervisor.may_end.set()
        await asyncio.wait_for(stopping, 4 * END_S)
        await working
        return client

    client = asyncio.run(stopped())
    assert client.ended is not None
    assert (client.ended.signal, client.ended.runs) == (signal.SIGKILL, 2)
