"""A worker of Dask that runs blocks, each in a process of its own."""

from __future__ import annotations

import asyncio
import errno
import logging
import multiprocessing
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from distributed import Worker, WorkerPlugin
from distributed.comm import addressing

from httpbed.addons.cluster import block
from httpbed.addons.cluster.block import WorkerFacts, own_code
from httpbed.addons.cluster.certificates import START, Scheduler
from httpbed.base.errors import HostError
from httpbed.bed.machine import facts

NAME = "httpbed"
"""The name of the plugin and of the executor in Dask's worker; the first part of a block's key."""
RESOURCE = "measurement"
"""Dask's abstract resource: a worker has one for each block that it runs at a time."""
_OF_DASK = "dask-scratch-space"
"""Name of the folder that Dask makes for its workers."""
CONNECT_S = "10s"
HEARTBEAT = "5s"

_NO_SUCH_ADDRESS = {errno.EADDRNOTAVAIL, socket.EAI_NONAME, socket.EAI_NODATA}
_WITHOUT_REASON = (TimeoutError, asyncio.CancelledError)
"""Dask raises these for a failure whose reason is in an earlier one, such as of a certificate."""

Connected = Callable[[WorkerFacts], None]
"""Called when the worker has registered, with what it says about itself."""


def configure_dask(scheduler: Scheduler | None = None) -> None:
    """Set Dask's options: nothing that disturbs a measurement, few words.

    With a scheduler, its certificates are among them, and Dask's own configuration does not count.
    """
    dask.config.set(
        {
            **(scheduler.settings() if scheduler else {}),
            "distributed.worker.http.routes": [],  # they would answer anyone who reaches the port
            "distributed.comm.timeouts.connect": CONNECT_S,
            "distributed.worker.profile.enabled": False,  # samples the worker's threads
            "distributed.admin.tick.interval": "1s",
            "distributed.admin.tick.limit": "1h",
        }
    )
    known = (one for one in logging.root.manager.loggerDict if one.startswith("distributed"))
    # What Dask still sends to a scheduler that is gone raises in a callback of Tornado's.
    for name in ["tornado.application", *known]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


class BlockProcesses(Executor):
    """Runs each block in a new process, on its main thread.

    The kernel kills a sandbox when the thread that started it ends, so no thread of Dask may start
    one.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function in a new process."""
        spawning = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(
            1, mp_context=spawning, initializer=begin_block, initargs=(self._slots,)
        )
        future = pool.submit(fn, *args, **kwargs)
        pool.shutdown(wait=False)  # once the function has returned
        return future


def begin_block(slots: int) -> None:
    """Prepare the process of a block: it ends with the worker, however that ends."""
    block.slots = slots
    os.setsid()  # an interrupt at the terminal is the worker's matter
    worker = multiprocessing.parent_process()
    assert worker is not None  # noqa: S101 - it is a child

    def end_with_the_worker() -> None:
        worker.join()
        os._exit(1)

    threading.Thread(target=end_with_the_worker, daemon=True).start()
    # Only this user may read Dask's folder, and guests, which see the whole path, are another's.
    sys.path[:] = [one for one in sys.path if one and _OF_DASK not in Path(one).parts]


class Blocks(WorkerPlugin):
    """Lets a worker run blocks, and tell their campaign where they begin."""

    name = NAME

    def setup(self, worker: Worker) -> None:
        """Take the worker's processes and facts; Dask calls this."""
        self._worker = worker
        slots = int(worker.state.total_resources.get(RESOURCE, 1))
        worker.executors[NAME] = BlockProcesses(slots)
        code, host = own_code(), facts.gather()
        self.facts = WorkerFacts(name=str(worker.name), slots=slots, code=code, host=host)

    def teardown(self, worker: Worker) -> None:
        """Break off the blocks under way; Dask calls this when the worker closes."""
        del worker
        for process in multiprocessing.active_children():
            process.kill()

    def transition(self, key: Any, start: str, finish: str, **about: Any) -> None:
        """Tell a block's campaign that the block begins; Dask calls this."""
        del start, about
        if finish == "executing" and str(key).startswith(f"{NAME}-"):
            topic = str(key).rpartition("-")[0]
            self._worker.log_event(topic, (str(key), self.facts.model_dump_json()))


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker registers."""

    scheduler: Scheduler
    name: str
    slots: int = 1
    host: str | None = None
    """Address at which it listens; None: the one from which it reaches the scheduler."""


def serve(options: WorkerOptions, connected: Connected) -> None:
    """Work until the scheduler is gone.

    Raises:
        HostError: No scheduler answers, or another worker has this name, or the scheduler is gone.
        KeyboardInterrupt: The user ended it; blocks under way are broken off.
    """
    configure_dask(options.scheduler)
    try:
        asyncio.run(_serve(options, connected))
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise _unable(options, error) from None
    reason = f"the scheduler at {options.scheduler.address} is gone"
    raise HostError(reason, "start it again, and this worker")


async def _serve(options: WorkerOptions, connected: Connected) -> None:
    blocks, address = Blocks(), options.scheduler.address
    serving = Worker(
        address,
        name=options.name,
        nthreads=options.slots,
        resources={RESOURCE: options.slots},
        host=options.host or addressing.get_local_address_for(address),
        memory_limit=0,  # httpbed bounds what a trial uses
        heartbeat_interval=HEARTBEAT,
        dashboard_address="127.0.0.1:0",
        plugins=(blocks,),
        death_timeout=CONNECT_S,
    )
    async with serving:
        connected(blocks.facts)
        await serving.finished()


def _unable(options: WorkerOptions, error: Exception) -> HostError:
    if any("name taken" in str(cause) for cause in _causes(error)):
        reason = f"the scheduler already has a worker called {options.name}"
        return HostError(reason, "give this one another name (--name), or more slots to the other")
    cause = first_cause(error)
    if options.host and getattr(cause, "errno", None) in _NO_SUCH_ADDRESS:
        reason = f"this machine cannot listen at {options.host}: {_why(cause)}"
        return HostError(reason, "name an address of this machine: --host ADDRESS")
    return no_answer(options.scheduler, cause)


def no_answer(scheduler: Scheduler, cause: BaseException) -> HostError:
    """Return the failure that no scheduler answers, with its cause and a remedy."""
    return HostError(f"no scheduler answers at {scheduler.address}: {_why(cause)}", START)


def first_cause(error: BaseException) -> BaseException:
    """Return what led to a failure of Dask's: the earliest error that has a reason."""
    causes = [*_causes(error)]
    return next((one for one in reversed(causes) if not isinstance(one, _WITHOUT_REASON)), error)


def _why(cause: BaseException) -> str:
    text = getattr(cause, "strerror", None) or str(cause)
    return next(iter(text.splitlines()), type(cause).__name__)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what led to it, the earliest last."""
    while error:
        yield error
        error = error.__cause__ or error.__context__
