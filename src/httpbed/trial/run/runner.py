"""Run one trial: build the network, start all who take part, collect what they leave.

Nothing is decided here. What is to be started is a :class:`~httpbed.trial.plan.TrialPlan`; what
the result means is judged afterwards, from the files alone.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError
from httpbed.experiment.handover import TRIGGER
from httpbed.experiment.trial import Trial
from httpbed.host import pressure, realtime
from httpbed.host.sandbox import untrusted_files
from httpbed.host.sandbox.binaries import LINK, executable
from httpbed.host.sandbox.dialogue import patience, run_tool
from httpbed.host.sandbox.spec import Exit
from httpbed.host.sandbox.supervisor import (
    PartError,
    RefusalError,
    SandboxSpec,
    Supervisor,
    sandbox,
)
from httpbed.network import running
from httpbed.network.plan import NO_NEIGHBOUR_DISCOVERY
from httpbed.network.running import Emulator
from httpbed.store import packet_log
from httpbed.trial import fairness
from httpbed.trial.handover import deliveries
from httpbed.trial.handover.execution import Signals, move
from httpbed.trial.parts import BODIES, CERTIFICATES, CONTENT
from httpbed.trial.plan import Asking, Bed, TrialPlan
from httpbed.trial.replay_origin import replaying
from httpbed.trial.run import clocks, part_folders
from httpbed.trial.run.clients import Asked, ask
from httpbed.trial.run.disconnection import end_connections
from httpbed.trial.run.emulator_events import listen
from httpbed.trial.run.servers import Answering, answering, stop
from httpbed.trial.tls_certificates import AUTHORITY, SPKI

MEMORY_BYTES = 512 * 2**20
LEAST_FREE_BYTES = 64 * 2**10
SETTLING_S = 0.05
"""After a visit that is not measured, besides two round trips: its last packets must be gone."""

EVIDENCE = "evidence.json"
LINK_RESULT = "link-result.json"


@dataclass
class Phases:
    """How long each phase of a trial's life took."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def end(self, name: str) -> None:
        """Close the phase that has run since the last one ended."""
        now = time.monotonic()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now


async def run(trial: Trial, bed: Bed, artifacts: Path) -> Phases:
    """Run ``trial`` once and leave everything that was seen in the folder ``artifacts``.

    Raises:
        BedError: The bed failed; the attempt is invalid.
        HostError: This machine cannot make a sandbox.
    """
    phases = Phases()
    planned = bed.plan(trial)
    scratch = _folders(artifacts, planned.folders())
    try:
        async with sandbox(_sandbox_spec(trial, bed, planned, scratch, artifacts)) as supervisor:
            phases.end("sandbox")
            evidence = await _Run(planned, supervisor, artifacts, phases).perform()
    finally:
        scratch.rmdir()
        disorder = await asyncio.to_thread(part_folders.claim, artifacts, planned.most_bytes())
    untrusted_files.write(
        artifacts, EVIDENCE, json.dumps({**evidence, "disorder": disorder}) + "\n"
    )
    await asyncio.to_thread(_reduce, planned, artifacts, keep_log=bed.log)
    phases.end("tear-down")
    return phases


def _reduce(planned: TrialPlan, artifacts: Path, *, keep_log: bool) -> None:
    """Take from the emulator's log what is to be known, and drop it unless it was asked for."""
    try:
        if len(planned.asking) > 1:
            fairness.reduce(artifacts)
        if planned.handover:
            leg = planned.hops[0]
            towards = {way.downstream: way.names[0] for way in leg.ways}
            origin_ns = leg.first_packet_ns(_link_result(artifacts)) or 0
            deliveries.reduce(artifacts, towards, origin_ns)
    except packet_log.PacketLogError as error:
        raise BedError(f"the emulator's packet log is damaged: {error}") from None
    if not keep_log:
        (artifacts / packet_log.FILE).unlink(missing_ok=True)


def _link_result(artifacts: Path) -> dict[str, Any]:
    file = artifacts / LINK_RESULT
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _folders(artifacts: Path, parts: Iterable[str]) -> Path:
    """Make the attempt's folders; return the one over which the sandbox mounts its root."""
    scratch = artifacts.parent / "sandbox"
    scratch.mkdir()
    artifacts.mkdir()
    for part in parts:
        (artifacts / part).mkdir()
    return scratch


