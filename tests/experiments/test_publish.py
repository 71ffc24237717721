"""Where a campaign of a study is published."""

from __future__ import annotations

import publish
import pytest
from reproduce import STUDIES

import results_archives
from results_archives import PublishedExperiment


@pytest.mark.parametrize("one", results_archives.read(), ids=lambda one: one.place)
def test_an_archive_stands_where_its_clock_and_seed_belong(one: PublishedExperiment) -> None:
    """So that publishing it again replaces it, and no other."""
    experiment = STUDIES / f"{one.name}.toml"
    assert publish.place_of(one.folder, experiment) == one.folder
