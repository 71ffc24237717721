"""The machine on which attempts are admitted."""

from __future__ import annotations

import time

import pytest

from admitted_attempts import CPUS
from httpbed.bed.machine import machine_load
from httpbed.campaign import admission, demand, settings


@pytest.fixture
def four_idle_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Admit attempts to four idle CPUs, on which set-ups take no time."""
    monkeypatch.setattr(settings, "cpus", lambda: CPUS)
    monkeypatch.setattr(machine_load, "idle_s", lambda: CPUS * time.monotonic())
    for constant in ("APART_S", "SETUP_S"):
        monkeypatch.setattr(admission, constant, 0.0)
    monkeypatch.setattr(demand, "OVERHEAD_S", 0.0)
    monkeypatch.setattr(admission, "LOOK_S", 0.0)
