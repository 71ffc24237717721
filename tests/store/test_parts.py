"""Parts of a campaign, of some blocks each, are together the campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

import stored_campaigns
from httpbed.base.errors import ConfigError
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions
from httpbed.programs import catalog
from httpbed.store import archive, query
from httpbed.store import campaign as campaigns

FOUR = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 4")
IN_A_RANGE = stored_campaigns.SMALL.replace(
    "replicates = 2", 'replicates = { min = 6, max = 9, until = "ci 5 %" }'
)


def loaded(blocks: tuple[int, int] | None, text: str = FOUR) -> LoadedExperiment:
    return preparation.load(text, catalog.load(), options=DesignOptions(blocks=blocks))


def run(directory: Path, blocks: tuple[int, int] | None) -> int:
    """Run the trials of some blocks that did not run; return the number of those that ran."""
    part = loaded(blocks)
    about = stored_campaigns.manifest() | ({"blocks": [*blocks]} if blocks else {})
    with campaigns.opened(directory, FOUR, part.trials, about) as campaign:
        missing = [trial for trial in part.trials if trial.id not in campaign.attempts()]
        records = [stored_campaigns.record(trial, seconds=float(trial.block)) for trial in missing]
        stored_campaigns.keep(campaign, *records)
    return len(missing)


def test_parts_have_the_trials_of_the_whole_in_their_order() -> None:
    parts = [loaded(blocks).trials for blocks in ((1, 1), (2, 3), (4, 4))]
    assert [trial.id for part in parts for trial in part] == [
        trial.id for trial in loaded(None).trials
    ]


def test_archives_of_parts_join_into_that_of_the_whole(tmp_path: Path) -> None:
    """The archive of the first part and the later parts, as blocks are added to published ones."""
    run(tmp_path / "first", (1, 2))
    run(tmp_path / "rest", (3, 4))
    run(tmp_path / "whole", None)
    archive.merge([tmp_path / "first"], tmp_path / "published")
    archive.merge([tmp_path / "published", tmp_path / "rest"], tmp_path / "joined")
    joined, whole = query.read(tmp_path / "joined"), query.read(tmp_path / "whole")
    assert joined.observations.equals(whole.observations)
    assert joined.trials.equals(whole.trials)
    assert (joined.planned, joined.experiment.replicates) == (whole.planned, 4)


def test_a_folder_with_a_part_takes_the_other_blocks(tmp_path: Path) -> None:
    assert run(tmp_path, (3, 4)) == 12
    assert run(tmp_path, None) == 12
    assert query.read(tmp_path).planned == 24


def test_blocks_beyond_the_design_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        loaded((4, 5))
    (mistake,) = caught.value.mistakes
    assert mistake.place == "--blocks"


def test_a_rule_that_needs_all_blocks_is_refused_for_a_part() -> None:
    with pytest.raises(ConfigError) as caught:
        loaded((1, 2), IN_A_RANGE)
    (mistake,) = caught.value.mistakes
    assert mistake.place == "--blocks"
