"""Gives the blocks of a campaign to a scheduler of Dask, and takes back what its workers return.

A block is one task: plan in, archives out. Dask chooses the worker and moves the bytes. Three
things are the campaign's own, because Dask's way would cost evidence (decision 0044):

- At most as many blocks are submitted as there are slots. So whether a treatment needs a further
  block is decided when one is free, and after an interrupt no block begins.
- Dask runs a task again whose worker is gone. The campaign hears that a block begins for a second
  time, and takes the task back: every attempt that the worker had is an invalid one, and the block
  is submitted again with the next numbers, up to :data:`MAX_LOSSES` times more.
- A worker that refuses a block, or returns another one, gets no further block.

With a range of replicates, the treatments are judged by the blocks that have ended, in a thread:
reading and judging would stall the connection.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol, Self

from distributed import Client, Future
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from httpbed.addons.cluster import worker
from httpbed.addons.cluster.attempt_archive import UselessError
from httpbed.addons.cluster.certificates import START, Scheduler
from httpbed.addons.cluster.messages import RESOURCE, BlockEnd, BlockRequest, WorkerFacts
from httpbed.addons.cluster.returned_blocks import ReturnedBlocks
from httpbed.base import units
from httpbed.base.errors import HostError
from httpbed.campaign.addition import Say, Tell
from httpbed.campaign.executor import AttemptProgress, Interruption, Work
from httpbed.campaign.run import Stopping
from httpbed.experiment.trial import Attempt
from httpbed.store.machine_log import LOST, RETURNED

MAX_LOSSES = 3
"""How often a block runs again in one run after its worker was lost."""
PATIENCE_S = 600.0
"""How long a campaign waits for a worker that can run a block."""
CONNECT_S = 10.0
"""How long the scheduler may take to answer."""
MAX_CLOCK_OFFSET_S = 5.0
"""Between the clocks of a worker and of the campaign: attempts are ordered by the time at which
they started, and a TLS certificate is valid from the time at which it was made."""

Begins = Callable[[str, WorkerFacts], None]
"""Called with a task's key and its worker's facts whenever the task begins."""


class Cluster(Protocol):
    """Workers behind a scheduler."""

    async def slots(self) -> Mapping[str, int]:
        """Return how many blocks each worker runs at a time, by its name."""

    async def run(
        self, request: BlockRequest, on: Collection[str], *, or_others: bool
    ) -> tuple[BlockEnd, Sequence[bytes]]:
        """Run a block on one of some workers, ``or_others`` if they are not free."""

    def listen(self, begins: Begins) -> None:
        """Tell from now on which blocks begin."""


class DaskCluster:
    """Workers behind a scheduler of Dask, which an asynchronous context connects."""

    def __init__(self, scheduler: Scheduler, topic: str) -> None:
        self._scheduler, self._topic = scheduler, topic
        self._client: Client

    async def __aenter__(self) -> Self:
        worker.configure_dask(self._scheduler)
        self._client = Client(self._scheduler.address, asynchronous=True, timeout=CONNECT_S)
        try:
            await self._client
        except (OSError, TimeoutError, ValueError) as error:
            await self.__aexit__()
            reason = f"no scheduler answers at {self._scheduler.address}: {_first_line(error)}"
            raise HostError(reason, START) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(OSError, TimeoutError):
            await self._client.close(timeout=CONNECT_S)

    def listen(self, begins: Begins) -> None:
        """Subscribe to what workers tell of beginnings."""

        def note(event: tuple[float, tuple[str, str]]) -> None:
            key, facts = event[1]
            begins(key, WorkerFacts.model_validate_json(facts))

        self._client.subscribe_topic(self._topic, note)

    async def slots(self) -> Mapping[str, int]:
        """Return how many blocks each worker runs at a time, by its name."""
        scheduler: Any = self._client.scheduler
        try:
            about = await asyncio.wait_for(scheduler.identity(n_workers=-1), CONNECT_S)
        except (OSError, TimeoutError):
            raise self._gone() from None
        found = about["workers"].values()
        return {str(one["name"]): int(one["resources"].get(RESOURCE, 0)) for one in found}

    async def run(
        self, request: BlockRequest, on: Collection[str], *, or_others: bool
    ) -> tuple[BlockEnd, Sequence[bytes]]:
        """Run a block, and wait for its end."""
        task: Future[Any] = self._client.submit(
            worker.run_block,
            request,
            key=request.key,
            workers=sorted(on),
            allow_other_workers=or_others,
            resources={RESOURCE: 1},
            pure=False,
        )
        try:
            end, archives = await task
        except (FutureCancelledError, OSError, TimeoutError):
            raise self._gone() from None
        except KilledWorker as error:
            name = str(error.last_worker.name)
            return BlockEnd(kind="lost", reason=f"the worker {name} was lost", worker=name), ()
        except Exception as error:  # noqa: BLE001 - what Dask could not do on that worker
            return BlockEnd(kind="failed", reason=f"{type(error).__name__}: {error}"), ()
        finally:
            with suppress(Exception):  # of a scheduler that is gone
                await task.cancel()
        return BlockEnd.model_validate_json(end), archives

    def _gone(self) -> HostError:
        reason = f"the scheduler at {self._scheduler.address} is gone, with the blocks under way"
        return HostError(reason, "start it again; the same command resumes")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@dataclass(frozen=True)
class PendingBlock:
    """Pending trials of a block."""

    work: Sequence[Work]
    losses: int = 0
    """How often it was lost in this run."""

    @property
    def number(self) -> int:
        """The block's number."""
        return self.work[0][0].block

    def again(self) -> PendingBlock:
        """Return the block after it was lost: with the numbers of its next attempts."""
        return PendingBlock([(trial, number + 1) for trial, number in self.work], self.losses + 1)


