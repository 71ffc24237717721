"""A worker of Dask that runs blocks: each in a process of its own, one for each slot.

Dask runs :func:`run_block` on the worker's event loop. It starts the block's process and waits, so
the worker stays able to answer. If the campaign no longer wants the block, because its user broke
it off or its process is gone, Dask marks the task as cancelled, and the process is killed.

The archives of a block stay on the worker's disk until the campaign has fetched them by pieces.

``httpbed worker`` starts such a worker (:mod:`~httpbed.addons.cluster.worker_service`). Any other
worker of Dask becomes one with ``--preload httpbed.addons.cluster.worker --resources
measurement=1``.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker

from httpbed.addons.cluster import block_process, dask_settings, machine_facts
from httpbed.addons.cluster.certificates import ENCRYPTED
from httpbed.addons.cluster.messages import RESOURCE, BlockEnd, BlockRequest, WorkerFacts
from httpbed.bed.machine import scratch

NAME = "httpbed"
"""Of the plugin in Dask's worker, and of the facts among what Dask knows of a worker."""
SCRATCH = "worker"
"""Purpose of the folder in which a worker runs its blocks."""
LOOK_S = 0.5
"""Time between two looks at whether a block is still wanted."""
PROGRAM: tuple[str, ...] = (sys.executable, "-P", "-m", block_process.__name__)
"""Command line of the process of a block; the block's folder and the number of slots follow."""
MOST_PIECE_BYTES = 2**24


async def dask_setup(worker: Worker) -> None:
    """Equip a worker that Dask starts, before it registers; Dask calls this after a preload.

    Raises:
        SystemExit: Its connections are not encrypted. Dask would ignore another exception.
    """
    if not (worker.security.require_encryption and worker.scheduler.address.startswith(ENCRYPTED)):
        raise SystemExit("httpbed: give the worker --tls-ca-file, --tls-cert and --tls-key")
    dask_settings.apply()
    slots = int(worker.state.total_resources.get(RESOURCE, 0))
    facts = machine_facts.gather(platform.node(), slots)
    worker.startup_information |= startup_information(facts)
    await worker.plugin_add(plugin=BlockRunner(scratch.make(SCRATCH), facts))


def startup_information(facts: WorkerFacts) -> dict[str, Callable[[Worker], str]]:
    """Return what a worker tells the scheduler about itself, in Dask's form."""
    text = facts.model_dump_json()
    return {NAME: lambda _: text}


class BlockRunner(WorkerPlugin):
    """What Dask's worker has of httpbed: the folder of blocks, and who the worker is."""

    name = NAME

    def __init__(self, folder: Path, facts: WorkerFacts) -> None:
        self._folder = folder
        self._facts = facts

    async def run(self, request: BlockRequest, is_wanted: Callable[[], bool]) -> BlockEnd:
        """Run a block in its own process, and kill that once the campaign no longer wants it."""
        if request.registration != self._facts.registration:
            return BlockEnd(kind="failed", reason="the worker was lost, and has come back")
        folder = self.place(request.key)
        folder.mkdir()
        (folder / block_process.REQUEST).write_text(request.model_dump_json())
        process = await asyncio.create_subprocess_exec(
            *(*PROGRAM, str(folder), str(self._facts.slots)),
            stdin=asyncio.subprocess.PIPE,  # ends with this process, and so does the block's
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # an interrupt at the terminal is this process's matter
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            output = await _output(process, is_wanted)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
        return _end(output, process.returncode)

    def place(self, key: str) -> Path:
        """Return the folder of a block."""
        return self._folder / key


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


async def run_block(request: str) -> str:
    """Run a block; this is the task that a campaign submits. Request and end are JSON."""
    worker = get_worker()
    parsed = BlockRequest.model_validate_json(request)

    def is_wanted() -> bool:
        task = worker.state.tasks.get(parsed.key)
        return task is not None and task.state != "cancelled"

    end = await _runner(worker).run(parsed, is_wanted)
    return end.model_dump_json()


def _runner(worker: Worker) -> BlockRunner:
    found = worker.plugins[NAME]
    assert isinstance(found, BlockRunner)  # noqa: S101 - nothing else has the name
    return found


def piece(key: str, name: str, offset: int, dask_worker: Worker) -> bytes:
    """Return the next bytes of an archive; Dask calls this in the worker for a campaign."""
    with (_runner(dask_worker).place(key) / name).open("rb") as file:
        file.seek(offset)
        return file.read(MOST_PIECE_BYTES)


def forget(key: str, dask_worker: Worker) -> None:
    """Remove what a block left; Dask calls this in the worker for a campaign."""
    with suppress(OSError):  # it never began, or a disk fails
        shutil.rmtree(_runner(dask_worker).place(key))
