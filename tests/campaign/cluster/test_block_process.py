"""What a worker's machine compares before it runs a block."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import stored_campaigns
from httpbed.campaign.cluster import block_process
from httpbed.campaign.cluster.messages import BlockRequest, RunSelection, WantedTrial
from httpbed.experiment.errors import ConfigError, HostError

LOADED = stored_campaigns.loaded()


def request(*wanted: WantedTrial) -> BlockRequest:
    """Return a request for these trials of block 2."""
    return BlockRequest(
        key=f"httpbed-{'0' * 32}",
        registration="first",
        block=2,
        text=stored_campaigns.SMALL,
        selection=RunSelection(folder="/"),
        wanted=list(wanted),
        manifest={},
    )


def test_the_wanted_trials_are_those_of_this_machines_own_design() -> None:
    """They keep their order and the numbers of their next attempts."""
    trials = [LOADED.trials[8], LOADED.trials[6]]
    asked = request(*(WantedTrial(id=one.id, number=3) for one in trials))
    assert block_process.wanted(asked, LOADED) == [(one, 3) for one in trials]


def test_a_trial_that_is_another_one_here_is_refused() -> None:
    """A page or a trace with other content gives the trial another identifier."""
    with pytest.raises(ConfigError, match="the experiment has no trial 0123456789ab here"):
        block_process.wanted(request(WantedTrial(id="0123456789ab", number=1)), LOADED)


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


def test_a_block_does_not_begin_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason has the free space, and the remedy the space that is needed."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2 * 10**8))
    with pytest.raises(HostError, match=r"has 0\.2 GB of free disk") as caught:
        block_process.require_disk(tmp_path / "block")
    assert "0.5 GB are needed" in caught.value.remedy