@dataclass
class Dispatch:
    """One run of a campaign's blocks on a cluster."""

    cluster: Cluster
    order: BlockRequest
    """What all requests of a run have in common."""
    returned: ReturnedBlocks
    tell: Tell
    say: Say
    stopping: Stopping | None = None
    """Which treatments get no further block; None: each runs to its last one."""
    look_s: float = 1.0
    """Time between two looks at the workers."""
    patience_s: float = PATIENCE_S
    _pending: list[PendingBlock] = field(default_factory=list)
    _machines: dict[int, str] = field(default_factory=dict)
    """The machine on which each block began, in this run or in an earlier one."""
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _begun: dict[str, WorkerFacts] = field(default_factory=dict)
    """The worker on which each task began, by the task's key."""
    _again: dict[str, asyncio.Event] = field(default_factory=dict)
    """Set when a task begins for a second time."""
    _numbers: dict[str, int] = field(default_factory=dict)
    """The block of each task."""
    _excluded: dict[str, str] = field(default_factory=dict)
    """Why workers get no blocks, by their names."""
    _is_judged: bool = True
    """Whether the treatments have been judged since the last block ended."""
    _is_interrupted: bool = False

    async def run(self, blocks: Sequence[Sequence[Work]]) -> None:
        """Run blocks on the cluster's workers, and commit every attempt.

        After the user's first interrupt no block begins; those under way are finished.

        Raises:
            HostError: No scheduler is there, or no worker for too long.
            KeyboardInterrupt: The user interrupted the run, and the blocks under way have ended.
        """
        self._pending = [PendingBlock(one) for one in blocks]
        self._machines = await asyncio.to_thread(self.returned.began_on)
        self.cluster.listen(self._begins)
        try:
            with Interruption(self._interrupt).handled():
                await self._all()
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        if self._is_interrupted:
            raise KeyboardInterrupt

    def _interrupt(self) -> None:
        self._is_interrupted = True
        self.say(finishing(len(self._running)))

    def _begins(self, key: str, facts: WorkerFacts) -> None:
        """Note where a task begins; for the second time, it was lost where it began before."""
        if key not in self._again:
            return
        if key in self._begun:
            self._again[key].set()
            return
        self._begun[key] = facts
        self._machines[self._numbers[key]] = facts.name
        self.say(f"block {self._numbers[key]} begins on {facts.name}")

    async def _all(self) -> None:
        idle_since_s = time.monotonic()
        while True:
            slots = await self.cluster.slots()
            fit = {name: free for name, free in slots.items() if name not in self._excluded}
            await self._judge()
            while not self._is_interrupted and len(self._running) < sum(fit.values()):
                block = self._take()
                if block is None:
                    break
                task = asyncio.ensure_future(self._run_block(block, fit))
                self._running.add(task)
            is_over = self._is_interrupted or not any(map(self._needed, self._pending))
            if is_over and not self._running:
                return
            if any(fit.values()):
                idle_since_s = time.monotonic()
            elif time.monotonic() - idle_since_s > self.patience_s:
                raise self._none_is_fit()
            await self._wait()

    async def _judge(self) -> None:
        """Find out which treatments are settled, if a block has ended since the last time."""
        if self.stopping and not self._is_judged:
            self._is_judged = True
            await asyncio.to_thread(self.stopping.look)

    def _needed(self, block: PendingBlock) -> list[Work]:
        """Return the trials that are needed, among them all that have an invalid attempt.

        The others stay pending: blocks under way may widen the interval of a settled treatment.
        """
        rule = self.stopping
        return [one for one in block.work if rule is None or one[1] > 1 or rule.needs(one[0])]

    def _take(self) -> PendingBlock | None:
        """Return the needed trials of the next block; None without any."""
        for place, block in enumerate(self._pending):
            if needed := self._needed(block):
                rest = [one for one in block.work if one not in needed]
                self._pending[place : place + 1] = [PendingBlock(rest)] * bool(rest)
                return PendingBlock(needed, block.losses)
        return None

    async def _wait(self) -> None:
        """Wait for the end of a block, or for the time of the next look; raise its failure."""
        if not self._running:
            await asyncio.sleep(self.look_s)
            return
        done, _ = await asyncio.wait(
            self._running, timeout=self.look_s, return_when=asyncio.FIRST_COMPLETED
        )
        self._running -= done
        for task in done:
            task.result()

    def _none_is_fit(self) -> HostError:
        """Return that blocks have waited too long for a worker that can run them."""
        waited = units.format_long_duration(self.patience_s)
        why = "; ".join(self._excluded.values()) or f"none was connected for {waited}"
        remedy = "start httpbed worker on a machine; the same command goes on"
        return HostError(f"no worker can run a block: {why}", remedy)

    async def _run_block(self, block: PendingBlock, fit: Mapping[str, int]) -> None:
        key, started, sent_s = f"httpbed-{uuid.uuid4().hex}", datetime.now(UTC), time.time()
        self._again[key], self._numbers[key] = asyncio.Event(), block.number
        wanted = tuple((trial.id, number) for trial, number in block.work)
        request = replace(self.order, key=key, block=block.number, wanted=wanted)
        began_on = self._machines.get(block.number)
        on = {began_on} if began_on and began_on in fit and not self._excluded else set(fit)
        end, archives = await self._ended(request, on, or_others=not self._excluded)
        if end.kind == "refused":
            self._exclude(end.worker, f"refused block {block.number}: {end.reason}")
            self._pending.insert(0, block)
            return
        reason = end.reason if end.kind == "lost" else clock_offset(sent_s, end, time.time())
        attempts: Sequence[Attempt] = ()
        if not reason:
            try:
                attempts = await asyncio.to_thread(
                    self.returned.take, block.work, started, end, archives
                )
            except UselessError as error:
                reason = str(error)
        if reason:
            await self._lose(block, started, end, reason)
            if end.kind != "lost":
                self._exclude(end.worker, f"failed in block {block.number}: {reason}")
            return
        await asyncio.to_thread(self.returned.note, block.number, RETURNED, end)
        self._is_judged = False
        self._report(attempts, goes_on=False)

    async def _ended(
        self, request: BlockRequest, on: Collection[str], *, or_others: bool
    ) -> tuple[BlockEnd, Sequence[bytes]]:
        """Return how a block ended: it is lost if it begins for a second time."""
        running = asyncio.ensure_future(self.cluster.run(request, on, or_others=or_others))
        again = asyncio.ensure_future(self._again[request.key].wait())
        try:
            await asyncio.wait({running, again}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            first = self._begun[request.key]
            reason = f"the worker {first.name} was lost"
            about = {"worker": first.name, "host": first.host, "code": first.code}
            return BlockEnd(kind="lost", reason=reason).model_copy(update=about), ()
        finally:
            running.cancel()
            again.cancel()
            await asyncio.gather(running, again, return_exceptions=True)
            del self._again[request.key]

    def _exclude(self, name: str, reason: str) -> None:
        if name and name not in self._excluded:
            self._excluded[name] = f"{name} {reason}"
            self.say(f"worker {name} gets no blocks: it {reason}")

    async def _lose(
        self, block: PendingBlock, started: datetime, end: BlockEnd, reason: str
    ) -> None:
        """Commit invalid attempts for a lost block, and let it run again unless it was enough."""
        text = f"block {block.number} was lost: {reason}"
        lost = await asyncio.to_thread(self.returned.lose, block.work, started, text, end.worker)
        await asyncio.to_thread(self.returned.note, block.number, LOST, end)
        self._machines.pop(block.number, None)
        goes_on = block.losses < MAX_LOSSES
        if goes_on:
            self._pending.insert(0, block.again())
        self._report(lost, goes_on=goes_on)

    def _report(self, attempts: Sequence[Attempt], *, goes_on: bool) -> None:
        last = {attempt.id: attempt.number for attempt in attempts}
        for attempt in attempts:
            self.tell(AttemptProgress(attempt, goes_on or attempt.number < last[attempt.id]))


def clock_offset(sent_s: float, end: BlockEnd, received_s: float) -> str:
    """Return that a worker's clock is wrong; empty if its times lie between ours."""
    behind_s, ahead_s = sent_s - end.begun_s, end.ended_s - received_s
    offset_s, way = max((behind_s, "behind"), (ahead_s, "ahead of"))
    if not end.ended_s or offset_s <= MAX_CLOCK_OFFSET_S:
        return ""
    return f"its clock is {offset_s:.0f} s {way} the campaign's; set it, such as by NTP"


def finishing(under_way: int) -> str:
    """Write what follows a first Ctrl-C."""
    if not under_way:
        return "interrupted: no block is under way"
    blocks, them = ("1 block", "it") if under_way == 1 else (f"{under_way} blocks", "them")
    return f"interrupted: finishing {blocks} under way; Ctrl-C again breaks {them} off"
