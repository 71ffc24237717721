"""Runs trials on this machine, several at a time, each attempt in its own sandbox.

All sandboxes are started from the event loop's thread, which outlives them: the kernel kills a
sandbox when the thread that started it ends. Each committed attempt is reported as progress.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from httpbed.base.errors import BedError
from httpbed.base.units import format_share
from httpbed.bed.machine import machine_load
from httpbed.campaign.admission import Admission
from httpbed.experiment.check import CARRIED_OUT
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.store.campaign import Campaign
from httpbed.trial import plan, verdict
from httpbed.trial.addition import clock
from httpbed.trial.attempt_plan import CampaignSetup, TrialPlan
from httpbed.trial.program_roots import Say
from httpbed.trial.run import runner
from httpbed.trial.run.cpu_use import ReportDemand
from httpbed.trial.verdict import AttemptId

if TYPE_CHECKING:
    from httpbed.store.finished import LastAttempt


# Ctrl-C once lets the attempts under way finish; twice breaks them off.
#
# An attempt may have taken minutes, so it is worth waiting for. A service manager's SIGTERM breaks
# off at once, because SIGKILL follows.


@dataclass
class Interruption:
    """A user's request that no further attempt begins."""

    announce: Callable[[], None]
    """Called once, in the event loop, when the request has come."""
    requested: bool = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Take the first SIGINT; the handler before gets all others.

        A background job of a shell ignores SIGINT, and goes on ignoring it.
        """
        loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
        if not callable(before):
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if number != signal.SIGINT or self.requested:
                before(number, frame)
                return
            self.requested = True
            # A handler may interrupt a write, and must not write itself.
            loop.call_soon_threadsafe(self.announce)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class AttemptProgress:
    """An attempt has been committed."""

    attempt: Attempt
    retried: bool
    """Whether another attempt at the same trial follows."""
    later: bool = False
    """Whether it follows at the end of the run, and not at once."""


Tell = Callable[[AttemptProgress], None]
T = TypeVar("T")
Work = tuple[Trial, int]
"""A trial, and the number of its next attempt."""
Execute = Callable[[Sequence[Work]], Coroutine[Any, Any, list[Work]]]
"""Runs trials, and returns those that a busy machine left without a valid attempt."""
LOOKAHEAD = 200
"""Trials that wait for admission, which lets some overtake others of their block."""
MAX_RETRIES = 3
"""Retries of a trial in one run, each after an invalid attempt and each reported."""
PAUSE_S = 1.0
"""Before the retry of an attempt that a busy machine made invalid; it doubles with each retry.
Without it, all attempts would fall into one burst of other work."""


def pending(last: Mapping[str, LastAttempt], design: Iterable[Trial]) -> list[Work]:
    """List the trials without a valid attempt, each with the number of its next attempt.

    A trial whose attempts were all invalid is retried when its campaign is resumed. ``last`` has
    the last attempt at each trial, by its id.
    """
    work = []
    for trial in design:
        attempt = last.get(trial.id)
        if attempt is None or attempt.outcome == "invalid":
            work.append((trial, attempt.number + 1 if attempt else 1))
    return work


async def execute(  # noqa: PLR0913 - all but the first three are keywords
    campaign: Campaign,
    setup: CampaignSetup,
    work: Iterable[Work],
    *,
    admission: Admission,
    tell: Tell,
    say: Say,
    retries: int = MAX_RETRIES,
    again_later: bool = False,
    is_kept: bool = True,
) -> list[Work]:
    """Run the trials of ``work``, as many at a time as are admitted, and commit every attempt.

    After the user's first interrupt no attempt begins; those under way are finished, if the
    campaign is kept.

    Returns:
        The trials that a busy machine left without a valid attempt. With ``again_later``, the
        caller runs them again, and ``tell`` is told so.

    Raises:
        HostError: This machine cannot run trials.
        KeyboardInterrupt: The user interrupted the run, and the attempts under way are finished.
    """

    def finish_those_under_way() -> None:
        admission.close()
        say(finishing(admission.under_way))

    interruption, left = Interruption(finish_those_under_way), list[Work]()

    async def finish(task: Work) -> None:
        trial, first = task

        async def commit(number: int) -> Attempt | None:
            attempt = partial(commit_attempt, campaign, setup, trial, number)
            record = await admission.run(trial, attempt)
            return record.attempt if record else None

        if not interruption.requested:
            numbers = range(first, first + retries + 1)
            last = await _finish(numbers, commit, tell, again_later=again_later)
            if last and verdict.is_strained(last):
                left.append((trial, last.number + 1))

    with interruption.handled() if is_kept else nullcontext():
        jobs = admission.parallelism
        await side_by_side(work, finish, jobs=jobs.most + jobs.adapts * LOOKAHEAD)
    if interruption.requested:
        raise KeyboardInterrupt
    return left


def finishing(under_way: int) -> str:
    """Write what follows a first Ctrl-C."""
    if not under_way:
        return "interrupted: no attempt is under way"
    attempts, them = ("1 attempt", "it") if under_way == 1 else (f"{under_way} attempts", "them")
    return f"interrupted: finishing {attempts} under way; Ctrl-C again breaks {them} off"


async def side_by_side(
    tasks: Iterable[T], act: Callable[[T], Awaitable[None]], *, jobs: int
) -> None:
    """Start ``act`` for each task in order, with at most ``jobs`` running at a time.

    The first exception cancels the others and is raised alone, outside of any group.
    """
    tasks = list(tasks)
    queue = iter(tasks)

    async def slot() -> None:
        for task in queue:
            await act(task)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(jobs, len(tasks))):
                group.create_task(slot())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _finish(
    numbers: range,
    commit: Callable[[int], Awaitable[Attempt | None]],
    tell: Tell,
    *,
    again_later: bool,
) -> Attempt | None:
    """Make attempts until none follows at once; return the last one, None if there is none."""
    pause_s, attempt = PAUSE_S, None
    for number in numbers:
        attempt = await commit(number)
        if attempt is None:
            return None
        retry = may_end_otherwise(attempt) and number < numbers[-1]
        later = again_later and not retry and verdict.is_strained(attempt)
        tell(AttemptProgress(attempt, retry or later, later=later))
        if not retry:
            return attempt
        if verdict.is_strained(attempt):
            await asyncio.sleep(pause_s)
        pause_s *= 2
    return attempt


def may_end_otherwise(attempt: Attempt) -> bool:
    """Whether another attempt makes sense: in virtual time, a judged one gives the same again."""
    if attempt.outcome.kind != "invalid":
        return False
    broken_off = any(check.check == CARRIED_OUT.id for check in attempt.checks)
    return broken_off or attempt.trial.clock == "real"


async def commit_attempt(
    campaign: Campaign,
    setup: CampaignSetup,
    trial: Trial,
    number: int,
    report_demand: ReportDemand | None = None,
) -> Record:
    """Run one attempt at a trial, judge it and make it part of the campaign.

    Reports the attempt's demand of CPUs while its clients run, if ``report_demand`` is given.

    An attempt that the bed broke off is committed, too, as invalid. An attempt whose programs have
    ended is committed even if the run is broken off, for example because another attempt found the
    disk full: a cancelled task leaves judging and writing in the pool of threads, for whose end the
    event loop waits.
    """
    folder = campaign.unfinished(trial, number)
    this, artifacts = AttemptId(trial, number, datetime.now(UTC)), folder / "artifacts"
    try:
        planned = plan.by_setup(trial, setup)
        phases_s = await _made(planned, setup, artifacts, report_demand)
        judge = _judge(this, planned, setup, artifacts, phases_s)
    except BedError as error:
        judge = partial(verdict.broken_bed, this, str(error))
    # Not a task: the event loop's end cancels tasks, and with them a thread that has not begun.
    loop = asyncio.get_running_loop()
    committed = loop.run_in_executor(None, _committed, campaign, folder, this, judge)
    return await asyncio.shield(committed)


def _committed(
    campaign: Campaign, folder: Path, this: AttemptId, judge: Callable[[], Record]
) -> Record:
    try:
        record = judge()
    except BedError as error:
        record = verdict.broken_bed(this, str(error))
    campaign.commit(record, folder)
    return record


async def judged(
    this: AttemptId, setup: CampaignSetup, artifacts: Path, judging: CampaignSetup
) -> Record:
    """Run one attempt outside of any campaign, and judge what it left in ``artifacts``.

    Args:
        this: The attempt.
        setup: What it runs on.
        artifacts: A folder to be made.
        judging: What it is judged by, which may differ from what it runs on.

    Raises:
        BedError: The bed broke the attempt off.
        HostError: This machine cannot run trials.
    """
    planned = plan.by_setup(this.trial, judging)
    phases_s = await _made(plan.by_setup(this.trial, setup), setup, artifacts)
    return await asyncio.to_thread(_judge(this, planned, judging, artifacts, phases_s))


def _judge(
    this: AttemptId,
    planned: TrialPlan,
    setup: CampaignSetup,
    artifacts: Path,
    phases_s: Mapping[str, float],
) -> Callable[[], Record]:
    """Return how an attempt is judged that left its evidence in ``artifacts``."""
    judge = partial(verdict.judge, this, planned, setup, artifacts, phases_s)
    of_trial = this.trial.clock
    return judge if of_trial == "real" else partial(clock(of_trial).judged, judge)


async def _made(
    planned: TrialPlan,
    setup: CampaignSetup,
    artifacts: Path,
    report_demand: ReportDemand | None = None,
) -> Mapping[str, float]:
    """Make an attempt, here or in a guest; return each phase's seconds by the trial's clock.

    Raises:
        HostError: A program was replaced meanwhile, and it is unknown which one ran.
    """
    try:
        if planned.trial.clock != "real":
            return await clock(planned.trial.clock).run(planned, setup, artifacts)
        sandbox = plan.sandbox_spec(setup, planned, artifacts)
        phases = await runner.run(sandbox, planned.attempt, artifacts, report_demand)
        return phases.seconds
    finally:
        setup.programs.require_unchanged()


# A second series of attempts, at the end of a run, after the machine was too busy for the first.
#
# The rule: a trial whose whole first series of attempts was invalid, the last one only because the
# machine was busy, gets one further series of the same length. These trials run one at a time.
# Before each, httpbed waits until other programs take less than half of the CPUs; all these waits
# together take at most a minute. A trial that is then still without a valid attempt is left to the
# next run.
#
# Other work on a machine comes in bursts, a build or a test run, and the retries within a block
# often fall into the same one. The end of the run is as far from it as a run gets.

MAX_WAIT_S = 60.0
"""Longest time that a run waits for a calmer machine, in all."""


def run_second_series(
    left: Sequence[Work],
    execute: Execute,
    say: Callable[[str], None],
    *,
    taken_share: Callable[[], float] = machine_load.taken_share,
) -> None:
    """Give each of these trials a second series of attempts, by the rule above."""
    if not left:
        return
    say(_beginning_of_second_series(len(left)))
    patience_s = MAX_WAIT_S
    for one in left:
        patience_s -= _wait_for_calm(patience_s, taken_share)
        asyncio.run(execute([one]))


def _wait_for_calm(most_s: float, taken_share: Callable[[], float]) -> float:
    """Wait until other programs leave half of the CPUs; return the seconds that it took."""
    began_s = time.monotonic()
    while (waited_s := time.monotonic() - began_s) < most_s:
        if taken_share() < machine_load.BUSY_SHARE:
            break
    return waited_s


def _beginning_of_second_series(count: int) -> str:
    trials, lack = ("1 trial", "lacks") if count == 1 else (f"{count} trials", "lack")
    return (
        f"{trials} {lack} a valid attempt because the machine was busy: trying again, one at a"
        f" time, once others take less than {format_share(machine_load.BUSY_SHARE, 0)} of the CPUs,"
        f" or after {MAX_WAIT_S:.0f} s"
    )
