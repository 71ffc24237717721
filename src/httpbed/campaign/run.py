"""A campaign from a loaded experiment to finished trials; every verb and study runs it from here.

::

    ready = campaign_setup.prepare(loaded, catalog, settings, say=say)
    with run.opened(ready, directory, jobs=jobs, say=say) as work:
        work.finish(tell=tell)
        ... read work.campaign ...
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from httpbed.base.units import format_count
from httpbed.campaign import executor
from httpbed.campaign.admission import Admission
from httpbed.campaign.executor import MAX_RETRIES, Execute, Tell, Work
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import ONE, Parallelism
from httpbed.campaign.stopping import Stopping, stopping_line, wanted_trials
from httpbed.experiment.design import Growth
from httpbed.experiment.trial import Attempt, Trial
from httpbed.store import campaign as campaigns
from httpbed.store import layout
from httpbed.store.campaign import Campaign
from httpbed.store.campaign_files import FirstFiles
from httpbed.trial.attempt_plan import CampaignSetup
from httpbed.trial.program_roots import Say

MAX_EARLIER = 1000
"""Attempts that show what the next ones need."""


@dataclass
class Prepared:
    """An experiment with all that its trials need, and the manifest that describes both."""

    loaded: LoadedExperiment
    setup: CampaignSetup
    manifest: dict[str, Any]


@dataclass(frozen=True)
class OpenRun:
    """A campaign that this process holds, and the trials that it still lacks."""

    campaign: Campaign
    setup: CampaignSetup
    pending: Sequence[Work]
    earlier: Sequence[Attempt]
    content: FirstFiles
    """What the run asked of the campaign."""
    stopping: Stopping | None
    """Which treatments get no further block; None: each runs to its last one."""
    jobs: Parallelism
    say: Say
    is_kept: bool = True
    """Whether the user keeps the campaign: trials under way finish after a first interrupt."""

    @property
    def pending_trials(self) -> Iterator[Trial]:
        """The trials that it lacks."""
        return (trial for trial, _ in self.pending)

    def finish(self, *, tell: Tell, retries: int = MAX_RETRIES) -> None:
        """Run the pending trials, as many at a time as :attr:`jobs` says.

        With a range of replicates, trials run block by block, and only those of treatments that
        need a further block.

        A trial that a busy machine left without a valid attempt runs again at the end
        (:func:`~httpbed.campaign.executor.run_second_series`), unless there are no retries.

        Raises:
            HostError: This machine cannot run trials.
            KeyboardInterrupt: The user interrupted the run.
        """
        execute = partial(
            executor.execute,
            self.campaign,
            self.setup,
            say=self.say,
            tell=tell,
            retries=retries,
            is_kept=self.is_kept,
        )
        first = partial(execute, admission=self._admission(self.jobs), again_later=retries > 0)
        if self.stopping is None:
            left = asyncio.run(first(self.pending))
        else:
            left = self._finish_until(self.stopping, first)
        if retries:
            alone = partial(execute, admission=self._admission(ONE))
            executor.run_second_series(left, alone, self.say)
        if self.stopping:
            self._forget_what_is_not_needed(self.stopping)

    def _finish_until(self, stopping_rule: Stopping, execute: Execute) -> list[Work]:
        """Run the trials block by block, without those of settled treatments.

        A trial whose attempts are invalid runs again, because the campaign keeps it.
        """
        left = list[Work]()
        for block in self.blocks():
            stopping_rule.look()
            if work := [one for one in block if one[1] > 1 or stopping_rule.needs(one[0])]:
                left += asyncio.run(execute(work))
        return left

    def _admission(self, jobs: Parallelism) -> Admission:
        admission = Admission(jobs)
        admission.learn_demands(self.earlier)
        return admission

    def finish_by(self, execute: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Let another executor run the pending trials.

        Raises:
            HostError: The executor cannot run them.
            KeyboardInterrupt: The user interrupted the run.
        """
        if self.pending:
            asyncio.run(execute())
        if self.stopping:
            self._forget_what_is_not_needed(self.stopping)

    def blocks(self) -> Iterator[list[Work]]:
        """Yield the pending trials of each block."""
        for _, work in groupby(self.pending, key=lambda one: one[0].block):
            yield list(work)

    def _forget_what_is_not_needed(self, stopping_rule: Stopping) -> None:
        """Take the trials that never ran of settled treatments out of the design."""
        stopping_rule.look()
        wanted = stopping_rule.wanted(self.content.design)
        campaigns.resume_or_grow(self.campaign, replace(self.content, design=wanted))
        left = len(self.content.design) - len(wanted)
        self.say(stopping_line(stopping_rule.rule, wanted, left))


