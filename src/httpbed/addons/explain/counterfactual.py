"""Lifts a limit and runs the same trial again: does its cause go away, and what does that save?

The trial keeps its block and seed, so the same packets are lost and the same delays drawn. In
virtual time the two trials differ by the lifted limit alone. A cause is **confirmed** if its cost
falls to a fifth or less. What lifting it saves may be less than it cost, because the next limit is
behind it. So lifts are stacked in a **ladder**: each rung lifts the dearest cause of the rung
before, as long as something can lift it. A lift that saves nothing is shown and not kept.

The difference of two trials is explained in the same way: the slower one climbs, and each rung
lifts what it still spends most on beyond the faster one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from httpbed.addons.explain.again import Again, kept, loaded_trials
from httpbed.addons.explain.difference import Difference
from httpbed.addons.explain.explanation import Explained, Place, Unexplained, of_attempt
from httpbed.addons.explain.lifts import Document, Lift, lifts
from httpbed.addons.explain.rung import Rung
from httpbed.base.errors import BedError
from httpbed.bed.machine import backend
from httpbed.campaign import campaign_setup, executor
from httpbed.cli.echo import say
from httpbed.experiment.trial import Record, Trial
from httpbed.store.results import Results
from httpbed.trial.plan import CampaignSetup, PlanOptions
from httpbed.trial.verdict import AttemptId

MAX_RUNGS = 6
WORTH = 0.05
"""Share of the time, or of a difference, that a cause must cost to be lifted."""


def ladders(
    results: Results, climbing: list[Explained], how: Again, towards: Explained | None = None
) -> dict[tuple[int, str], list[Rung]]:
    """Climb the ladder of each trial, to no limit or ``towards`` a faster one; by block and trial.

    :raises ConfigError: when the experiment cannot be read.
    :raises HostError: when this machine cannot run trials.
    """
    chosen = {(explained.block, tuple(explained.levels.values())) for explained in climbing}
    loaded = loaded_trials(results, chosen, how)
    options = PlanOptions(keep=kept(loaded, how), backend=backend.choose(None))
    setup = campaign_setup.make_setup(loaded, how.catalog, options, say=say)
    by_place = {
        (explained.block, tuple(explained.levels.values())): explained
        for explained in loaded.trials
    }
    rungs = dict[tuple[int, str], list[Rung]]()
    for explained in climbing:
        trial = by_place[explained.block, tuple(explained.levels.values())]
        climbed = _Ladder(setup, how, trial, explained, towards)
        rungs[explained.block, explained.trial] = list(climbed.rungs())
    return rungs


@dataclass(frozen=True)
class _Ladder:
    setup: CampaignSetup
    how: Again
    trial: Trial
    first: Explained
    towards: Explained | None

    def rungs(self) -> Iterator[Rung]:
        """Yield rungs until nothing worth it can be lifted."""
        now, document, tried = self.first, self.trial.document, set[str]()
        for _ in range(MAX_RUNGS):
            lift = self._next(now, document, tried)
            if lift is None:
                return
            tried.add(lift.what)
            after = self._run(lift)
            rung = Rung(lift, now, after)
            yield rung
            if rung.is_kept and isinstance(after, Explained):
                now, document = after, lift.document

    def _next(self, now: Explained, document: Document, tried: set[str]) -> Lift | None:
        """Return the lift of the dearest cause that can be lifted."""
        for cause in causes_worth_lifting(now, self.first, self.towards):
            for lift in lifts(now, cause, document, self.how.catalog):
                if lift.what not in tried:
                    return lift
        return None

    def _run(self, lift: Lift) -> Explained | Unexplained:
        """Run the trial with a limit lifted, outside of any campaign, until an attempt is valid."""
        trial = self.trial.model_copy(update={"document": lift.document})
        place = Place(self.first.block, trial.id, self.first.levels)
        say(f"trying {lift.what}")
        reason = ""
        for number in range(1, executor.MAX_RETRIES + 2):
            with TemporaryDirectory(prefix="httpbed-explain-") as folder:
                artifacts = Path(folder) / "artifacts"
                this = AttemptId(trial, number, datetime.now(UTC))
                try:
                    record = asyncio.run(executor.judged(this, self.setup, artifacts, self.setup))
                except BedError as error:
                    return place.unexplained(f"the bed: {error}")
                if record.attempt.outcome.kind != "invalid":
                    return self._divided(place, trial, artifacts, record)
            reason = record.attempt.outcome.reason
            if not executor.may_end_otherwise(record.attempt):
                break
            time.sleep(executor.PAUSE_S * 2 ** (number - 1))
        return place.unexplained(f"no attempt was valid: {reason}")

    def _divided(
        self, place: Place, trial: Trial, artifacts: Path, record: Record
    ) -> Explained | Unexplained:
        times = [one.value for one in record.observations if one.metric == "request_time"]
        return of_attempt(
            place,
            artifacts,
            trial.scenario(),
            trial.clock,
            self.how.catalog,
            request_s=times[0] if times else None,
            outcome=record.attempt.outcome.kind,
        )


def causes_worth_lifting(
    now: Explained, first: Explained, towards: Explained | None
) -> Iterable[str]:
    """Return the causes that cost enough, the dearest first: all, or beyond a faster trial's."""
    if towards is None:
        return [name for name, cost in now.ranked if cost >= WORTH * now.division.whole]
    least = WORTH * Difference(towards, first).whole
    left = Difference(towards, now)
    if left.whole < least:
        return []
    return [name for name, more in left.causes if more >= least]
