"""What /proc/stat says about the CPUs of this process."""

from __future__ import annotations

import os
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
