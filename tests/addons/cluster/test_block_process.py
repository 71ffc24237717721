"""What a worker's machine compares before it runs a block."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import stored_campaigns
from cluster_workers import ORDER
from httpbed.addons.cluster import attempt_archive, block_process
from httpbed.addons.cluster.messages import BlockRequest
from httpbed.base.errors import ConfigError, HostError
from httpbed.campaign import settings
from httpbed.campaign.admission import Admission
from httpbed.campaign.settings import Parallelism

LOADED = stored_campaigns.loaded()


def request(*wanted: tuple[str, int]) -> BlockRequest:
    return replace(ORDER, block=2, wanted=wanted)


def test_the_wanted_trials_are_those_of_this_machines_own_design() -> None:
    """They keep their order and the numbers of their next attempts."""
    trials = [LOADED.trials[8], LOADED.trials[6]]
    asked = request(*((one.id, 3) for one in trials))
    assert block_process.wanted(asked, LOADED) == [(one, 3) for one in trials]


def test_a_trial_that_is_another_one_here_is_refused() -> None:
    """A page or a trace with other content gives the trial another identifier."""
    with pytest.raises(ConfigError, match="the experiment has no trial 0123456789ab here"):
        block_process.wanted(request(("0123456789ab", 1)), LOADED)


def test_other_programs_are_refused_with_both_versions() -> None:
    """Programs that only one of both has are no difference."""
    campaign = stored_campaigns.manifest()
    here = stored_campaigns.manifest(sha256="e" * 64)
    block_process.require_same_programs(campaign, campaign)
    with pytest.raises(ConfigError) as caught:
        block_process.require_same_programs(campaign, here)
    (mistake,) = caught.value.mistakes
    assert str(mistake) == (
        f"program curl: is 8.23.0 ({'e' * 12}) here, and 8.23.0 ({'a' * 12}) in the campaign;"
        " install the same programs on every machine"
    )


def test_slots_share_the_cpus_of_their_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of a block believes otherwise that all CPUs are its own."""
    monkeypatch.setattr(settings, "cpus", lambda: 6)
    jobs = settings.adapted_parallelism()
    alone, beside = block_process.parallel(jobs, 1), block_process.parallel(jobs, 3)
    assert (alone.most, beside.most) == (6 * 24, 2 * 24)
    assert Admission(beside).budget == pytest.approx(Admission(alone).budget / 3)
    assert block_process.parallel(Parallelism(5), 3) == Parallelism(5)


def test_guests_run_one_on_each_cpu_of_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "cpus", lambda: 6)
    jobs = settings.adapted_parallelism()
    numbers = {slots: block_process.parallel(jobs, slots, "virtual") for slots in (1, 3, 8)}
    assert numbers == {1: Parallelism(6), 3: Parallelism(2), 8: Parallelism(1)}


def test_an_attempt_that_is_too_large_is_announced_without_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign learns its length, and the worker's disk is spared."""
    campaign = stored_campaigns.make(tmp_path / "campaign")
    (folder,) = stored_campaigns.keep(campaign, stored_campaigns.record(LOADED.trials[0]))
    (whole,) = block_process.packed(campaign.directory.resolve(), tmp_path)
    assert whole.travels
    archive = tmp_path / block_process.file_name(whole)
    assert archive.stat().st_size > whole.bytes
    archive.unlink()
    monkeypatch.setattr(attempt_archive, "MAX_BYTES", 50)
    (large,) = block_process.packed(campaign.directory.resolve(), tmp_path)
    assert (large.trial, large.number, large.travels) == (whole.trial, 1, False)
    assert folder.is_dir()
    assert not list(tmp_path.glob("*.tar"))


def test_a_block_does_not_begin_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason has the free space, and the remedy the space that is needed."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2 * 10**8))
    with pytest.raises(HostError, match=r"has 0\.2 GB of free disk") as caught:
        block_process.require_disk(tmp_path / "block")
    assert "0.5 GB are needed" in caught.value.remedy