def timed(
    ready: Prepared,
    directory: Path,
    *,
    jobs: Parallelism,
    tell: Tell,
    say: Say,
) -> float:
    """Run every trial that a campaign lacks; return the seconds from the first start to the end.

    Nothing resumes a run whose time was broken off, so an interrupt ends it at once.

    Raises:
        HostError: This machine cannot run trials.
    """
    with opened(ready, directory, jobs=jobs, say=say) as work:
        began = time.monotonic()
        replace(work, is_kept=False).finish(tell=tell)
        return time.monotonic() - began


def require_place(loaded: LoadedExperiment, directory: Path) -> None:
    """Check whether an experiment may run in a folder; programs are compared later.

    Raises:
        ConfigError: The folder holds another campaign or other files.
    """
    trials = wanted_trials(directory, loaded.stopping, loaded.trials)
    campaigns.require_place(directory, loaded.text, trials)


@contextmanager
def opened(ready: Prepared, directory: Path, *, jobs: Parallelism, say: Say) -> Iterator[OpenRun]:
    """Hold a campaign, new or resumed, and clear away what an earlier run left unfinished.

    ``jobs`` is what the user asked for; guests run one on each CPU rather than adapt.

    Raises:
        ConfigError: The folder holds another campaign or other files, or another run holds it.
    """
    loaded, files = ready.loaded, {key: file.path for key, file in ready.setup.files.items()}
    jobs = jobs.by_clock(loaded.experiment.clock)
    trials = wanted_trials(directory, loaded.stopping, loaded.trials)
    content = FirstFiles(loaded.text, trials, ready.manifest, files)
    with campaigns.opened(directory, loaded.text, trials, ready.manifest, files) as campaign:
        broken_off = campaign.clear_unfinished()
        campaign.note_run(datetime.now(UTC), ready.manifest.get("command", ""), str(jobs))
        from httpbed.store import finished  # noqa: PLC0415 - it imports pyarrow

        done = finished.finished_attempts(campaign)
        campaign.set_aside_damaged(done.damaged)
        for line in layout.damage_lines(done.damaged, directory):
            say(line)
        if campaign.growth:
            for line in growth_lines(campaign.growth, directory):
                say(line)
        wanted = {trial.id for trial in trials}
        design = (trial for trial in campaign.design() if trial.id in wanted)
        left = executor.pending(done.last, design)
        total, ended = len(trials), len(trials) - len(left)
        pending = _without_the_same_again(campaign, left, say)
        if ended or broken_off:
            again = f", {broken_off} broken off and run again" if broken_off else ""
            say(f"resuming {directory}: {ended} of {total} trials are finished{again}")
        earlier = finished.recent(campaign, done, MAX_EARLIER)
        until = Stopping(directory, loaded.stopping) if loaded.stopping else None
        yield OpenRun(campaign, ready.setup, pending, earlier, content, until, jobs, say)


def _without_the_same_again(campaign: Campaign, work: list[Work], say: Say) -> list[Work]:
    """Leave out the trials whose next attempt would end as the last one did."""
    from httpbed.store import finished  # noqa: PLC0415 - it imports pyarrow

    tried = [(trial, number - 1) for trial, number in work if number > 1]
    virtual = [(one.block, one.id, last) for one, last in tried if one.clock == "virtual"]
    attempts = finished.attempts_at(campaign, (layout.attempt(*key) for key in virtual))
    same = {attempt.id for attempt in attempts if not executor.may_end_otherwise(attempt)}
    if same:
        say(same_again(len(same)))
    return [one for one in work if one[0].id not in same]


def same_again(count: int) -> str:
    """Write why so many invalid trials are not repeated."""
    trials, they = ("1 trial is", "it") if count == 1 else (f"{count} trials are", "they")
    return (
        f"note: {trials} invalid and not repeated: in virtual time {they} would give the same;"
        " after a change of httpbed or of a program, choose a new folder with -o"
    )


# Says how a campaign grew, in lines for the terminal.


def growth_lines(growth: Growth, directory: Path) -> Iterator[str]:
    """Yield what a campaign gained, lost and keeps."""
    before = len(growth.design) - len(growth.added) + len(growth.left)
    trials = format_count(before, "trial")
    if growth.changes_trials:
        changes = [f"{len(growth.added)} added"] * bool(growth.added)
        changes += [f"{len(growth.left)} that never ran left out"] * bool(growth.left)
        now = len(growth.design)
        yield f"{directory} had {trials} and now has {now}: {', '.join(changes)}"
    else:
        yield f"{directory} keeps its {trials}; the experiment file or the options changed"
    if growth.joined and growth.design[0].clock == "real":
        yield (
            f"note: the trials added to {_blocks(growth.joined)} run at another time than the rest"
            " of their block; differences of the machine between these times do not cancel out"
        )
    if growth.kept:
        kept = len(growth.kept)
        yield (
            f"note: {format_count(kept, 'trial')} that the experiment no longer asks for ran"
            f" earlier; {'they stay' if kept > 1 else 'it stays'} in the report"
        )


def _blocks(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    if len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"blocks {numbers[0]} to {numbers[-1]}"
    return f"blocks {', '.join(map(str, numbers))}"