def _sandbox_spec(
    trial: Trial, bed: Bed, planned: TrialPlan, scratch: Path, artifacts: Path
) -> SandboxSpec:
    fetched = {fetch.path for one in planned.clients() for fetch in one.part.fetches}
    contents = {path: content for path, content in bed.contents.items() if path in fetched}
    served = {
        **{f"{CONTENT}{path}": content.path for path, content in contents.items()},
        **bed.shared_sites(trial.scenario()),
    }
    bodies = [workload.body_bytes() for workload in trial.scenario().workloads()]
    proxies = len(trial.scenario().roles.proxies)
    return SandboxSpec(
        scratch=scratch,
        trial=artifacts,
        parts={
            name: bed.programs.part(replace(seen, shared=_shown(name, planned, bed, served)))
            for name, seen in planned.isolated().items()
        },
        roots=bed.programs.roots(),
        shared=bed.shared_files(),
        programs={LINK: executable(LINK)},
        hosts=planned.network.sysctls,
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        # A proxy may store what it passes on.
        tmpfs_bytes=MEMORY_BYTES + (2 + proxies) * sum(bodies),
    )


def _shown(part: str, planned: TrialPlan, bed: Bed, served: Mapping[str, Path]) -> dict[str, Path]:
    """What a part sees besides its program: only servers have the files, no client a key."""
    if part not in planned.answering and part not in planned.recordings:
        known = (AUTHORITY, SPKI)
        return {f"{CERTIFICATES}/{name}": bed.certificates / name for name in known}
    asks = {leg.hop.client for leg in planned.hops}
    own = {CERTIFICATES: bed.certificates}
    return own if part in asks else {**own, **served}


