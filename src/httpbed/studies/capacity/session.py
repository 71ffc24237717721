"""A capacity test: the same loads one, two, three at a time, by turns, so that drift is shared."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.campaign import executor, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.progress import Progress
from httpbed.campaign.run import OpenRun
from httpbed.experiment.errors import HostError
from httpbed.experiment.trial import Record
from httpbed.host.backend import Backend
from httpbed.programs.catalog import Catalog
from httpbed.store.capacity_records import METRICS
from httpbed.studies.capacity import experiment, judgement
from httpbed.studies.capacity.judgement import LEAST_LOADS, Level, Seen
from httpbed.trial import verdict


@dataclass(frozen=True)
class Test:
    """What is asked of this machine."""

    browser: str
    most: int
    """Side by side."""
    turns: int
    """How often each number has its turn: so many loads of each HTTP version run one at a time."""
    backend: Backend
    command: str

    def loads(self) -> int:
        """How many loads it has."""
        return sum(range(1, self.most + 1)) * self.turns * len(experiment.VERSIONS)


@dataclass(frozen=True)
class Found:
    """What came of a test."""

    levels: tuple[Level, ...]
    made_by: dict[str, Any] = field(repr=False)
    """Programs and machine, as in a campaign's manifest."""

    def undisturbed(self, metric: str) -> int:
        """Return how many side by side leave a metric as it is."""
        return judgement.undisturbed(self.levels, metric)


@dataclass
class _Side:
    """The loads of one number side by side: a campaign of their own."""

    at_once: int
    run: OpenRun
    lasted_s: float = 0.0

    async def turn(self, number: int, tell: Callable[[Progress], None]) -> None:
        each, run = self.at_once * len(experiment.VERSIONS), self.run
        work = run.pending[number * each : (number + 1) * each]
        began = time.monotonic()
        await executor.execute(run.campaign, run.bed, work, jobs=self.at_once, tell=tell, retries=0)
        self.lasted_s += time.monotonic() - began

    def level(self, alone: Sequence[Seen]) -> Level:
        return judgement.level(self.at_once, self.seen(), alone, self.lasted_s)

    def seen(self) -> list[Seen]:
        return [_seen(record) for record in self.run.campaign.records()]


def run(
    test: Test,
    catalog: Catalog,
    folder: Path,
    *,
    tell: Callable[[Progress], None],
    say: Callable[[str], None],
) -> Found:
    """Run a test in an empty folder.

    Raises:
        ConfigError: There is no such browser.
        HostError: This machine cannot run it, or nothing completed.
    """
    loaded = preparation.load(experiment.text(test.browser, test.turns * test.most), catalog)
    options = campaign_run.RunOptions(test.backend, test.command)
    ready = campaign_run.prepare(loaded, catalog, options, say=say)
    with ExitStack() as stack:
        sides = []
        for at_once in range(1, test.most + 1):
            place = folder / str(at_once)
            opening = campaign_run.opened(ready, place, jobs=at_once, say=say)
            sides.append(_Side(at_once, stack.enter_context(opening)))
        asyncio.run(_by_turns(sides, test.turns, tell))
        alone = sides[0].seen()
        _require(alone)
        return Found(tuple(side.level(alone) for side in sides), ready.manifest)


async def _by_turns(sides: Sequence[_Side], turns: int, tell: Callable[[Progress], None]) -> None:
    for number in range(turns):
        for side in sides if number % 2 else reversed(sides):
            await side.turn(number, tell)


def _seen(record: Record) -> Seen:
    attempt = record.attempt
    strained = verdict.is_strained(attempt)
    values = {one.metric: one.value for one in record.observations if one.metric in METRICS}
    return Seen(
        version=attempt.trial.levels[experiment.FACTOR],
        values=values if strained or attempt.outcome.kind == "completed" else {},
        strained=strained,
    )


def _require(alone: Sequence[Seen]) -> None:
    """Refuse to judge others by loads that were not undisturbed themselves."""
    for version in experiment.VERSIONS:
        own = [one for one in alone if one.version == version]
        whole = sum(bool(one.values) and not one.strained for one in own)
        if whole < LEAST_LOADS:
            raise HostError(
                f"only {whole} of {len(own)} loads over HTTP/{version} were undisturbed even alone",
                "try again when the machine is quiet; --keep leaves the trials to look at",
            )
