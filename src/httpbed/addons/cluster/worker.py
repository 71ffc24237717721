"""A worker of Dask that runs blocks: each in a process of its own, one for each slot.

:func:`run_block` is the task: a request in, the block's end and its archives out. It runs on the
worker's event loop, starts the block's process and waits. If the campaign cancels the task, or its
scheduler is gone, the process is killed.

``httpbed worker`` starts such a worker. Any other worker of Dask becomes one with ``--preload
httpbed.addons.cluster.worker --resources measurement=1``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import platform
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dask
from distributed import Worker, WorkerPlugin, get_worker
from distributed.comm import addressing

from httpbed.addons.cluster import block_process
from httpbed.addons.cluster.certificates import ENCRYPTED, START, Scheduler
from httpbed.addons.cluster.messages import (
    RESOURCE,
    BlockEnd,
    BlockRequest,
    CodeIdentity,
    WorkerFacts,
    own_code,
)
from httpbed.base.errors import HostError
from httpbed.bed.machine import doctor, facts, scratch
from httpbed.bed.sandbox import sandbox_spec
from httpbed.bed.toolbox import root_filesystem

NAME = "httpbed"
"""The name of the plugin in Dask's worker."""
SCRATCH = "worker"
"""Purpose of the folder in which a worker runs its blocks."""
_OF_DASK = "dask-scratch-space"
"""Name of the folder that Dask makes for its workers."""
LOOK_S = 0.5
"""Time between two looks at whether a block is still wanted."""
PROGRAM: tuple[str, ...] = (sys.executable, "-P", "-m", block_process.__name__)
"""Command line of the process of a block; the block's folder and the number of slots follow."""
CONNECT_S = "10s"
HEARTBEAT = "5s"

Connected = Callable[[WorkerFacts], None]
"""Called when the worker has registered, with what it says about itself."""


def configure_dask(scheduler: Scheduler | None = None) -> None:
    """Set Dask's options: nothing that disturbs a measurement, few words.

    With a scheduler, its certificates are among them; Dask's own configuration has no say there.
    """
    dask.config.set(
        {
            **(scheduler.settings() if scheduler else {}),
            "distributed.worker.http.routes": [],  # what it says of itself, to who reaches a port
            "distributed.comm.timeouts.connect": CONNECT_S,
            "distributed.worker.profile.enabled": False,  # samples the worker's threads
            "distributed.admin.tick.interval": "1s",
            "distributed.admin.tick.limit": "1h",
        }
    )
    for name in [one for one in logging.root.manager.loggerDict if one.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def require_able() -> None:
    """Check that this machine can run trials.

    Raises:
        HostError: It cannot; with the remedy.
    """
    doctor.require_namespaces(
        doctor.run_capability_tests(root_filesystem.find(root_filesystem.TOOLS))
    )
    doctor.require_disk()
    for name in sandbox_spec.ALL:
        sandbox_spec.executable(name)


async def dask_setup(worker: Worker) -> None:
    """Equip a worker that Dask starts, before it registers; Dask calls this after a preload.

    Raises:
        SystemExit: Its connections are not encrypted. Dask would ignore another exception.
    """
    if not (worker.security.require_encryption and worker.scheduler.address.startswith(ENCRYPTED)):
        raise SystemExit("httpbed: give the worker --tls-ca-file, --tls-cert and --tls-key")
    configure_dask()
    worker.name = platform.node()  # by which campaigns know the machine
    slots = int(worker.state.total_resources.get(RESOURCE, 0))
    await worker.plugin_add(plugin=BlockRunner(worker.name, slots))


class BlockRunner(WorkerPlugin):
    """What Dask's worker has of httpbed: the folder of blocks, and who the worker is."""

    name = NAME

    def __init__(self, name: str, slots: int) -> None:
        self.facts = WorkerFacts(name=name, slots=slots, code=own_code(), host=facts.gather())
        self._folder = scratch.make(SCRATCH)

    async def run(
        self, request: BlockRequest, is_wanted: Callable[[], bool]
    ) -> tuple[BlockEnd, list[bytes]]:
        """Run a block in its own process, and kill that once the campaign no longer wants it."""
        if reason := self._unfit(request.code):
            return BlockEnd(kind="refused", reason=reason), []
        folder = self._folder / request.key
        folder.mkdir()
        try:
            end = await self._ended(request, folder, is_wanted)
            names = [block_process.file_name(one) for one in end.attempts if one.travels]
            return end, [(folder / name).read_bytes() for name in names]
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _unfit(self, code: CodeIdentity) -> str:
        """Return why this worker runs no block of a campaign; empty if it does."""
        if code != self.facts.code:
            return f"it runs {self.facts.code}, and the campaign {code}; install the same on both"
        try:
            require_able()
        except HostError as error:
            return f"it cannot run trials: {error}"
        return ""

    async def _ended(
        self, request: BlockRequest, folder: Path, is_wanted: Callable[[], bool]
    ) -> BlockEnd:
        (folder / block_process.REQUEST).write_bytes(pickle.dumps(request))
        process = await asyncio.create_subprocess_exec(
            *(*PROGRAM, str(folder), str(self.facts.slots)),
            stdin=asyncio.subprocess.PIPE,  # ends with this process, and so does the block's
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # an interrupt at the terminal is this process's matter
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_search_path())},
        )
        try:
            output = await _output(process, is_wanted)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
        return _end(output, process.returncode)


