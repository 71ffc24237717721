"""The campaign's side of the connection to a scheduler of Dask.

Each task names its worker, so the scheduler neither chooses nor steals. A task whose worker is gone
would wait for ever and would begin again, silently, if the worker came back. So the campaign looks
at the list of workers, and gives a block up as lost when its worker is no longer in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import starmap
from typing import Any, BinaryIO, Self

from distributed import Client, Future
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from httpbed.addons.cluster import block_process, dask_settings, workers
from httpbed.addons.cluster import worker as remote
from httpbed.addons.cluster.certificates import START, Scheduler
from httpbed.addons.cluster.messages import (
    RESOURCE,
    BlockEnd,
    BlockRequest,
    PackedAttempt,
    WorkerFacts,
)
from httpbed.addons.cluster.workers import ConnectedWorker, LostError, UselessError
from httpbed.base import units
from httpbed.base.errors import HostError

LOOK_S = 1.0
"""Time between two looks at the list of workers."""
CONNECT_S = 10.0
"""How long the scheduler may take to answer."""
ANSWER_S = 3.0
"""How long a worker may take to say its time, or to begin to remove a block."""
PIECE_S = 60.0
"""How long a piece of an archive may travel."""


class Connection:
    """A connection to a scheduler; :meth:`connect` opens it, also after the scheduler vanished."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.address = scheduler.address
        self._scheduler = scheduler
        self._client: Client | None = None
        self._known: Mapping[str, ConnectedWorker] = {}
        self._offsets_s: dict[str, float] = {}
        """Of the workers' clocks, by registration."""
        self._unanswered = Counter[str]()
        """How often a worker did not say its time, by registration."""

    async def __aenter__(self) -> Self:
        dask_settings.apply(self._scheduler)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def connect(self) -> None:
        """Connect to the scheduler.

        Raises:
            HostError: It does not answer.
        """
        await self._close()
        # Kept before it has connected, so that it is closed if the user interrupts that.
        self._client = Client(self.address, asynchronous=True, timeout=CONNECT_S)
        try:
            await self._client
        except (OSError, TimeoutError, ValueError) as error:
            reason = f"no scheduler answers at {self.address}: {_first_line(error)}"
            raise HostError(reason, START) from None

    async def _close(self) -> None:
        self._known = {}
        if self._client is not None:
            with suppress(OSError, TimeoutError):
                await self._client.close(timeout=CONNECT_S)
        self._client = None

    async def look(self) -> list[ConnectedWorker]:
        """Return the workers that are connected now; ask new ones for their time.

        All are asked side by side: a worker that hangs delays a look by :data:`ANSWER_S` at most.

        Raises:
            LostError: The scheduler is gone.
        """
        try:
            scheduler: Any = self._connected().scheduler
            about = await asyncio.wait_for(scheduler.identity(n_workers=-1), CONNECT_S)
            found = await asyncio.gather(*starmap(self._worker, about["workers"].items()))
        except (OSError, TimeoutError) as error:
            self._known = {}
            raise LostError(f"the scheduler at {self.address} is gone: {error}") from None
        self._known = {one.address: one for one in found}
        return found

    def _connected(self) -> Client:
        if self._client is None or self._client.status != "running":
            raise OSError("the connection is closed")
        return self._client

    async def _worker(self, address: str, about: Mapping[str, Any]) -> ConnectedWorker:
        try:
            facts = WorkerFacts.model_validate_json(about[remote.NAME])
        except (KeyError, ValueError):
            return ConnectedWorker(address, None)
        own = facts.registration
        if own not in self._offsets_s and self._unanswered[own] < workers.MOST_QUESTIONS:
            await self._ask_for_time(address, own)
        return ConnectedWorker(address, facts, self._offsets_s.get(own), self._unanswered[own])

    async def _ask_for_time(self, address: str, registration: str) -> None:
        """Find out how far a worker's clock is ahead."""
        sent_s = time.time()
        try:
            theirs_s = await self._ask(address, ANSWER_S, time.time)
        except (LostError, UselessError):
            self._unanswered[registration] += 1
        else:
            offset_s = workers.clock_offset_s(sent_s, theirs_s, time.time())
            self._offsets_s[registration] = offset_s

    async def _ask(self, address: str, within_s: float, function: Any, *words: Any) -> Any:
        """Call a function in a worker, beside its tasks.

        Raises:
            LostError: The worker is gone, or cannot do it.
            UselessError: It is there, and does not answer in time.
        """
        try:
            answers = self._connected().run(function, *words, workers=[address])
            return (await asyncio.wait_for(answers, within_s))[address]
        except TimeoutError:
            reason = f"it did not answer within {units.format_duration(within_s)}"
            raise UselessError(reason) from None
        except Exception as error:  # noqa: BLE001 - whatever the worker raised
            raise LostError(f"the worker at {address} does not answer: {error}") from None

    async def run(self, request: BlockRequest, worker: ConnectedWorker) -> BlockEnd:
        """Run a block on a worker, and wait for its end.

        Raises:
            LostError: The worker is gone, or the scheduler.
        """
        task = self._submitted(request, worker)
        result = asyncio.ensure_future(_result(task))
        try:
            while not result.done():
                await asyncio.wait({result}, timeout=LOOK_S)
                if not result.done() and not self._is_there(worker):
                    raise LostError(f"the worker {worker.name} was lost")
            return result.result()
        finally:
            result.cancel()
            with suppress(Exception):  # of a scheduler that is gone
                await task.cancel()

    def _submitted(self, request: BlockRequest, worker: ConnectedWorker) -> Future[Any]:
        try:
            return self._connected().submit(
                remote.run_block,
                request.model_dump_json(),
                key=request.key,
                workers=[worker.address],
                resources={RESOURCE: 1},
                pure=False,
            )
        except OSError as error:
            raise LostError(f"the scheduler at {self.address} is gone: {error}") from None

    def _is_there(self, worker: ConnectedWorker) -> bool:
        now = self._known.get(worker.address)
        return now is not None and now.facts == worker.facts

    async def fetch(
        self, request: BlockRequest, worker: ConnectedWorker, packed: PackedAttempt, to: BinaryIO
    ) -> None:
        """Fetch an attempt's archive by pieces.

        Raises:
            LostError: The worker is gone.
            UselessError: The worker hangs, or the archive differs from what it announced.
        """
        name = block_process.file_name(packed.trial, packed.number)
        digest, offset = hashlib.sha256(), 0
        while offset < packed.bytes:
            content = await self._ask(
                worker.address, PIECE_S, remote.piece, request.key, name, offset
            )
            if not content or offset + len(content) > packed.bytes:
                raise UselessError(f"{name} has another length than announced")
            digest.update(content)
            to.write(content)
            offset += len(content)
        if digest.hexdigest() != packed.sha256:
            raise UselessError(f"{name} has another SHA-256 than announced")
        to.seek(0)

    async def forget(self, request: BlockRequest, worker: ConnectedWorker) -> None:
        """Let a worker remove what a block left there."""
        with suppress(LostError, UselessError):
            await self._ask(worker.address, ANSWER_S, remote.forget, request.key)


async def _result(task: Future[Any]) -> BlockEnd:
    try:
        return BlockEnd.model_validate_json(await task)
    except FutureCancelledError:
        raise LostError("the connection to the scheduler was lost") from None
    except (KilledWorker, OSError, TimeoutError) as error:
        reason = f"the connection to the scheduler was lost: {_first_line(error)}"
        raise LostError(reason) from None
    except Exception as error:  # noqa: BLE001 - what Dask could not do on that worker
        return BlockEnd(kind="failed", reason=f"{type(error).__name__}: {error}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
