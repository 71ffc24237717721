"""Runs a capacity test: the same loads one, two, three at a time, in turns that share any drift."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.addons.capacity import experiment, judgement
from httpbed.addons.capacity.capacity_records import METRICS
from httpbed.addons.capacity.experiment import LEAST_LOADS
from httpbed.addons.capacity.judgement import ConcurrencyLevel, ConcurrentLoad
from httpbed.base.errors import HostError
from httpbed.bed.machine.backend import Backend
from httpbed.campaign import executor, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.admission import Admission
from httpbed.campaign.parallelism import Parallelism
from httpbed.campaign.progress import AttemptProgress
from httpbed.campaign.run import OpenRun
from httpbed.experiment.trial import Record
from httpbed.programs.catalog import Catalog
from httpbed.trial import verdict


@dataclass(frozen=True)
class CapacityTest:
    """A capacity test before it runs."""

    browser: str
    most: int
    """Largest number of loads side by side."""
    turns: int
    """Rounds for each number of loads; equals the number of single loads of each HTTP version."""
    backend: Backend
    command: str

    def loads(self) -> int:
        """Return the number of its loads."""
        return sum(range(1, self.most + 1)) * self.turns * len(experiment.VERSIONS)


@dataclass(frozen=True)
class CapacityResult:
    """The result of a capacity test."""

    levels: tuple[ConcurrencyLevel, ...]
    made_by: dict[str, Any] = field(repr=False)
    """The campaign's manifest, with programs and machine."""

    def undisturbed(self, metric: str) -> int:
        """Return how many loads side by side leave a metric undisturbed."""
        return judgement.undisturbed(self.levels, metric)


@dataclass
class _Side:
    """The loads of one number side by side, in their own campaign."""

    at_once: int
    run: OpenRun
    lasted_s: float = 0.0

    async def turn(self, number: int, tell: Callable[[AttemptProgress], None]) -> None:
        each, run = self.at_once * len(experiment.VERSIONS), self.run
        work = run.pending[number * each : (number + 1) * each]
        began = time.monotonic()
        await executor.execute(
            run.campaign,
            run.setup,
            work,
            admission=Admission(Parallelism(self.at_once)),
            tell=tell,
            say=run.say,
            retries=0,
        )
        self.lasted_s += time.monotonic() - began

    def level(self, alone: Sequence[ConcurrentLoad]) -> ConcurrencyLevel:
        return judgement.level(self.at_once, self.loads(), alone, self.lasted_s)

    def loads(self) -> list[ConcurrentLoad]:
        return [_load(record) for record in self.run.campaign.records()]


def run(
    test: CapacityTest,
    catalog: Catalog,
    folder: Path,
    *,
    tell: Callable[[AttemptProgress], None],
    say: Callable[[str], None],
) -> CapacityResult:
    """Run a test in an empty folder.

    Raises:
        ConfigError: The browser is unknown.
        HostError: This machine cannot run it, or even single loads were disturbed.
    """
    loaded = preparation.load(experiment.text(test.browser, test.turns * test.most), catalog)
    options = campaign_run.RunOptions(test.backend, test.command)
    ready = campaign_run.prepare(loaded, catalog, options, say=say)
    with ExitStack() as stack:
        sides = []
        for at_once in range(1, test.most + 1):
            place = folder / str(at_once)
            opening = campaign_run.opened(ready, place, jobs=Parallelism(at_once), say=say)
            sides.append(_Side(at_once, stack.enter_context(opening)))
        asyncio.run(_by_turns(sides, test.turns, tell))
        alone = sides[0].loads()
        _require(alone)
        return CapacityResult(tuple(side.level(alone) for side in sides), ready.manifest)


async def _by_turns(
    sides: Sequence[_Side], turns: int, tell: Callable[[AttemptProgress], None]
) -> None:
    for number in range(turns):
        for side in sides if number % 2 else reversed(sides):
            await side.turn(number, tell)


def _load(record: Record) -> ConcurrentLoad:
    attempt = record.attempt
    strained = verdict.is_strained(attempt)
    values = {one.metric: one.value for one in record.observations if one.metric in METRICS}
    return ConcurrentLoad(
        version=attempt.trial.levels[experiment.FACTOR],
        values=values if strained or attempt.outcome.kind == "completed" else {},
        strained=strained,
    )


def _require(alone: Sequence[ConcurrentLoad]) -> None:
    """Refuse to compare with single loads that were disturbed themselves."""
    for version in experiment.VERSIONS:
        own = [one for one in alone if one.version == version]
        whole = sum(bool(one.values) and not one.strained for one in own)
        if whole < LEAST_LOADS:
            raise HostError(
                f"only {whole} of {len(own)} loads in HTTP/{version} were undisturbed even alone",
                "try again when the machine is quiet; --keep DIR keeps the trials",
            )
