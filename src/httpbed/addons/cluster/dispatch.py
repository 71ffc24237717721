"""Gives the blocks of a campaign to a scheduler of Dask, and takes back what its workers return.

A block is one task: a request in, its attempts' files out. Dask chooses the worker and moves the
bytes. Three things are the campaign's own, because Dask's way would cost evidence (decision 0044):

- At most as many blocks are submitted as there are slots. So whether a treatment needs a further
  block is decided when one is free, and after an interrupt no block begins.
- Dask runs a task again whose worker is gone. The campaign hears that a block begins for a second
  time, and takes the task back: every attempt that the worker had is an invalid one, and the block
  is submitted again with the next numbers, up to :data:`MAX_LOSSES` times more.
- A block that a worker refuses, or for which it returns other attempts, ends the run: make the
  machines equal first. The same command goes on.

With a range of replicates, the treatments are judged by the blocks that have ended, in a thread:
reading and judging would stall the connection.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dask.base import annotate
from distributed import Client
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from httpbed.addons.cluster import block, worker
from httpbed.addons.cluster.block import (
    BlockEnd,
    BlockError,
    BlockRequest,
    RefusedBlockError,
    WorkerFacts,
)
from httpbed.addons.cluster.certificates import Scheduler
from httpbed.addons.cluster.returned_blocks import ReturnedBlocks
from httpbed.base import units
from httpbed.base.errors import HostError
from httpbed.campaign.executor import AttemptProgress, Interruption, Tell, Work
from httpbed.campaign.stopping import Stopping
from httpbed.experiment.trial import Attempt
from httpbed.store.machine_log import LOST, RETURNED
from httpbed.trial.program_roots import Say

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_LOSSES = 3
"""How often a block runs again in one run after its worker was lost."""
PATIENCE_S = 600.0
"""How long a campaign waits for a worker that can run a block."""
CONNECT_S = 10.0
"""How long the scheduler may take to answer."""
MAX_CLOCK_OFFSET_S = 5.0
"""Between the clocks of a worker and of the campaign: attempts are ordered by the time at which
they started, and a TLS certificate is valid from the time at which it was made."""

_START_WORKER = "start httpbed worker on a machine"
_STOP = "make the machines equal, or stop that worker; the same command goes on"

Begins = Callable[[str, WorkerFacts], None]
"""Called with a task's key and its worker's facts whenever the task begins."""


class LostBlockError(BlockError):
    """The worker is gone, with the block."""


@asynccontextmanager
async def connected(scheduler: Scheduler) -> AsyncIterator[DaskCluster]:
    """Connect to a scheduler of Dask.

    Raises:
        HostError: None answers.
    """
    worker.configure_dask(scheduler)
    client = Client(scheduler.address, asynchronous=True, timeout=CONNECT_S)
    try:
        try:
            await client
        except (OSError, TimeoutError, ValueError) as error:
            raise worker.no_answer(scheduler, worker.first_cause(error)) from None
        yield DaskCluster(client, scheduler.address)
    finally:
        with suppress(OSError, TimeoutError):
            await client.close(timeout=CONNECT_S)


async def require_answer(scheduler: Scheduler) -> None:
    """Check that a scheduler answers, before a campaign begins.

    Raises:
        HostError: None does.
    """
    async with connected(scheduler):
        pass


@dataclass(frozen=True)
class DaskCluster:
    """Workers behind a scheduler of Dask."""

    client: Client
    address: str

    def listen(self, topic: str, begins: Begins) -> None:
        """Call ``begins`` whenever a worker reports that a block begins."""

        def note(event: tuple[float, tuple[str, str]]) -> None:
            key, facts = event[1]
            begins(key, WorkerFacts.model_validate_json(facts))

        self.client.subscribe_topic(topic, note)

    async def slots(self) -> Mapping[str, int]:
        """Return how many blocks each worker runs at a time, by its name."""
        scheduler: Any = self.client.scheduler
        try:
            about = await asyncio.wait_for(scheduler.identity(n_workers=-1), CONNECT_S)
        except (OSError, TimeoutError):
            raise self._gone() from None
        workers = about["workers"].values()
        return {str(one["name"]): int(one["resources"].get(worker.RESOURCE, 0)) for one in workers}

    async def run(self, request: BlockRequest, first: Collection[str]) -> BlockEnd:
        """Run a block on one of the workers ``first``, or on another one, and wait for its end.

        Raises:
            BlockError: It gave no attempts.
            HostError: The scheduler is gone.
        """
        with annotate(executor=worker.NAME):
            task = self.client.submit(
                block.run_block,
                request,
                key=request.key,
                workers=sorted(first) or None,
                allow_other_workers=bool(first),
                resources={worker.RESOURCE: 1},
                pure=False,
            )
        try:
            end: BlockEnd = await task
        except BlockError:
            raise
        except (FutureCancelledError, OSError, TimeoutError):
            raise self._gone() from None
        except KilledWorker as error:
            raise LostBlockError(f"the worker {error.last_worker.name} was lost") from None
        except Exception as error:  # noqa: BLE001 - what Dask could not do on that worker
            raise BlockError(f"{type(error).__name__}: {error}") from None
        finally:
            with suppress(Exception):  # of a scheduler that is gone
                await task.cancel()
        return end

    def _gone(self) -> HostError:
        reason = f"the scheduler at {self.address} is gone, with the blocks under way"
        return HostError(reason, "start it again; the same command resumes")


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
class SubmittedBlock:
    """A task of Dask."""

    number: int
    worker: WorkerFacts | None = None
    """Where it began."""
    began_again: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        """The name of that worker; empty before it began."""
        return self.worker.name if self.worker else ""


@dataclass
class Dispatch:
    """One run of a campaign's blocks on a cluster."""

    cluster: DaskCluster
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
    _submitted: dict[str, SubmittedBlock] = field(default_factory=dict)
    """The tasks under way, by their keys."""
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
        self.cluster.listen(self.order.key, self._begins)
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
        submitted = self._submitted.get(key)
        if submitted is None:
            return
        if submitted.worker:
            submitted.began_again.set()
            return
        submitted.worker = facts
        self._machines[submitted.number] = facts.name
        self.say(f"block {submitted.number} begins on {facts.name}")

    async def _all(self) -> None:
        idle_since_s = time.monotonic()
        while True:
            slots = await self.cluster.slots()
            await self._judge()
            while not self._is_interrupted and len(self._running) < sum(slots.values()):
                pending = self._take()
                if pending is None:
                    break
                self._running.add(asyncio.ensure_future(self._run_block(pending, slots)))
            is_over = self._is_interrupted or not any(map(self._needed, self._pending))
            if is_over and not self._running:
                return
            if any(slots.values()):
                idle_since_s = time.monotonic()
            elif time.monotonic() - idle_since_s > self.patience_s:
                reason = (
                    f"no worker was connected for {units.format_long_duration(self.patience_s)}"
                )
                raise HostError(reason, f"{_START_WORKER}; the same command goes on")
            await self._wait()

    async def _judge(self) -> None:
        """Find out which treatments are settled, if a block has ended since the last time."""
        if self.stopping and not self._is_judged:
            self._is_judged = True
            await asyncio.to_thread(self.stopping.look)

    def _needed(self, pending: PendingBlock) -> list[Work]:
        """Return the trials that are needed, among them all that have an invalid attempt."""
        rule = self.stopping
        return [one for one in pending.work if rule is None or one[1] > 1 or rule.needs(one[0])]

    def _take(self) -> PendingBlock | None:
        """Return the needed trials of the next block; None without any."""
        while self._pending:
            pending = self._pending.pop(0)
            if needed := self._needed(pending):
                return replace(pending, work=needed)
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

    async def _run_block(self, pending: PendingBlock, workers: Collection[str]) -> None:
        number, started, sent_s = pending.number, datetime.now(UTC), time.time()
        key = f"{self.order.key}-{uuid.uuid4().hex}"
        submitted = self._submitted[key] = SubmittedBlock(number)
        wanted = tuple((trial.id, attempt) for trial, attempt in pending.work)
        request = replace(self.order, key=key, block=number, wanted=wanted)
        began_on = {self._machines.get(number, "")} & {*workers}
        try:
            end = await self._ended(request, submitted, began_on)
            require_clock(sent_s, end, time.time())
            attempts = await asyncio.to_thread(
                self.returned.take, pending.work, end, submitted.name
            )
        except RefusedBlockError as error:
            raise HostError(f"{submitted.name} refused block {number}: {error}", _STOP) from None
        except LostBlockError as error:
            await self._lose(pending, submitted, started, str(error), goes_on=True)
        except BlockError as error:
            await self._lose(pending, submitted, started, str(error), goes_on=False)
            raise HostError(f"{submitted.name} failed in block {number}: {error}", _STOP) from None
        else:
            await self._note(submitted, RETURNED, link_certificate=end.certificate)
            self._is_judged = False
            self._report(attempts, goes_on=False)
        finally:
            del self._submitted[key]

    async def _ended(
        self, request: BlockRequest, submitted: SubmittedBlock, first: Collection[str]
    ) -> BlockEnd:
        """Return how a block ended: it is lost if it begins for a second time."""
        running = asyncio.ensure_future(self.cluster.run(request, first))
        again = asyncio.ensure_future(submitted.began_again.wait())
        try:
            await asyncio.wait({running, again}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            raise LostBlockError(f"the worker {submitted.name} was lost")
        finally:
            running.cancel()
            again.cancel()
            await asyncio.gather(running, again, return_exceptions=True)

    async def _note(self, submitted: SubmittedBlock, ending: str, **about: Any) -> None:
        if submitted.worker:
            await asyncio.to_thread(
                self.returned.note, submitted.number, ending, submitted.worker, **about
            )

    async def _lose(
        self,
        pending: PendingBlock,
        submitted: SubmittedBlock,
        started: datetime,
        reason: str,
        *,
        goes_on: bool,
    ) -> None:
        """Commit invalid attempts for a lost block, and let it run again unless it was enough."""
        text = f"block {pending.number} was lost: {reason}"
        lost = await asyncio.to_thread(
            self.returned.lose, pending.work, started, text, submitted.name
        )
        await self._note(submitted, LOST)
        self._machines.pop(pending.number, None)
        goes_on = goes_on and pending.losses < MAX_LOSSES
        if goes_on:
            self._pending.insert(0, pending.again())
        self._report(lost, goes_on=goes_on)

    def _report(self, attempts: Sequence[Attempt], *, goes_on: bool) -> None:
        last = {attempt.id: attempt.number for attempt in attempts}
        for attempt in attempts:
            self.tell(AttemptProgress(attempt, goes_on or attempt.number < last[attempt.id]))


def require_clock(sent_s: float, end: BlockEnd, received_s: float) -> None:
    """Check that a worker's times lie between ours.

    Raises:
        BlockError: Its clock is wrong.
    """
    behind_s, ahead_s = sent_s - end.begun_s, end.ended_s - received_s
    offset_s, way = max((behind_s, "behind"), (ahead_s, "ahead of"))
    if offset_s > MAX_CLOCK_OFFSET_S:
        raise BlockError(f"its clock is {offset_s:.0f} s {way} the campaign's; set it, as by NTP")


def finishing(under_way: int) -> str:
    """Write what follows a first Ctrl-C."""
    if not under_way:
        return "interrupted: no block is under way"
    blocks, them = ("1 block", "it") if under_way == 1 else (f"{under_way} blocks", "them")
    return f"interrupted: finishing {blocks} under way; Ctrl-C again leaves {them}"
