"""Workers of a cluster without processes: each block that they run is made of chosen records."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import stored_campaigns
from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster.dispatch import Begins
from httpbed.addons.cluster.messages import (
    BlockEnd,
    BlockRequest,
    CodeIdentity,
    PackedAttempt,
    WorkerFacts,
)
from httpbed.bed.machine.facts import MachineFacts
from httpbed.campaign.settings import DesignOptions, RunSettings
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
ORDER = BlockRequest(
    key="",
    topic="topic",
    code=CODE,
    block=0,
    text=stored_campaigns.SMALL,
    folder="/",
    options=DesignOptions(clock="real"),
    settings=RunSettings("af_packet", "httpbed run"),
    manifest={},
)
"""What all requests of a run have in common."""

Run = Callable[[BlockRequest], list[Record]]
"""Returns the records of the attempts that a worker makes; raises what ends the block."""


def completed(request: BlockRequest, trials: Sequence[Trial]) -> list[Record]:
    """Return a completed attempt at each trial that a request wants."""
    by_id = {trial.id: trial for trial in trials}
    return [stored_campaigns.record(by_id[name], number) for name, number in request.wanted]


class LostError(Exception):
    """The worker vanishes in the middle of a block."""


class RefusedError(Exception):
    """The worker's machine cannot run the block."""


@dataclass
class ScriptedCluster:
    """A cluster whose workers do what a test says; Dask's part is a choice among free ones."""

    folder: Path
    """Where workers keep their blocks."""
    runs: dict[str, list[Run]]
    """What each worker does with its blocks in turn, by its name; the last entry stays."""
    present: dict[str, int]
    """How many blocks each worker runs at a time."""
    requests: list[tuple[str, BlockRequest]] = field(default_factory=list)
    """Every block that began, with the worker's name."""
    damage: Callable[[bytes], bytes] = lambda content: content
    """What happens to an archive on its way."""
    clock_offset_s: float = 0.0
    """Of the workers' clocks."""
    _begins: Begins = lambda _key, _facts: None
    _busy: list[str] = field(default_factory=list)

    async def slots(self) -> Mapping[str, int]:
        """Return the workers that are present."""
        return dict(self.present)

    def listen(self, begins: Begins) -> None:
        """Tell which blocks begin."""
        self._begins = begins

    async def run(
        self, request: BlockRequest, on: Collection[str], *, or_others: bool
    ) -> tuple[BlockEnd, Sequence[bytes]]:
        """Do what the script of a free worker says next."""
        names = [*sorted(on), *(name for name in self.present if or_others and name not in on)]
        name = next(one for one in names if self._busy.count(one) < self.present[one])
        self._busy.append(name)
        self.requests.append((name, request))
        self._begins(request.key, facts(name))
        await asyncio.sleep(0)
        try:
            return await self._end(request, name)
        finally:
            self._busy.remove(name)

    async def _end(self, request: BlockRequest, name: str) -> tuple[BlockEnd, Sequence[bytes]]:
        script = self.runs[name]
        act = script.pop(0) if len(script) > 1 else script[0]
        now_s = time.time() + self.clock_offset_s
        end = BlockEnd(
            kind="returned", worker=name, host=HOST, code=CODE, begun_s=now_s, ended_s=now_s
        )
        try:
            records = act(request)
        except RefusedError as error:
            return end.model_copy(update={"kind": "refused", "reason": str(error)}), ()
        except LostError:
            self._begins(request.key, facts("another"))  # Dask runs it again
            await asyncio.Event().wait()
        packed = [self._packed(request, record) for record in records]
        archives = [archive for about, archive in packed if about.travels]
        return end.model_copy(update={"attempts": [about for about, _ in packed]}), archives

    def _packed(self, request: BlockRequest, record: Record) -> tuple[PackedAttempt, bytes]:
        attempt = record.attempt
        campaign = campaigns.Campaign(self.folder / request.key)
        (place,) = stored_campaigns.keep(campaign, record, leave=_leave)
        length = attempt_archive.content_bytes(place)
        about = PackedAttempt(
            trial=attempt.id,
            number=attempt.number,
            bytes=length,
            travels=length <= attempt_archive.MAX_BYTES,
        )
        archive = io.BytesIO()
        if about.travels:
            attempt_archive.pack(place, archive)
        return about, self.damage(archive.getvalue())


def facts(name: str) -> WorkerFacts:
    """Return the facts of a worker."""
    return WorkerFacts(name=name, slots=1, code=CODE, host=HOST)


def _leave(_: Record, artifacts: Path) -> None:
    (artifacts / "client").mkdir()
    (artifacts / "client" / "curl.json").write_text("{}\n")
