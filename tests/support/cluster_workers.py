"""A scheduler and workers of Dask within the process of a test; scripts play the blocks' part."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from distributed import Client, Scheduler, Worker

import stored_campaigns
from httpbed.addons.cluster import block
from httpbed.addons.cluster.block import AttemptFiles, BlockEnd, BlockRequest
from httpbed.addons.cluster.dispatch import DaskCluster
from httpbed.addons.cluster.worker import NAME, RESOURCE, Blocks
from httpbed.campaign.settings import DesignOptions, RunSettings
from httpbed.experiment.trial import Record, Trial
from httpbed.store import campaign as campaigns

ORDER = BlockRequest(
    key="httpbed-run",
    code="httpbed 0.1.0",
    block=0,
    text=stored_campaigns.SMALL,
    folder="/",
    options=DesignOptions(clock="real"),
    settings=RunSettings(command="httpbed run"),
    manifest={},
)
"""What all requests of a run have in common."""

_THREAD = threading.local()

Run = Callable[[BlockRequest], list[Record]]
"""Returns the records of the attempts that a worker makes; raises what ends the block."""


def completed(request: BlockRequest, trials: Sequence[Trial]) -> list[Record]:
    """Return a completed attempt at each trial that a request wants."""
    by_id = {trial.id: trial for trial in trials}
    return [stored_campaigns.record(by_id[name], number) for name, number in request.wanted]


class LostError(Exception):
    """The worker vanishes in the middle of a block."""


@dataclass
class ScriptedWorkers:
    """What workers do with their blocks."""

    folder: Path
    """Where they keep their blocks."""
    runs: Mapping[str, list[Run]]
    """What each does in turn, by its name; the last entry stays."""
    slots: Mapping[str, int]
    requests: list[tuple[str, BlockRequest]] = field(default_factory=list)
    """Every block that began, with the worker's name."""
    damage: Callable[[dict[str, bytes]], AttemptFiles] = dict
    """What happens to an attempt's files on their way."""
    clock_offset_s: float = 0.0
    """Of the workers' clocks."""
    _workers: dict[str, Worker] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop = field(init=False)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[DaskCluster]:
        """Start scheduler and workers."""
        self._loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            scheduler = await stack.enter_async_context(
                Scheduler(protocol="inproc://", dashboard_address="127.0.0.1:0")
            )
            for name in self.runs:
                await self._start(scheduler, name, stack)
            client = Client(scheduler.address, asynchronous=True)
            yield DaskCluster(await stack.enter_async_context(client), scheduler.address)

    async def _start(self, scheduler: Scheduler, name: str, stack: AsyncExitStack) -> None:
        slots = self.slots[name]
        worker = Worker(
            scheduler.address,
            name=name,
            nthreads=slots,
            resources={RESOURCE: slots},
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            plugins=(Blocks(),),
        )
        self._workers[name] = await stack.enter_async_context(worker)
        worker.executors[NAME] = _Scripted(slots, self, name)

    def act(self, request: BlockRequest, name: str) -> BlockEnd:
        """Do what the script of a worker says next."""
        self.requests.append((name, request))
        script = self.runs[name]
        action = script.pop(0) if len(script) > 1 else script[0]
        now_s = time.time() + self.clock_offset_s
        try:
            records = action(request)
        except LostError:
            worker = self._workers[name]
            asyncio.run_coroutine_threadsafe(worker.close(executor_wait=False), self._loop).result()
            raise
        return BlockEnd([self._files(request, record) for record in records], None, now_s, now_s)

    def _files(self, request: BlockRequest, record: Record) -> AttemptFiles:
        campaign = campaigns.Campaign(self.folder / request.key / record.attempt.id)
        stored_campaigns.keep(campaign, record, leave=_leave)
        (files,) = block.attempt_files(campaign.directory)
        return self.damage(dict(files))


class _Scripted(ThreadPoolExecutor):
    """A worker's threads; each knows whose script it plays."""

    def __init__(self, slots: int, workers: ScriptedWorkers, name: str) -> None:
        super().__init__(slots, initializer=self._begin, initargs=(workers, name))

    @staticmethod
    def _begin(workers: ScriptedWorkers, name: str) -> None:
        _THREAD.workers, _THREAD.name = workers, name


def run_block(request: BlockRequest) -> BlockEnd:
    """Do what the script of the worker says next; it stands in for the block's own function."""
    return _THREAD.workers.act(request, _THREAD.name)  # type: ignore[no-any-return]


def _leave(_: Record, artifacts: Path) -> None:
    (artifacts / "client").mkdir()
    (artifacts / "client" / "curl.json").write_text("{}\n")
