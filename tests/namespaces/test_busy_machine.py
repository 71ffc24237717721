"""Attempts on a busy machine are invalid: here, unlike elsewhere, all limits apply."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import patience
import process_tree
from handover_experiments import HandoverExperiment
from httpbed.addons.handover import handover_checks as handover
from httpbed.experiment.check import PRESSURE, SOCKET_DROPS
from httpbed.experiment.trial import Record
from httpbed.trial import verdict
from httpbed.trial.checks import bed
from patience import LIMITED
from planting import Caught, emulators
from real_runs import SmallExperiment, check, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.alone]

DOWNLOAD = SmallExperiment(versions=("1.1",), size="20 kB")
HANDOVER = HandoverExperiment(handover='kind = "route"\nwhen = { delivered = "100 kB" }')


@pytest.fixture(scope="module", autouse=True)
def _patient() -> None:
    """Lift no limit: this replaces the fixture of the folder."""


def attempts(tmp_path: Path, settings: SmallExperiment) -> list[Record]:
    """Run a trial with its retries, and return all attempts."""
    return stage(settings).run(tmp_path / "campaign")


@pytest.mark.parametrize("settings", [DOWNLOAD, HANDOVER], ids=["download", "hand-over"])
def test_a_trial_completes_unless_the_machine_is_busy(
    tmp_path: Path, settings: SmallExperiment
) -> None:
    """The limits of a real run apply, and decide whether an attempt is valid."""
    assert all(getattr(module, name) == limited for (module, name), limited in LIMITED.items())
    for record in attempts(tmp_path, settings):
        pressure = check(record, PRESSURE.title())
        assert pressure.measured is not None
        assert pressure.passed == (pressure.measured <= PRESSURE.limit)
        attempt = record.attempt
        assert attempt.outcome.kind == "completed" or verdict.is_strained(attempt), attempt.outcome


@pytest.mark.parametrize(
    ("settings", "module", "name", "limit"),
    [
        (DOWNLOAD, bed, "LATENESS", 0.0),
        (DOWNLOAD, bed, "PRESSURE", -1.0),
        (HANDOVER, handover, "HANDOVER_PROMPT", 0.0),
    ],
    ids=["lateness", "pressure", "hand-over"],
)
def test_an_attempt_beyond_a_limit_is_invalid(  # noqa: PLR0913 - one parameter per column
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    settings: SmallExperiment,
    module: ModuleType,
    name: str,
    limit: float,
) -> None:
    """With a limit that no attempt can keep, the attempt is invalid for that reason."""
    planted = replace(LIMITED[module, name], limit=limit)
    monkeypatch.setattr(module, name, planted)
    (record,) = stage(settings).run(tmp_path / "campaign", retries=0)
    assert record.attempt.outcome.kind == "invalid"
    assert planted.title() in record.attempt.outcome.reason
    assert check(record, planted.title()).passed is False


STOPPED_S = 0.1
"""A link of 10 Mbit/s has more than fifty packets due in that time. At 50 Mbit/s more than four
hundred are due, and the socket of a client holds a quarter of them."""
BURNERS = 4 * (os.cpu_count() or 1)


@pytest.mark.planted("the emulator is late", by="emulator lateness")
def test_a_late_emulator_is_the_beds_fault(tmp_path: Path, caught: Caught) -> None:
    """It is stopped for a while, again and again."""
    with stopped_at_times(emulators):
        settings = SmallExperiment(versions=("1.1",), size="1 MB")
        assert caught(stage(settings).run(tmp_path / "campaign", retries=0))


@contextlib.contextmanager
def stopped_at_times(found: Callable[[], set[int]]) -> Iterator[None]:
    """Stop processes for some of the time."""
    ended = threading.Event()

    def stop() -> None:
        while not ended.wait(STOPPED_S / 4):
            with contextlib.suppress(ProcessLookupError):
                for pid in found():
                    os.kill(pid, signal.SIGSTOP)
                    ended.wait(STOPPED_S)
                    os.kill(pid, signal.SIGCONT)

    stopper = threading.Thread(target=stop)
    stopper.start()
    try:
        yield
    finally:
        ended.set()
        stopper.join()


@pytest.mark.planted("other processes burn all CPUs", by="CPU pressure")
def test_a_machine_that_computes_is_the_beds_fault(tmp_path: Path, caught: Caught) -> None:
    """A client that decrypts in Python needs a CPU nearly all the time, and shares it with four."""
    settings = SmallExperiment(
        versions=("3",), client="aioquic", size="1 MB", rate="100 Mbit/s", time_limit="60 s"
    )
    with burning():
        assert caught(stage(settings).run(tmp_path / "campaign", retries=0))


BY_QUIC = SmallExperiment(
    versions=("3",),
    server="caddy",
    congestion_control="fixed",
    size="10 MB",
    rate="50 Mbit/s",
    time_limit="60 s",
)
"""nginx would send no more than its stream buffer of 64 kB at once, which a socket holds."""


def clients() -> set[int]:
    """Find the clients of this process's trials."""
    family = process_tree.descendants(os.getpid())
    return {process.pid for process in family if process.name == "curl"}


@pytest.mark.planted("a busy machine gives the client no CPU", by="drops in UDP sockets")
def test_datagrams_dropped_for_lack_of_a_cpu_are_the_beds_fault(
    tmp_path: Path, caught: Caught
) -> None:
    """The client is stopped while the other processes run, as it may be by the scheduler."""
    with burning(), stopped_at_times(clients):
        assert caught(stage(BY_QUIC).run(tmp_path / "campaign", retries=0))


def test_datagrams_that_a_client_leaves_are_data_where_no_others_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number is in the record; any pressure passes here, because other tests may cause it."""
    patience.lift(monkeypatch.setattr)
    with stopped_at_times(clients):
        (record,) = stage(BY_QUIC).run(tmp_path / "campaign", retries=0)
    drops = check(record, SOCKET_DROPS.title(where="client"))
    assert record.attempt.outcome.kind == "completed"
    assert drops.passed
    assert drops.measured is not None
    assert drops.measured > 0


@contextlib.contextmanager
def burning() -> Iterator[None]:
    """Run processes that compute, four for each CPU.

    Each has a session of its own: Linux' autogroups share the CPUs among sessions, and the trial is
    one of them.
    """
    loop = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(loop, start_new_session=True) for _ in range(BURNERS)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
