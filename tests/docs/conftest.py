"""The published archives, read once."""

from __future__ import annotations

import pytest

import results_archives
from results_archives import PUBLISHED, PublishedExperiment

FOLDERS = sorted(
    file.parent
    for file in PUBLISHED.glob("**/manifest.json")
    if file.parents[1].name in results_archives.PAPERS
)


@pytest.fixture(scope="session")
def published() -> list[PublishedExperiment]:
    """Read the archives and verdicts in ``results/``."""
    return results_archives.read()


@pytest.fixture(params=FOLDERS, ids=lambda folder: str(folder.relative_to(PUBLISHED)))
def one(
    request: pytest.FixtureRequest, published: list[PublishedExperiment]
) -> PublishedExperiment:
    return next(experiment for experiment in published if experiment.folder == request.param)
