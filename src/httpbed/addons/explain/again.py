"""Runs trials of a campaign again, with their packets kept.

A trial is a value: the same trial meets the same losses, delays and draws. In virtual time it takes
the same time again; in real time it differs as two trials of a treatment do. The trials go to a
campaign of their own, because a finished one is never changed.

**Lifting a limit.** The same trial runs again without a limit: does its cause go away, and what
does that save? In virtual time the two trials differ by the lifted limit alone. A cause is
**confirmed** if its cost falls to a fifth or less. What lifting it saves may be less than it cost,
because the next limit is behind it. So lifts are stacked in a **ladder**: each rung lifts the
dearest cause of the rung before, as long as something can lift it. A lift that saves nothing is
shown and not kept.

The difference of two trials is explained in the same way: the slower one climbs, and each rung
lifts what it still spends most on beyond the faster one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from httpbed.addons.explain.difference import Difference
from httpbed.addons.explain.explanation import Explained, Place, Remains, Unexplained
from httpbed.addons.explain.lifts import Document, Lift, Rung, lifts
from httpbed.base.clock import Clock
from httpbed.base.errors import BedError, ConfigError, HostError, Mistake
from httpbed.bed.machine import backend
from httpbed.campaign import campaign_setup, executor, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions, Parallelism
from httpbed.cli import clock_choice
from httpbed.cli import run as run_verb
from httpbed.cli.echo import say
from httpbed.cli.progress import Reporter, RunParts
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.trial import Record, Trial
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign as campaigns
from httpbed.store.results import Results
from httpbed.trial.attempt_plan import CampaignSetup, PlanOptions
from httpbed.trial.verdict import AttemptId

SUFFIX = "-explained"
VIRTUAL_SUFFIX = "-virtual"
Chosen = tuple[int, TreatmentKey]
"""A trial by its block and its treatment (:attr:`~.explanation.Place.cell`)."""


@dataclass(frozen=True)
class Again:
    """How trials run again."""

    catalog: Catalog
    directory: Path
    """Their campaign."""
    files: Path
    """The folder to which file names in the experiment are relative."""
    jobs: Parallelism
    clock: Clock | None
    """None: the clock of the trials themselves."""
    is_own_place: bool = False
    """Whether the user chose no folder."""


def folder_of(directory: Path) -> Path:
    """Return where the trials of a campaign run again by default: beside it."""
    named = directory if directory.name not in {"", ".."} else directory.absolute()
    return named.with_name(named.name + SUFFIX)


def exact(results: Results, chosen: Collection[Chosen], how: Again) -> Again:
    """Return how trials run again in virtual time, if the user chose no clock and they can.

    Two trials differ by what was lifted alone only there.
    """
    if how.clock is not None or results.manifest.get("clock", "real") != "real":
        return how
    place = how.directory.with_name(how.directory.name + VIRTUAL_SUFFIX)
    in_virtual = replace(
        how, clock="virtual", directory=place if how.is_own_place else how.directory
    )
    try:
        loaded = loaded_trials(results, chosen, in_virtual)
        real = loaded_trials(results, chosen, how)
        settings = run_verb.settings(keep=kept(loaded))
        obstacle = clock_choice.obstacle_to_virtual(loaded, real, how.catalog, settings)
    except (ConfigError, HostError) as error:
        obstacle = "; ".join(str(error).splitlines())
    if obstacle:
        say(f"clock: real, so that trials differ by chance, too: {obstacle}")
        return how
    say("clock: virtual, where trials differ by what is lifted alone; --clock real keeps real time")
    return in_virtual


def run(results: Results, chosen: Collection[Chosen], how: Again) -> None:
    """Run the chosen trials; the folder may hold some of them already.

    :raises ConfigError: when the experiment cannot be read, or the folder holds something else.
    :raises HostError: when this machine cannot run them.
    """
    loaded = loaded_trials(results, chosen, how)
    settings = run_verb.settings(keep=kept(loaded), jobs=how.jobs)
    for addition in CAMPAIGN_ADDITIONS.provided():
        addition.refuse(loaded, settings)
    preparation.require_machine(loaded)
    campaign_run.require_place(loaded, how.directory)
    ready = campaign_setup.prepare(loaded, how.catalog, settings, say=say)
    with (
        campaign_run.opened(ready, how.directory, jobs=how.jobs, say=say) as work,
        Reporter(len(work.pending), RunParts.blocks(work.pending_trials)) as reporter,
    ):
        work.finish(tell=reporter.report)


def kept(loaded: LoadedExperiment) -> frozenset[str]:
    """Return what trials keep: qlogs as well in virtual time, where writing them takes none."""
    is_virtual = loaded.experiment.clock == "virtual"
    return frozenset({"packets", "qlog"} if is_virtual else {"packets"})


def loaded_trials(results: Results, chosen: Collection[Chosen], how: Again) -> LoadedExperiment:
    """Return a campaign's experiment with the chosen trials alone.

    :raises ConfigError: when it cannot be read, or has none of them.
    """
    campaign, manifest = campaigns.open_existing(results.directory), results.manifest
    # A campaign may have grown beyond the blocks of its file, and beyond the scale that it began
    # with; the whole design has all trials.
    design = DesignOptions(
        scale=manifest.get("scale"),
        replicates=max(block for block, _ in chosen),
        clock=how.clock or manifest.get("clock"),
    )
    for options in dict.fromkeys((design, replace(design, scale=None))):
        loaded = preparation.load(campaign.experiment_text, how.catalog, how.files, options)
        trials = tuple(
            trial for trial in loaded.trials if (trial.block, treatment_key(trial.levels)) in chosen
        )
        if len(trials) == len(chosen):
            break
    if not trials:
        reason = "its experiment file has none of the trials that are to be explained"
        raise ConfigError([Mistake(str(results.directory), reason, "run the experiment itself")])
    return replace(loaded, trials=trials, stopping=None)


Reader = Callable[[Remains], Explained | Unexplained]
"""Explains what an attempt left."""
MAX_RUNGS = 6
WORTH = 0.05
"""Share of the time, or of a difference, that a cause must cost to be lifted."""


def ladders(
    results: Results,
    climbing: Sequence[Explained],
    how: Again,
    towards: Explained | None,
    read: Reader,
) -> dict[tuple[int, str], list[Rung]]:
    """Climb the ladder of each trial, to no limit or ``towards`` a faster one; by block and trial.

    ``read`` explains what an attempt left.

    :raises ConfigError: when the experiment cannot be read.
    :raises HostError: when this machine cannot run trials.
    """
    if not climbing:  # none could be divided, or two took the same time
        return {}
    loaded = loaded_trials(results, {explained.cell for explained in climbing}, how)
    options = PlanOptions(keep=kept(loaded), backend=backend.choose(None))
    setup = campaign_setup.make_setup(loaded, how.catalog, options, say=say)
    trials = {(trial.block, treatment_key(trial.levels)): trial for trial in loaded.trials}
    rungs = dict[tuple[int, str], list[Rung]]()
    for explained in climbing:
        climbed = _Ladder(setup, how, trials[explained.cell], explained, towards, read)
        rungs[explained.block, explained.trial] = list(climbed.rungs())
    return rungs


@dataclass(frozen=True)
class _Ladder:
    setup: CampaignSetup
    how: Again
    trial: Trial
    first: Explained
    towards: Explained | None
    read: Reader

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
        place = Place(self.first.block, trial.id, self.first.levels, 1)
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
        times = [
            observation.value
            for observation in record.observations
            if observation.metric == "request_time"
        ]
        left = Remains(
            place,
            artifacts,
            trial.scenario(),
            trial.clock,
            self.how.catalog,
            outcome=record.attempt.outcome.kind,
            request_s=times[0] if times else None,
        )
        return self.read(left)


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
