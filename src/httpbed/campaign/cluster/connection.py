"""The campaign's side of the connection to a scheduler of Dask.

Each task names its worker, so the scheduler neither chooses nor steals. A task whose worker is gone
would wait for ever and would begin again, silently, if the worker came back. So the campaign looks
at the list of workers, and gives a block up as lost when its worker is no longer in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Self

from distributed import Client, Future
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from httpbed.campaign.cluster import block_process, dask_settings, workers
from httpbed.campaign.cluster import worker as remote
from httpbed.campaign.cluster.attempt_archive import MOST_BYTES
from httpbed.campaign.cluster.messages import (
    RESOURCE,
    BlockEnd,
    BlockRequest,
    PackedAttempt,
    WorkerFacts,
)
from httpbed.campaign.cluster.workers import ConnectedWorker, LostError, UselessError
from httpbed.experiment.errors import HostError

LOOK_S = 1.0
"""Time between two looks at the list of workers."""
CONNECT_S = 10.0
ANSWER_S = 60.0
"""How long the scheduler, or a worker through it, may take to answer."""


class Connection:
    """A connection to a scheduler; :meth:`connect` opens it, also after the scheduler vanished."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client: Client | None = None
        self._known: Mapping[str, ConnectedWorker] = {}
        self._offsets_s: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        dask_settings.apply()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def connect(self) -> None:
        """Connect to the scheduler.

        Raises:
            HostError: It does not answer.
        """
        await self._close()
        try:
            self._client = await Client(self.address, asynchronous=True, timeout=CONNECT_S)
        except (OSError, TimeoutError, ValueError) as error:
            cause = str(error).splitlines() or [type(error).__name__]
            reason = f"no scheduler answers at {self.address}: {cause[0]}"
            raise HostError(reason, "start one with dask scheduler, or give its address") from None

    async def _close(self) -> None:
        self._known = {}
        if self._client is not None:
            with suppress(OSError, TimeoutError):
                await self._client.close(timeout=CONNECT_S)
        self._client = None

    async def look(self) -> list[ConnectedWorker]:
        """Return the workers that are connected now.

        Raises:
            LostError: The scheduler is gone.
        """
        try:
            scheduler: Any = self._connected().scheduler
            about = await asyncio.wait_for(scheduler.identity(n_workers=-1), ANSWER_S)
            listed = about["workers"]
            found = {
                address: await self._worker(address, about) for address, about in listed.items()
            }
        except (OSError, TimeoutError) as error:
            self._known = {}
            raise LostError(f"the scheduler at {self.address} is gone: {error}") from None
        self._known = found
        return list(found.values())

    def _connected(self) -> Client:
        if self._client is None or self._client.status != "running":
            raise OSError("the connection is closed")
        return self._client

    async def _worker(self, address: str, about: Mapping[str, Any]) -> ConnectedWorker:
        try:
            facts = WorkerFacts.model_validate_json(about[remote.NAME])
        except (KeyError, ValueError):
            return ConnectedWorker(address, None)
        return ConnectedWorker(address, facts, await self._offset_s(address, facts.registration))

    async def _offset_s(self, address: str, registration: str) -> float | None:
        """Return how far a worker's clock is ahead, asked once."""
        if registration not in self._offsets_s:
            sent_s = time.time()
            with suppress(LostError):
                theirs_s = await self._ask(address, time.time)
                offset_s = workers.clock_offset_s(sent_s, theirs_s, time.time())
                self._offsets_s[registration] = offset_s
        return self._offsets_s.get(registration)

    async def _ask(self, address: str, function: Any, *words: Any) -> Any:
        """Call a function in a worker, beside its tasks."""
        try:
            answers = self._connected().run(function, *words, workers=[address])
            return (await asyncio.wait_for(answers, ANSWER_S))[address]
        except Exception as error:  # noqa: BLE001 - whatever the worker raised
            raise LostError(f"the worker at {address} does not answer: {error}") from None

    async def run(self, request: BlockRequest, worker: ConnectedWorker) -> BlockEnd:
        """Run a block on a worker, and wait for its end.

        Raises:
            LostError: The worker is gone, or the scheduler.
        """
        task = self._connected().submit(
            remote.run_block,
            request.model_dump_json(),
            key=request.key,
            workers=[worker.address],
            resources={RESOURCE: 1},
            pure=False,
        )
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

    def _is_there(self, worker: ConnectedWorker) -> bool:
        now = self._known.get(worker.address)
        return now is not None and now.facts == worker.facts

    async def fetch(
        self, request: BlockRequest, worker: ConnectedWorker, packed: PackedAttempt, to: BinaryIO
    ) -> None:
        """Fetch an attempt's archive by pieces.

        Raises:
            LostError: The worker is gone.
            UselessError: The archive is too long, or differs from what the worker announced.
        """
        if packed.bytes > MOST_BYTES:
            raise UselessError(f"an archive of {packed.bytes} bytes is too long")
        name = block_process.file_name(packed.trial, packed.number)
        digest, offset = hashlib.sha256(), 0
        while offset < packed.bytes:
            content = await self._ask(worker.address, remote.piece, request.key, name, offset)
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
        with suppress(LostError):
            await self._ask(worker.address, remote.forget, request.key)


async def _result(task: Future[Any]) -> BlockEnd:
    try:
        return BlockEnd.model_validate_json(await task)
    except (FutureCancelledError, KilledWorker, OSError, TimeoutError) as error:
        raise LostError(f"the connection to the scheduler was lost: {error}") from None
    except Exception as error:  # noqa: BLE001 - what Dask could not do on that worker
        return BlockEnd(kind="failed", reason=f"{type(error).__name__}: {error}")
