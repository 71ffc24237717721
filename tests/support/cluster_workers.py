"""Workers of a cluster without processes: each block that they run is made of chosen records."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import stored_campaigns
from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster.messages import (
    BlockEnd,
    BlockRequest,
    CodeIdentity,
    PackedAttempt,
    WorkerFacts,
)
from httpbed.addons.cluster.workers import ConnectedWorker, LostError
from httpbed.experiment.machine import MachineFacts
from httpbed.experiment.trial import Record, Trial
from httpbed.store import campaign as campaigns

CODE = CodeIdentity(version="0.1.0", sha256="a" * 64)
HOST = MachineFacts(
    kernel="6.1.0",
    architecture="x86_64",
    distribution="Debian GNU/Linux 12",
    cpu="A processor",
    cores=4,
    memory_bytes=8 * 2**30,
    load=(0.0, 0.0, 0.0),
    steal=0.0,
    pressure=True,
    governor=None,
    hypervisor=False,
    container=None,
    uid=1000,
)

Run = Callable[[BlockRequest], list[Record]]
"""Returns the records of the attempts that a worker makes; raises what ends the block."""


def facts(**changes: Any) -> WorkerFacts:
    """Return the facts of a good worker, with changes."""
    good = {
        "name": "alpha",
        "registration": "first",
        "slots": 1,
        "code": CODE,
        "host": HOST,
        "certificate": None,
    }
    return WorkerFacts.model_validate(good | changes)


def worker(name: str, **changes: Any) -> ConnectedWorker:
    """Return a connected worker."""
    own = facts(name=name, registration=f"{name}-1", **changes)
    return ConnectedWorker(f"tcp://{name}:4000", own, 0.0)


def completed(request: BlockRequest, trials: Sequence[Trial]) -> list[Record]:
    """Return a completed attempt at each trial that a request wants."""
    by_id = {trial.id: trial for trial in trials}
    return [stored_campaigns.record(by_id[one.id], one.number) for one in request.wanted]


@dataclass
class ScriptedCluster:
    """A cluster whose workers do what a test says."""

    folder: Path
    """Where workers keep their blocks."""
    runs: dict[str, list[Run]]
    """What each worker does with its blocks in turn, by its name; the last entry stays."""
    present: list[ConnectedWorker]
    requests: list[tuple[str, BlockRequest]] = field(default_factory=list)
    """Every block that was given out, with the worker's name."""
    forgotten: list[str] = field(default_factory=list)
    connections: int = 0
    damage: Callable[[bytes], bytes] = lambda content: content
    """What happens to an archive on its way."""
    outages: list[str] = field(default_factory=list)
    """What the next looks fail with."""
    _archives: dict[tuple[str, str, int], bytes] = field(default_factory=dict)

    async def connect(self) -> None:
        """Count the connection."""
        self.connections += 1

    async def look(self) -> list[ConnectedWorker]:
        """Return the workers that are present."""
        if self.outages:
            raise LostError(self.outages.pop(0))
        return list(self.present)

    async def run(self, request: BlockRequest, worker: ConnectedWorker) -> BlockEnd:
        """Do what the script says next."""
        self.requests.append((worker.name, request))
        script = self.runs[worker.name]
        act = script.pop(0) if len(script) > 1 else script[0]
        try:
            records = act(request)
        except RefusedError as error:
            return BlockEnd(kind="refused", reason=str(error))
        packed = [self._packed(request, record) for record in records]
        return BlockEnd(kind="returned", attempts=packed)

    def _packed(self, request: BlockRequest, record: Record) -> PackedAttempt:
        attempt = record.attempt
        campaign = campaigns.Campaign(self.folder / request.key)
        (place,) = stored_campaigns.keep(campaign, record, leave=_leave)
        archive = io.BytesIO()
        attempt_archive.pack(place, archive)
        content = self.damage(archive.getvalue())
        self._archives[request.key, attempt.id, attempt.number] = content
        digest = hashlib.sha256(content).hexdigest()
        return PackedAttempt(
            trial=attempt.id, number=attempt.number, bytes=len(content), sha256=digest
        )

    async def fetch(
        self, request: BlockRequest, worker: ConnectedWorker, packed: PackedAttempt, to: BinaryIO
    ) -> None:
        """Hand the archive over."""
        del worker
        to.write(self._archives[request.key, packed.trial, packed.number])
        to.seek(0)

    async def forget(self, request: BlockRequest, worker: ConnectedWorker) -> None:
        """Note that the block may be removed."""
        del worker
        self.forgotten.append(request.key)


class RefusedError(Exception):
    """The worker's machine cannot run the block."""


def _leave(_: Record, artifacts: Path) -> None:
    (artifacts / "client").mkdir()
    (artifacts / "client" / "curl.json").write_text("{}\n")
