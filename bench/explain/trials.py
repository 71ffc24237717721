"""Runs planted experiments as campaigns of one trial each, with their packets kept.

Each runs in a process of its own that inherits all imports and writes no report, because these take
longer than a trial in virtual time.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from bench.explain.plants import Plant, recipes

from httpbed.bed.machine import backend
from httpbed.campaign import campaign_setup, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.settings import ONE, RunSettings
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog

KEPT = frozenset({"packets"})


def catalog_of(folder: Path) -> Catalog:
    """Write the recipes of programs that have a planted cause, and return all recipes."""
    place = folder / "recipes"
    place.mkdir(parents=True, exist_ok=True)
    for name, text in recipes().items():
        (place / name).write_text(text)
    return catalogs.load([place])


def run(planted: Iterable[Plant], folder: Path, catalog: Catalog, jobs: int) -> None:
    """Run the plants whose trials are not in the folder yet, some side by side."""
    wanted = [(folder / plant.label, plant.text) for plant in planted]
    missing = [(place, text) for place, text in wanted if not has_trial(place)]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for place in pool.imap(partial(_run, catalog), missing):
            if not has_trial(place):
                sys.exit(f"{place} has no trial; {place}.log says why")


def has_trial(place: Path) -> bool:
    """Whether a trial has run in a folder."""
    return any(place.glob("trials/*/*/*/trial.json"))


def _run(catalog: Catalog, planted: tuple[Path, str]) -> Path:
    place, text = planted
    with Path(f"{place}.log").open("w") as log:
        for stream in sys.stdout, sys.stderr:
            os.dup2(log.fileno(), stream.fileno())
        loaded = preparation.load(text, catalog, place.parent)
        settings = RunSettings(
            backend=backend.choose(None), command="make bench-explain", keep=KEPT
        )
        ready = campaign_setup.prepare(loaded, catalog, settings, say=print)
        campaign_run.timed(ready, place, jobs=ONE, tell=_nothing, say=print)
    return place


def _nothing(*_: object) -> None:
    """Leave out the progress."""
