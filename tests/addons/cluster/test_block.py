"""What a worker's machine compares before it runs a block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import stored_campaigns
from cluster_workers import ORDER
from httpbed.addons.cluster import block
from httpbed.addons.cluster.block import BlockRequest
from httpbed.base.errors import ConfigError, HostError
from httpbed.campaign import settings
from httpbed.campaign.admission import Admission
from httpbed.campaign.settings import Parallelism
from httpbed.experiment.trial import Record

LOADED = stored_campaigns.loaded()


def request(*wanted: tuple[str, int]) -> BlockRequest:
    return replace(ORDER, block=2, wanted=wanted)


def test_the_wanted_trials_are_those_of_this_machines_own_design() -> None:
    """They keep their order and the numbers of their next attempts."""
    trials = [LOADED.trials[8], LOADED.trials[6]]
    asked = request(*((trial.id, 3) for trial in trials))
    assert block.wanted(asked, LOADED) == [(trial, 3) for trial in trials]


def test_a_trial_that_is_another_one_here_is_refused() -> None:
    """A page or a trace with other content gives the trial another identifier."""
    with pytest.raises(ConfigError, match="the experiment has no trial 0123456789ab here"):
        block.wanted(request(("0123456789ab", 1)), LOADED)


def test_other_programs_are_refused_with_both_versions() -> None:
    """Programs that only one of both has are no difference."""
    campaign = stored_campaigns.manifest()
    here = stored_campaigns.manifest(sha256="e" * 64)
    block.require_same_programs(campaign, campaign)
    with pytest.raises(ConfigError) as caught:
        block.require_same_programs(campaign, here)
    (mistake,) = caught.value.mistakes
    assert str(mistake) == (
        f"program curl: is 8.23.0 ({'e' * 12}) here, and 8.23.0 ({'a' * 12}) in the campaign;"
        " install the same programs on every machine"
    )


def test_another_httpbed_is_refused_with_both() -> None:
    """The code is part of what runs a trial."""
    with pytest.raises(HostError, match=r"it runs httpbed .*, and the campaign httpbed 0\.1\.0"):
        block.require_same_code(ORDER)
    block.require_same_code(replace(ORDER, code=block.own_code()))


def test_slots_share_the_cpus_of_their_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of a block believes otherwise that all CPUs are its own."""
    monkeypatch.setattr(settings, "cpus", lambda: 6)
    jobs = settings.adapted_parallelism()
    alone, beside = block.parallel(jobs, 1), block.parallel(jobs, 3)
    assert (alone.most, beside.most) == (6 * 24, 2 * 24)
    assert Admission(beside).budget == pytest.approx(Admission(alone).budget / 3)
    assert block.parallel(Parallelism(5), 3) == Parallelism(5)


def test_guests_run_one_on_each_cpu_of_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "cpus", lambda: 6)
    jobs = settings.adapted_parallelism()
    numbers = {slots: block.parallel(jobs, slots, "virtual") for slots in (1, 3, 8)}
    assert numbers == {1: Parallelism(6), 3: Parallelism(2), 8: Parallelism(1)}


def leave(_: Record, artifacts: Path) -> None:
    """Write artifacts as programs do: folders, odd names, links that no digest covers."""
    (artifacts / "client").mkdir()
    (artifacts / "client" / "odd \udcff % name").write_bytes(b"\x00\x01")
    (artifacts / "client" / "link").symlink_to("/etc/passwd")


def test_the_files_of_an_attempt_are_those_that_its_digests_cover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that a program made stays behind; too many bytes say what to do."""
    campaign = stored_campaigns.make(tmp_path / "campaign")
    record = stored_campaigns.record(LOADED.trials[0])
    stored_campaigns.keep(campaign, record, leave=leave)
    (files,) = block.attempt_files(campaign.directory)
    assert set(files) == {
        "trial.json",
        "observations.jsonl",
        "artifacts/client/odd %FF %25 name",
    }
    assert files["artifacts/client/odd %FF %25 name"] == b"\x00\x01"
    monkeypatch.setattr(block, "MAX_BYTES", 50)
    with pytest.raises(HostError, match="keep less"):
        block.attempt_files(campaign.directory)
