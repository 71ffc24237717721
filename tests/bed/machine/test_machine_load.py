"""What /proc/stat says about the CPUs of this process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from httpbed.bed.machine import machine_load

STAT = """\
cpu  10 0 10 6000 0 0 0 700 0 0
cpu0 5 0 5 1000 0 0 0 300 0 0
cpu1 5 0 5 2000 0 0 0 400 0 0
cpu11 5 0 5 3000 0 0 0 400 0 0
ctxt 1234
"""


@pytest.fixture(autouse=True)
def _a_machine_of_three_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT)
    monkeypatch.setattr(machine_load, "_STAT", tmp_path / "stat")
    monkeypatch.setattr(machine_load, "_PSI", tmp_path / "absent")
    monkeypatch.setattr(os, "sysconf", lambda _: 100)


@pytest.mark.parametrize(("own", "idle_s"), [({0, 1, 11}, 60.0), ({1}, 20.0), ({0, 11}, 40.0)])
def test_only_cpus_that_the_process_may_use_are_idle_for_it(
    monkeypatch: pytest.MonkeyPatch, own: set[int], idle_s: float
) -> None:
    """An idle CPU outside its set (taskset, a container's cpuset) starts no attempt."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: own)
    assert machine_load.idle_s() == idle_s


def test_without_pressure_stall_information_steal_of_the_machine_is_read() -> None:
    """The line of all CPUs has it."""
    found = machine_load.read_pressure()
    assert (found.source, found.seconds) == ("steal", 7.0)


@pytest.mark.parametrize(("niceness", "share"), [(0, 0.25), (10, 0.75)])
def test_niced_programs_take_cpus_from_a_niced_process_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, niceness: int, share: float
) -> None:
    """Of two seconds of one CPU, others compute for half of one, and niced ones for a second."""
    stat, now = tmp_path / "stat", [0.0]

    def two_seconds_later(seconds: float) -> None:
        now[0] += seconds
        stat.write_text("cpu0 55 100 5 1050 0 0 0 300 0 0\n")

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(os, "getpriority", lambda *_: niceness)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", two_seconds_later)
    assert machine_load.taken_share() == pytest.approx(share)
