"""``--clock auto``: the rule, and that no campaign mixes clocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stored_campaigns
from httpbed.addons.virtual.clock import VirtualClock
from httpbed.base.clock import Clock
from httpbed.bed.doctor import Capability
from httpbed.bed.machine import machine_load
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions, RunSettings
from httpbed.cli import clock_choice
from httpbed.programs import catalog as catalogs
from httpbed.store import campaign as campaigns

CATALOG = catalogs.load()
BUSY, CALM = machine_load.BUSY_SHARE, machine_load.BUSY_SHARE - 0.01
FAST = (
    stored_campaigns.SMALL.replace("10 Mbit/s", "10 Gbit/s")
    .replace('"1 MB"', '"900 MB"')
    .replace('"2 %"', '"0.0000001 %"')
    .replace("25 ms", "0 ms")
)


@pytest.fixture(autouse=True)
def _guests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine run guests, whatever it has."""
    monkeypatch.setattr(VirtualClock, "require_machine", lambda _: None)
    monkeypatch.setattr(VirtualClock, "test", lambda _: Capability("guests", True, "boot"))


def chosen(
    directory: Path,
    share: float,
    monkeypatch: pytest.MonkeyPatch,
    *,
    text: str = stored_campaigns.SMALL,
    added: dict[str, Any] | None = None,
) -> tuple[LoadedExperiment, RunSettings]:
    monkeypatch.setattr(machine_load, "taken_share", lambda: share)

    def load(clock: Clock | None) -> LoadedExperiment:
        return preparation.load(text, CATALOG, options=DesignOptions(clock=clock))

    settings = RunSettings(command="httpbed run", added=added or {})
    return clock_choice.by_rule(load, CATALOG, directory, settings, is_asked=True)


@pytest.mark.parametrize(("share", "clock"), [(0.0, "real"), (CALM, "real"), (BUSY, "virtual")])
def test_a_busy_machine_has_virtual_time(
    share: float,
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All trials have the clock, the manifest says why, and one line says which."""
    loaded, settings = chosen(tmp_path, share, monkeypatch)
    assert {trial.clock for trial in loaded.trials} == {clock}
    assert bool(settings.clock_reason) == (clock == "virtual")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"clock: {clock}")


@pytest.mark.parametrize(("was", "share"), [("real", 1.0), ("virtual", 0.0)])
def test_a_campaign_keeps_its_clock(
    was: Clock, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the machine does now."""
    read = preparation.load(stored_campaigns.SMALL, CATALOG, options=DesignOptions(clock=was))
    manifest = stored_campaigns.manifest() | {"clock": was}
    with campaigns.opened(tmp_path / "campaign", read.text, read.trials, manifest):
        pass
    loaded, _ = chosen(tmp_path / "campaign", share, monkeypatch)
    assert loaded.experiment.clock == was


def test_real_time_stays_where_guests_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line has the reason and the remedy."""
    missing = Capability("guests", None, "the kernel is not built yet", "httpbed toolbox kernel")
    monkeypatch.setattr(VirtualClock, "test", lambda _: missing)
    loaded, settings = chosen(tmp_path, BUSY, monkeypatch)
    assert (loaded.experiment.clock, settings.clock_reason) == ("real", "")
    assert missing.remedy in capsys.readouterr().err


def test_real_time_stays_where_virtual_time_is_much_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest computes every packet, and the CPU is part of the answer at such rates."""
    loaded, _ = chosen(tmp_path, BUSY, monkeypatch, text=FAST)
    assert loaded.experiment.clock == "real"


def test_real_time_stays_where_other_machines_run_the_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How busy this one is says nothing of them."""
    cluster = {"cluster": "tls://10.0.0.1:8786"}
    loaded, _ = chosen(tmp_path, BUSY, monkeypatch, added=cluster)
    assert loaded.experiment.clock == "real"