def _search_path() -> list[str]:
    """Return Python's search path without Dask's own folder of the worker.

    Only this user may read that folder, and guests, which see the whole path, are another user's.
    """
    return [one for one in sys.path if one and _OF_DASK not in Path(one).parts]


async def _output(process: asyncio.subprocess.Process, is_wanted: Callable[[], bool]) -> bytes:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    reading = asyncio.ensure_future(process.stdout.read())
    try:
        while not reading.done() and is_wanted():
            await asyncio.wait({reading}, timeout=LOOK_S)
        return reading.result() if reading.done() else b""
    finally:
        reading.cancel()


def _end(output: bytes, code: int | None) -> BlockEnd:
    lines = output.decode(errors="replace").splitlines()
    try:
        return BlockEnd.model_validate_json(lines[-1])
    except (IndexError, ValueError):
        reason = f"the process of the block ended with code {code} and no result"
        return BlockEnd(kind="failed", reason=reason)


async def run_block(request: BlockRequest) -> tuple[str, list[bytes]]:
    """Run a block; return its end as JSON, and the archives of the attempts that travel.

    The campaign hears first that it begins here. So it notices if Dask runs a task again because
    the worker is gone, or because a result was lost with it.
    """
    worker = get_worker()
    runner = worker.plugins.get(NAME)
    if not isinstance(runner, BlockRunner):
        reason = "it is no worker of httpbed; start it with httpbed worker"
        end = BlockEnd(kind="refused", reason=reason, worker=str(worker.name))
        return end.model_dump_json(), []
    facts, begun_s = runner.facts, time.time()
    worker.log_event(request.topic, (request.key, facts.model_dump_json()))

    def is_wanted() -> bool:
        task = worker.state.tasks.get(request.key)
        return task is not None and task.state != "cancelled"

    end, archives = await runner.run(request, is_wanted)
    about = {"worker": facts.name, "host": facts.host, "code": facts.code}
    times = {"begun_s": begun_s, "ended_s": time.time()}
    return end.model_copy(update={**about, **times}).model_dump_json(), archives


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
    runner, address = BlockRunner(options.name, options.slots), options.scheduler.address
    serving = Worker(
        address,
        name=options.name,
        nthreads=options.slots,
        resources={RESOURCE: options.slots},
        host=options.host or addressing.get_local_address_for(address),
        memory_limit=0,  # httpbed bounds what a trial uses
        heartbeat_interval=HEARTBEAT,
        dashboard_address="127.0.0.1:0",
        plugins=(runner,),
        death_timeout=CONNECT_S,
    )
    async with serving:
        connected(runner.facts)
        await serving.finished()


def _unable(options: WorkerOptions, error: Exception) -> HostError:
    cause = str(error.__cause__ or error).splitlines() or [type(error).__name__]
    if "name taken" in cause[0]:
        reason = f"the scheduler already has a worker called {options.name}"
        return HostError(reason, "give this one another name (--name), or more slots to the other")
    return HostError(f"no scheduler answers at {options.scheduler.address}: {cause[0]}", START)
