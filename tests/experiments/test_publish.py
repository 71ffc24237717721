"""Where a campaign of a study is published."""

from __future__ import annotations

from pathlib import Path

import publish
import pytest
from reproduce import STUDIES

from results_archives import PAPERS, PUBLISHED

ARCHIVES = [
    file.parent
    for file in sorted(PUBLISHED.glob("**/manifest.json"))
    if file.parents[1].name in PAPERS
]


@pytest.mark.slow
@pytest.mark.parametrize("folder", ARCHIVES, ids=lambda one: str(one.relative_to(PUBLISHED)))
def test_an_archive_stands_where_its_clock_and_seed_belong(folder: Path) -> None:
    """So that publishing it again replaces it, and no other."""
    experiment = STUDIES / f"{folder.parent.name}/{folder.name}.toml"
    assert publish.place_of(folder, experiment) == folder
