"""Lifts a limit and runs the same trial again: does its cause go away, and what does that save?

The trial keeps its block and seed, so the same packets are lost and the same delays drawn. In
virtual time the two trials differ by the lifted limit alone. A cause is **confirmed** if its cost
falls to a fifth or less. What lifting it saves may be less than it cost, because the next limit is
behind it. So lifts are stacked in a **ladder**: each rung lifts the dearest cause of the rung
before, as long as something can lift it.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from httpbed.addons.explain.again import KEPT, Again, loaded_trials
from httpbed.addons.explain.explanation import Explained, Place, Unexplained, of_attempt
from httpbed.addons.explain.rung import Document, Lift, Rung
from httpbed.base.errors import BedError
from httpbed.bed.machine import backend
from httpbed.campaign import campaign_setup, executor
from httpbed.cli.echo import say
from httpbed.experiment.trial import Trial
from httpbed.store.results import Results
from httpbed.trial.plan import CampaignSetup, PlanOptions
from httpbed.trial.verdict import AttemptId

MAX_RUNGS = 4
WORTH = 0.05
"""Share of the time that a cause must cost to be lifted."""
LONGER_QUEUE = {"discipline": "droptail", "limit": "100000 packets"}
LOSSES = ("loss", "corruption", "policing")


def ladders(
    results: Results, explained: list[Explained], how: Again
) -> dict[tuple[int, str], list[Rung]]:
    """Climb the ladder of each trial; by block and trial.

    :raises ConfigError: when the experiment cannot be read.
    :raises HostError: when this machine cannot run trials.
    """
    chosen = {(one.block, tuple(one.levels.values())) for one in explained}
    loaded = loaded_trials(results, chosen, how)
    options = PlanOptions(keep=KEPT, backend=backend.choose(None))
    setup = campaign_setup.make_setup(loaded, how.catalog, options, say=say)
    by_place = {(one.block, tuple(one.levels.values())): one for one in loaded.trials}
    found = dict[tuple[int, str], list[Rung]]()
    for one in explained:
        trial = by_place[one.block, tuple(one.levels.values())]
        climbed = _Ladder(setup, how, trial, one)
        found[one.block, one.trial] = list(climbed.rungs())
    return found


@dataclass(frozen=True)
class _Ladder:
    setup: CampaignSetup
    how: Again
    trial: Trial
    first: Explained

    def rungs(self) -> Iterator[Rung]:
        """Yield rungs until nothing worth it can be lifted."""
        now, document, tried = self.first, self.trial.document, set[str]()
        for _ in range(MAX_RUNGS):
            lift = _next(now, document, tried)
            if lift is None:
                return
            tried.add(lift.what)
            after = self._run(lift)
            yield Rung(lift, now, after)
            if isinstance(after, Unexplained):
                return
            now, document = after, lift.document

    def _run(self, lift: Lift) -> Explained | Unexplained:
        """Run the trial with a limit lifted, outside of any campaign."""
        trial = self.trial.model_copy(update={"document": lift.document})
        place = Place(self.first.block, trial.id, self.first.levels)
        say(f"trying {lift.what}")
        with TemporaryDirectory(prefix="httpbed-explain-") as folder:
            artifacts = Path(folder) / "artifacts"
            this = AttemptId(trial, 1, datetime.now(UTC))
            try:
                record = asyncio.run(executor.judged(this, self.setup, artifacts, self.setup))
            except BedError as error:
                return Unexplained(place.block, place.trial, place.levels, f"the bed: {error}")
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


def _next(one: Explained, document: Document, tried: set[str]) -> Lift | None:
    """Return the lift of the dearest cause that can be lifted."""
    for name, cost in one.ranked:
        if cost < WORTH * one.division.whole:
            return None
        for lift in lifts(one, name, document):
            if lift.what not in tried:
                return lift
    return None


def lifts(one: Explained, cause: str, document: Document) -> Iterator[Lift]:
    """Yield what may take a cause away, the likeliest first."""
    if cause == "fixed window":
        yield from _window(one, document)
    if cause in {"recovery", "timeout", "congestion window", "repeated bytes"}:
        yield from _losses(cause, document)
        yield from _queue(cause, document)
    if cause == "others on the link" and document.get("competitors"):
        yield Lift(cause, "no competitors", {**document, "competitors": []})


def _window(one: Explained, document: Document) -> Iterator[Lift]:
    held = one.held.of if one.held else None
    if held is None or not held.window.knob or not held.window.lifted:
        return
    role = _role(document, held.part)
    if role is None:
        return
    knob, value = held.window.knob, held.window.lifted

    def change(changed: Document) -> None:
        part = _role(changed, held.part)
        if part is not None:
            part["knobs"] = {**part.get("knobs", {}), knob: value}

    yield Lift("fixed window", f"{held.program}'s {knob} = {value}", _changed(document, change))


def _role(document: Mapping[str, Any], part: str) -> dict[str, Any] | None:
    """Return the table of a part's role; of several proxies the first, which is the client's."""
    roles = document["roles"]
    if part in {"client", "server"}:
        found: dict[str, Any] | None = roles.get(part)
        return found
    proxies = roles.get("proxies", [])
    return proxies[0] if proxies else None


def _losses(cause: str, document: Document) -> Iterator[Lift]:
    if any(key in table for table in _tables(document) for key in LOSSES):

        def change(changed: Document) -> None:
            for table in _tables(changed):
                for key in LOSSES:
                    table.pop(key, None)

        yield Lift(cause, "no losses by chance", _changed(document, change))


def _queue(cause: str, document: Document) -> Iterator[Lift]:
    queues = [table["queue"] for table in _tables(document) if table.get("queue")]
    if not queues or LONGER_QUEUE in queues:
        return

    def change(changed: Document) -> None:
        for table in _tables(changed):
            if "queue" in table:
                table["queue"] = LONGER_QUEUE

    yield Lift(cause, "a queue without an end", _changed(document, change))


def _tables(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the tables of each link that may have impairments."""
    for link in document["topology"]["links"]:
        yield link
        yield from (link[way] for way in ("up", "down") if isinstance(link.get(way), dict))


def _changed(document: Document, change: Callable[[Document], None]) -> Document:
    changed = copy.deepcopy(document)
    change(changed)
    return changed
