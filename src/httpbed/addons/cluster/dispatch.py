"""Gives the blocks of a campaign to workers, and takes back what they return.

A block goes to a worker with a free slot, and stays there: its comparisons are within one machine.
If the worker is lost, every attempt of the block that it had is an invalid one, and the block runs
again on another worker, up to :data:`MOST_LOSSES` times more. A worker that refuses a block gets no
further one; that costs no attempt. While no worker can run a block, the campaign waits.

With a range of replicates, the treatments are judged by the blocks that have ended whenever one
has, in a thread: reading and judging would stall the connection. A free slot does not wait for the
blocks under way, so a treatment may get as many blocks more than it needs as there are other slots.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO, Protocol

from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster import workers as fitness
from httpbed.addons.cluster.block_queue import BlockQueue, PendingBlock
from httpbed.addons.cluster.messages import (
    BlockEnd,
    BlockRequest,
    CodeIdentity,
    PackedAttempt,
    RunSelection,
    WantedTrial,
)
from httpbed.addons.cluster.returned_blocks import ReturnedAttempt, ReturnedBlocks, mismatch
from httpbed.addons.cluster.workers import ConnectedWorker, LostError, UselessError
from httpbed.base import units
from httpbed.base.errors import HostError
from httpbed.campaign.executor import Work
from httpbed.campaign.interruption import Interruption
from httpbed.campaign.progress import AttemptProgress
from httpbed.campaign.stopping import Stopping
from httpbed.experiment.trial import Attempt, Trial
from httpbed.store.machine_log import LOST, RETURNED
from httpbed.trial.verdict import AttemptId

MOST_LOSSES = 3
"""How often a block runs again in one run after its worker was lost."""
PATIENCE_S = 600.0
"""How long a campaign waits for a worker that can run a block, or for a scheduler that vanished."""

Say = Callable[[str], None]
Tell = Callable[[AttemptProgress], None]


class Cluster(Protocol):
    """Workers behind a scheduler."""

    async def connect(self) -> None:
        """Connect, or connect again; raises HostError if the scheduler does not answer."""

    async def look(self) -> list[ConnectedWorker]:
        """Return the workers that are connected now; raises LostError without a scheduler."""

    async def run(self, request: BlockRequest, worker: ConnectedWorker) -> BlockEnd:
        """Run a block and wait for its end; raises LostError if the worker is gone."""

    async def fetch(
        self, request: BlockRequest, worker: ConnectedWorker, packed: PackedAttempt, to: BinaryIO
    ) -> None:
        """Fetch an archive; raises LostError and UselessError."""

    async def forget(self, request: BlockRequest, worker: ConnectedWorker) -> None:
        """Let the worker remove what the block left."""


@dataclass(frozen=True)
class Order:
    """What all requests of a run have in common."""

    text: str
    selection: RunSelection
    manifest: dict[str, Any]
    code: CodeIdentity

    def request(self, work: Sequence[Work], registration: str) -> BlockRequest:
        """Return the request for a block."""
        return BlockRequest(
            key=f"httpbed-{uuid.uuid4().hex}",
            registration=registration,
            block=work[0][0].block,
            text=self.text,
            selection=self.selection,
            wanted=[WantedTrial(id=trial.id, number=number) for trial, number in work],
            manifest=self.manifest,
        )


@dataclass(frozen=True)
class GivenBlock:
    """A block that a worker runs."""

    block: PendingBlock
    worker: ConnectedWorker
    request: BlockRequest
    started: datetime

    def attempt(self, trial: str, number: int) -> AttemptId:
        """Return an attempt at one of its trials."""
        (wanted,) = (one for one, _ in self.block.work if one.id == trial)
        return AttemptId(wanted, number, self.started)


@dataclass
class Dispatch:
    """One run of a campaign's blocks on a cluster."""

    cluster: Cluster
    order: Order
    returned: ReturnedBlocks
    tell: Tell
    say: Say
    stopping: Stopping | None = None
    """Which treatments get no further block; None: each runs to its last one."""
    look_s: float = 1.0
    """Time between two looks at the workers."""
    patience_s: float = PATIENCE_S
    _queue: BlockQueue = field(init=False)
    _running: dict[asyncio.Task[None], ConnectedWorker] = field(default_factory=dict)
    _present: Collection[str] = ()
    """Names of the workers that may get blocks."""
    _excluded: dict[str, str] = field(default_factory=dict)
    """Why workers get no blocks, by their registration."""
    _idle_since_s: float | None = None
    """Since when nothing runs although blocks are left."""
    _is_judged: bool = True
    """Whether the treatments have been judged since the last block ended."""
    _interrupted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the user's first interrupt."""

    async def run(self, blocks: Iterable[Sequence[Work]]) -> None:
        """Run blocks on the cluster's workers, and commit every attempt.

        After the user's first interrupt no block begins; those under way are finished.

        Raises:
            HostError: No scheduler or no worker is there for too long.
            KeyboardInterrupt: The user interrupted the run, and the blocks under way have ended.
        """
        await self.cluster.connect()
        began_on = await asyncio.to_thread(self.returned.began_on)
        self._queue = BlockQueue(map(PendingBlock, blocks), began_on, self._needs)
        try:
            with Interruption(self._interrupt).handled():
                await self._all()
        finally:
            await _cancelled(self._running)
        if self._interrupted.is_set():
            raise KeyboardInterrupt

    def _needs(self, trial: Trial) -> bool:
        return self.stopping is None or self.stopping.needs(trial)

    def _interrupt(self) -> None:
        self._interrupted.set()
        self.say(finishing(len(self._running)))

    async def _all(self) -> None:
        while True:
            free = await self._free_slots()
            await self._judge()
            for worker in () if self._interrupted.is_set() else free:
                block = self._queue.take(worker.name, self._present)
                if block:
                    self._begin(block, worker)
            if not self._running:
                if self._interrupted.is_set() or self._queue.is_empty():
                    return
                self._require_patience()
            await self._wait()

    async def _judge(self) -> None:
        """Find out which treatments are settled, if a block has ended since the last time."""
        if self.stopping and not self._is_judged:
            self._is_judged = True
            await asyncio.to_thread(self.stopping.look)

    async def _free_slots(self) -> list[ConnectedWorker]:
        """Return the worker of each free slot, the first slots of all workers first."""
        fit = [worker for worker in await self._look() if self._is_fit(worker)]
        self._present = {worker.name for worker in fit}
        used = Counter(one.address for one in self._running.values())
        free = [
            (slot, worker) for worker in fit for slot in range(used[worker.address], worker.slots)
        ]
        return [worker for _, worker in sorted(free, key=lambda one: one[0])]

    async def _look(self) -> list[ConnectedWorker]:
        """Return the connected workers, after the scheduler has come back if it is gone.

        After an interrupt the scheduler is not waited for: blocks under way are lost with it.
        """
        while True:
            try:
                return await self.cluster.look()
            except LostError as error:
                if self._interrupted.is_set():
                    return []
                await self._reconnect(str(error))

    def _is_fit(self, worker: ConnectedWorker) -> bool:
        """Whether a worker may get blocks; say once why not."""
        if worker.registration in self._excluded or worker.may_answer:
            return False
        if reason := fitness.unfit(worker, self.order.code):
            self._exclude(worker, reason)
        return not reason

    def _exclude(self, worker: ConnectedWorker, reason: str) -> None:
        self._excluded[worker.registration] = f"{worker.name} {reason}"
        self.say(f"worker {worker.name} gets no blocks: it {reason}")

    def _begin(self, block: PendingBlock, worker: ConnectedWorker) -> None:
        self._idle_since_s = None
        trials = f"{len(block.work)} trial{'s' * (len(block.work) != 1)}"
        self.say(f"block {block.number} ({trials}) begins on {worker.name}")
        request = self.order.request(block.work, worker.registration)
        given = GivenBlock(block, worker, request, datetime.now(UTC))
        self._running[asyncio.ensure_future(self._run_block(given))] = worker

    async def _wait(self) -> None:
        """Wait for the end of a block, or for the time of the next look; raise its failure."""
        if not self._running:
            await asyncio.sleep(self.look_s)
            return
        done, _ = await asyncio.wait(
            self._running, timeout=self.look_s, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            del self._running[task]
            task.result()

    def _require_patience(self) -> None:
        """Raise HostError if blocks have waited too long for a worker that can run them."""
        if self._idle_since_s is None:
            self._idle_since_s = time.monotonic()
            limit = units.format_long_duration(self.patience_s)
            self.say(f"no worker is there to run a block: waiting for one, at most {limit}")
        if time.monotonic() - self._idle_since_s > self.patience_s:
            why = "; ".join(dict.fromkeys(self._excluded.values())) or "none is connected"
            remedy = "start httpbed worker on a machine; the same command goes on"
            raise HostError(f"no worker can run a block: {why}", remedy)

    async def _reconnect(self, reason: str) -> None:
        """Wait for a scheduler that vanished; blocks under way find out that they are lost.

        The user's interrupt ends the wait.
        """
        limit = units.format_long_duration(self.patience_s)
        self.say(f"{reason}; waiting for it, at most {limit}")
        end_s = time.monotonic() + self.patience_s
        while not self._interrupted.is_set():
            try:
                is_back = await self._unless_interrupted(self.cluster.connect())
            except HostError:
                if time.monotonic() > end_s:
                    raise
                await self._unless_interrupted(asyncio.sleep(self.look_s))
            else:
                if is_back:
                    self.say("the scheduler is back")
                return

    async def _unless_interrupted(self, action: Coroutine[Any, Any, None]) -> bool:
        """Wait for an action, or break it off at the user's interrupt; return whether it ended."""
        acting = asyncio.ensure_future(action)
        interrupt = asyncio.ensure_future(self._interrupted.wait())
        try:
            await asyncio.wait({acting, interrupt}, return_when=asyncio.FIRST_COMPLETED)
            if acting.done():
                acting.result()
            return acting.done()
        finally:
            acting.cancel()
            interrupt.cancel()
            # A connection that is broken off may fail; the event loop would print its traceback.
            await asyncio.gather(acting, interrupt, return_exceptions=True)

    async def _run_block(self, given: GivenBlock) -> None:
        block, worker, request = given.block, given.worker, given.request
        try:
            end = await self.cluster.run(request, worker)
            if end.kind == "refused":
                self._exclude(worker, f"refused block {block.number}: {end.reason}")
                self._queue.put_back(block)
                return
            fetched = await self._fetched(given, end)
        except LostError as error:
            await self._lose(given, str(error))
            return
        except UselessError as error:
            self._exclude(worker, f"failed in block {block.number}: {error}")
            await self._lose(given, f"worker {worker.name} failed: {error}")
            return
        finally:
            await self.cluster.forget(request, worker)
        attempts = await asyncio.to_thread(self.returned.commit, fetched)
        await asyncio.to_thread(self.returned.note, worker, block.number, RETURNED, end)
        self._is_judged = False
        self._report(attempts, goes_on=False)

    async def _fetched(self, given: GivenBlock, end: BlockEnd) -> list[ReturnedAttempt]:
        """Fetch and unpack all attempts of a block, or none.

        Raises:
            LostError: The worker is gone.
            UselessError: The block failed, or an attempt is missing or damaged.
        """
        reason = mismatch(given.block.work, end.attempts)
        if end.kind == "failed" or reason:
            raise UselessError(end.reason or reason)
        fetched = list[ReturnedAttempt]()
        try:
            for packed in sorted(end.attempts, key=lambda one: one.number):
                fetched.append(await self._fetched_attempt(given, packed))
        except BaseException:
            self.returned.discard(fetched)
            raise
        return fetched

    async def _fetched_attempt(self, given: GivenBlock, packed: PackedAttempt) -> ReturnedAttempt:
        """Fetch and unpack an attempt; an attempt that is too large to travel is invalid."""
        this, name = given.attempt(packed.trial, packed.number), given.worker.name
        if reason := attempt_archive.too_large(packed.bytes):
            return await asyncio.to_thread(self.returned.invalid, this, reason, name)
        with tempfile.TemporaryFile() as archive:
            await self.cluster.fetch(given.request, given.worker, packed, archive)
            return await asyncio.to_thread(self.returned.unpack, this, archive, name)

    async def _lose(self, given: GivenBlock, reason: str) -> None:
        """Commit invalid attempts for a lost block, and let it run again unless it was enough."""
        block, name = given.block, given.worker.name
        text = f"block {block.number} was lost: {reason}"
        attempts = [given.attempt(trial.id, number) for trial, number in block.work]
        lost = await asyncio.to_thread(self.returned.lose, attempts, text, name)
        await asyncio.to_thread(self.returned.note, given.worker, block.number, LOST, None)
        goes_on = block.losses < MOST_LOSSES
        if goes_on:
            self._queue.put_back(block.again())
        self._report(lost, goes_on=goes_on)

    def _report(self, attempts: Sequence[Attempt], *, goes_on: bool) -> None:
        last = {attempt.id: attempt.number for attempt in attempts}
        for attempt in attempts:
            self.tell(AttemptProgress(attempt, goes_on or attempt.number < last[attempt.id]))


def finishing(under_way: int) -> str:
    """Write what follows a first Ctrl-C."""
    if not under_way:
        return "interrupted: no block is under way"
    blocks, them = ("1 block", "it") if under_way == 1 else (f"{under_way} blocks", "them")
    return f"interrupted: finishing {blocks} under way; Ctrl-C again breaks {them} off"


async def _cancelled(running: dict[asyncio.Task[None], ConnectedWorker]) -> None:
    """Break blocks off, and wait until their tasks have ended."""
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
