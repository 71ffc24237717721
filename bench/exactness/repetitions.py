"""Runs the trials of a family three times: alone, on a busy machine, and side by side elsewhere."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import tomlkit
from bench.exactness import evidence
from bench.exactness.evidence import Evidence
from bench.exactness.families import Family
from bench.exactness.table import Row

from httpbed.campaign import campaign_setup, preparation, run
from httpbed.campaign.run import Prepared
from httpbed.campaign.settings import ONE, Parallelism, RunSettings
from httpbed.programs.catalog import Catalog

TWO = Parallelism(2)
Condition = tuple[Parallelism, AbstractContextManager[None]]
Say = Callable[[str], None]


def measured(family: Family, catalog: Catalog, folder: Path, say: Say) -> Iterator[Row]:
    """Run a family under each condition; yield its trials."""
    ready = prepared(family, catalog, say)
    found = dict[str, Mapping[str, Evidence]]()
    for name, (jobs, beside) in _conditions().items():
        say(f"{family.name}, {name}: {len(ready.loaded.trials)} trials")
        with beside:
            found[name] = run_once(ready, folder / name, jobs, say)
    for trial in found["alone"]:
        repetitions = {name: done[trial] for name, done in found.items()}
        yield Row(family.name, trial, repetitions, family.promises.get(trial, ()))


def prepared(family: Family, catalog: Catalog, say: Say) -> Prepared:
    """Prepare all that a family's trials need."""
    loaded = preparation.load(tomlkit.dumps(dict(family.document)), catalog)
    return campaign_setup.prepare(loaded, catalog, RunSettings(command="bench"), say=say)


def run_once(ready: Prepared, directory: Path, jobs: Parallelism, say: Say) -> dict[str, Evidence]:
    """Run all trials of a family in a campaign of its own; return their evidence by name."""
    with run.opened(ready, directory, jobs=jobs, say=say) as campaign_run:
        campaign_run.finish(tell=lambda _: None, retries=0)
        return evidence.of_campaign(campaign_run.campaign)


def _conditions() -> dict[str, Condition]:
    return {
        "alone": (ONE, contextlib.nullcontext()),
        "busy": (ONE, burning()),
        "another folder": (TWO, contextlib.nullcontext()),
    }


@contextlib.contextmanager
def burning() -> Iterator[None]:
    """Keep every processor busy with two programs that compute."""
    count = 2 * len(os.sched_getaffinity(0))
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
