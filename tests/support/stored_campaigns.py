"""Campaigns in directories, made without running a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.check import ROUND_TRIP_TIME
from httpbed.experiment.factorial import ScaleName
from httpbed.experiment.metric import Observation
from httpbed.experiment.trial import Attempt, Outcome, Record, Trial
from httpbed.programs import catalog
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign
from recorded import DEMO

SMALL = DEMO.replace("replicates = 5", "replicates = 2")
"""Twelve trials: six treatments in two blocks."""

SCALED = (
    SMALL
    + """
[scales.smoke]
replicates = 1
levels = { loss = ["2 %"] }
"""
)
"""The same experiment, with a scale of three trials."""


@cache
def loaded(text: str = SMALL, scale: ScaleName | None = None) -> LoadedExperiment:
    """Read an experiment."""
    return preparation.load(text, _catalog(), options=DesignOptions(scale))


@cache
def _catalog() -> Catalog:
    return catalog.load()


def manifest(
    *, sha256: str = "a" * 64, library: str = "b" * 64, scale: str | None = None
) -> dict[str, Any]:
    """Return the manifest of a run with these programs."""
    program = {"name": "curl", "version": "8.23.0", "sha256": sha256, "path": "/usr/bin/curl"}
    return {
        "schema": 1,
        "scale": scale,
        "programs": [program | {"libraries": {"/usr/lib/libcurl.so.4": library}}],
        "recipes": {"curl": "c" * 64, "nginx": "d" * 64},
    }


def record(trial: Trial, number: int = 1, kind: Any = "completed", seconds: float = 1.0) -> Record:
    """Return the record of an attempt with this outcome."""
    attempt = Attempt(
        trial=trial,
        number=number,
        outcome=Outcome(kind=kind, reason="" if kind == "completed" else "as planned"),
        checks=[ROUND_TRIP_TIME.result(passed=kind != "invalid", figure="50 ms")],
        started="2026-11-21T12:00:00.000+00:00",
        phases_s={"client": seconds, "tear-down": 0.5},
    )
    observation = Observation(metric="request_time", value=seconds, source="wire")
    return Record(attempt=attempt, observations=[observation])


Leave = Callable[[Record, Path], None]
"""Writes the artifacts of an attempt into their folder."""


def nothing(_: Record, artifacts: Path) -> None:
    """Write no artifacts."""
    del artifacts


def keep(campaign: Campaign, *records: Record, leave: Leave = nothing) -> list[Path]:
    """Commit records to a campaign."""
    folders = []
    for one in records:
        folder = campaign.unfinished(one.attempt.trial, one.attempt.number)
        (folder / "artifacts").mkdir()
        leave(one, folder / "artifacts")
        folders.append(campaign.commit(one, folder))
    return folders


def make(
    directory: Path, records: Iterable[Record] = (), text: str = SMALL, leave: Leave = nothing
) -> Campaign:
    """Make a campaign with these attempts."""
    read = loaded(text)
    with campaigns.opened(directory, text, read.trials, manifest()) as campaign:
        keep(campaign, *records, leave=leave)
    return campaigns.open_existing(directory)