@dataclass
class _Run:
    planned: TrialPlan
    supervisor: Supervisor
    artifacts: Path
    phases: Phases

    async def perform(self) -> dict[str, Any]:
        """Go through a trial's life once, or until a part has left too much in its folder.

        Returns:
            What was seen, and what there is to say of such parts by their names.
        """
        watching = asyncio.create_task(part_folders.until_excess(self._excess))
        working = asyncio.create_task(self._work())
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            evidence, failures = _result(working) if working.done() else ({}, {})
            excess = watching.result() if watching.done() else self._excess()
        finally:
            for task in (working, watching):
                task.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)
        if not evidence:  # broken off, perhaps just after the emulator had told its result
            (self.artifacts / LINK_RESULT).unlink(missing_ok=True)
        if excess:
            return {**evidence, "failures": excess, "excess": True}
        return {**evidence, "failures": failures} if failures else evidence

    def _excess(self) -> dict[str, str]:
        return part_folders.excess(self.artifacts, self.planned.most_bytes())

    async def _work(self) -> dict[str, Any]:
        await self._make_folders()  # before a program could be in the way
        async with (
            replaying(self.supervisor, self.planned.recordings) as recorded,
            answering(self.supervisor, self.planned.answering) as those,
        ):
            emulator = await running.build(self.supervisor, self.planned.network)
            self.phases.end("network")
            async with self._monitored():  # from now on, so that it listens when something changes
                for group in self.planned.probes:
                    await asyncio.gather(*(self.supervisor.run(probe.process) for probe in group))
                self.phases.end("probe")
                for spec in self.planned.handover.before() if self.planned.handover else ():
                    await run_tool(self.supervisor, spec)
                await recorded.ready()
                told = await self._subject_runs(those, emulator)
                await recorded.end()
                return told

    @asynccontextmanager
    async def _monitored(self) -> AsyncIterator[None]:
        """Keep what the kernel tells of the client's addresses and routes, where they change."""
        if self.planned.handover is None:
            yield
            return
        monitor = await self.supervisor.start(self.planned.handover.monitor)
        # Its stamps are as late as it is.
        realtime.promote(self.supervisor.init_pid, monitor.pid)
        yield
        await stop(self.supervisor, [monitor])

    async def _subject_runs(self, those: Answering, emulator: Emulator) -> dict[str, Any]:
        failures = await those.failures()
        self.phases.end("server")
        if failures:
            return {"failures": failures}
        visits = await self._visits()
        if any(not ended.clean for ended in visits.values()):
            return {"exits": _told(visits)}
        waited, killed = pressure.read(), pressure.killed_for_memory()
        signals, read = Signals(), []
        async with self._recording(emulator, signals) as listening:
            self.phases.end("recording")
            read.append(clocks.read())
            asked = await self._while_emulated(emulator, listening, signals)
            read.append(clocks.read())
            stall = pressure.read()
            self.phases.end("client")
            bodies = {one.part.name: await self._bodies(one) for one in self.planned.asking}
            survivors = those.survivors()
        self._refuse_full_disk()
        # Only now: a server that is told to end resets what it still thinks open.
        answered = await those.end()
        self.phases.end("evidence")
        return {
            "exits": _told({**visits, **asked.exits, **answered}),
            "stopped": asked.stopped,
            "survivors": survivors,
            "client_s": asked.lasted_s,
            "clocks": read,
            "bodies": bodies,
            "pressure": {
                "source": stall.source,
                "seconds": stall.seconds - waited.seconds,
                "over_s": stall.at_s - waited.at_s,
            },
            "killed_for_memory": pressure.killed_for_memory() - killed,
        }

    async def _make_folders(self) -> None:
        """Make the folders in which clients store bodies and tickets."""
        for one in self.planned.clients():
            for folder in (f"{BODIES}/{one.part.name}", str(Path(one.part.session).parent)):
                await self.supervisor.make_folder(folder, one.process.part)

    async def _visits(self) -> dict[str, Exit]:
        """Let clients come that are not measured."""
        ended = {
            one.part.name: await self.supervisor.run(one.process) for one in self.planned.visits
        }
        if ended:
            await asyncio.sleep(SETTLING_S + 2 * self.planned.longest_rtt_s)
            self.phases.end("visit")
        return ended

    @asynccontextmanager
    async def _recording(
        self, emulator: Emulator, signals: Signals
    ) -> AsyncIterator[asyncio.Task[Any]]:
        """Let the impairments' random streams and the counting run while the context lasts.

        Where the kernel carries the packets, its counters before and after each order enclose
        what was counted between the orders.
        """
        await self._count("before-start")
        await emulator.start_counting()
        await self._count("after-start")
        listening = asyncio.create_task(self._listen(emulator, signals))
        try:
            yield listening
            await self._count("before-stop")
            await emulator.tell("stop")
            async with patience("the emulator's result"):
                self._keep(LINK_RESULT, await listening)
            await self._count("after-stop")
        finally:
            listening.cancel()

    def _listen(self, emulator: Emulator, signals: Signals) -> Coroutine[Any, Any, Any]:
        plan, awaited = self.planned, {TRIGGER: signals.triggered}
        told = (plan.hops, plan.sockets, self.artifacts)
        return listen(self.supervisor, emulator, *told, awaited=awaited)

    async def _count(self, when: str) -> None:
        """Read the kernel's counters, where it carries the packets."""
        if counters := self.planned.network.counters:
            await run_tool(self.supervisor, replace(counters, stdout=f"qdiscs-{when}.json"))

    async def _while_emulated(
        self, emulator: Emulator, listening: asyncio.Task[Any], signals: Signals
    ) -> Asked:
        """Run the clients, and hand over; nobody waits for one whose link is gone."""
        moving = asyncio.create_task(self._move(emulator, signals))
        asking = asyncio.create_task(ask(self.supervisor, self.planned.asking))
        asking.add_done_callback(lambda _: signals.ended.set())
        attending = asyncio.create_task(self._attend())
        try:
            await _until_done(asking, {listening, moving, attending})
            await moving  # which finishes the step that it is at
            return asking.result()
        finally:
            for task in (asking, moving, attending):
                task.cancel()
            await asyncio.gather(asking, moving, attending, return_exceptions=True)

    async def _move(self, emulator: Emulator, signals: Signals) -> None:
        if self.planned.handover:
            handovers = self.planned.handover
            await move(self.supervisor, emulator, handovers, signals, self.artifacts)

    async def _attend(self) -> None:
        """End connections for drivers whose visits begin without them."""
        told = [one.part for one in self.planned.asking if one.part.page]
        hosts = {part.name: part.host for part in told if part.page and part.page.visit != "cold"}
        await end_connections(self.supervisor, self.artifacts, hosts)

    async def _bodies(self, one: Asking) -> list[dict[str, Any] | None]:
        return [await self._body(fetch.body, one.process.part) for fetch in one.part.fetches]

    async def _body(self, path: str, part: str | None) -> dict[str, Any] | None:
        try:
            length, sha256 = await self.supervisor.digest(path, part)
        except RefusalError:  # the client stored nothing
            return None
        return {"bytes": length, "sha256": sha256}

    def _refuse_full_disk(self) -> None:
        """A log that could not be written would look like a program that failed."""
        if shutil.disk_usage(self.artifacts).free < LEAST_FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.artifacts))

    def _keep(self, name: str, value: Any) -> None:
        untrusted_files.write(self.artifacts, name, json.dumps(value) + "\n")


def _result(working: asyncio.Task[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what was seen, or why a part's own program could not be started."""
    try:
        return working.result(), {}
    except PartError as error:
        return {}, {error.part: str(error)}


async def _until_done(task: asyncio.Task[Any], others: set[asyncio.Task[Any]]) -> None:
    """Wait for a task; another that fails meanwhile ends the wait."""
    while not task.done():
        done, _ = await asyncio.wait({task, *others}, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
        others = others - done


def _told(exits: Mapping[str, Exit]) -> dict[str, Any]:
    return {name: asdict(ended) for name, ended in exits.items()}
