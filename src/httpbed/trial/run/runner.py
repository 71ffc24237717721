"""Runs one attempt: builds the network, starts the parts and collects what they leave.

It decides nothing. An :class:`~httpbed.trial.attempt_plan.AttemptPlan` says what to start, and
:mod:`~httpbed.trial.verdict` judges the files afterwards.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.base.errors import BedError
from httpbed.bed.machine import machine_load
from httpbed.bed.network import running_network
from httpbed.bed.network.running_network import Emulator
from httpbed.bed.sandbox.dialogue import time_bounded
from httpbed.bed.sandbox.sandbox_spec import Exit, ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import PartError, RefusalError, Supervisor, sandbox
from httpbed.experiment.kept import KEYS, LINK_RESULT, PACKET_LOG
from httpbed.trial import fairness
from httpbed.trial.attempt_plan import (
    BODIES,
    EVIDENCE,
    LINK_EVENTS,
    AttemptPlan,
    PlannedClient,
    RunningAddition,
)
from httpbed.trial.hops import NetworkHop
from httpbed.trial.run.clients_and_servers import (
    ClientRuns,
    RunningServers,
    run_clients,
    running_servers,
    until_done,
)
from httpbed.trial.run.cpu_use import CpuPressure, DemandReports, ReportDemand

MIN_FREE_BYTES = 64 * 2**10
SETTLING_S = 0.05
"""Wait after a prior visit, besides two round trips, until its last packets are gone."""


@dataclass
class Phases:
    """Seconds that each phase of an attempt took."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def end(self, name: str) -> None:
        """End the phase that began when the last one ended."""
        now = time.monotonic()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now


async def run(
    spec: SandboxSpec,
    attempt: AttemptPlan,
    artifacts: Path,
    report_demand: ReportDemand | None = None,
) -> Phases:
    """Make an attempt in a sandbox; leave all evidence in ``artifacts``; report its demand.

    Raises:
        BedError: The bed failed; the attempt is invalid.
        HostError: This machine cannot make a sandbox.
    """
    phases = Phases()
    _make_folders(spec.scratch, artifacts)
    try:
        async with sandbox(spec) as supervisor:
            phases.end("sandbox")
            reports = DemandReports(supervisor, report_demand)
            evidence = await _Run(attempt, supervisor, artifacts, phases, reports).perform()
    finally:
        spec.scratch.rmdir()
    disorder = supervisor.disorder
    excess = any(one.filled for one in disorder.values())
    reasons = {name: str(one) for name, one in disorder.items()}
    _write_json(artifacts, EVIDENCE, {**evidence, "excess": excess, "disorder": reasons})
    await asyncio.to_thread(_reduce, attempt, artifacts)
    if "keylog" in attempt.kept:
        await asyncio.to_thread(gather_keys, artifacts, attempt.folders())
    phases.end("tear-down")
    return phases


def _reduce(attempt: AttemptPlan, artifacts: Path) -> None:
    """Reduce the packet log to tables, and delete it unless the attempt keeps it."""
    file = artifacts / PACKET_LOG
    if file.exists() and attempt.reads_packet_log:
        from httpbed.store import packet_log  # noqa: PLC0415 - most trials do without it

        try:
            log = packet_log.load(file, is_cut_off=True)
        except packet_log.PacketLogError as error:
            raise BedError(f"the emulator's packet log is damaged: {error}") from None
        if len(attempt.clients) > 1:
            fairness.reduce(artifacts, log)
        for addition in attempt.additions:
            if addition.reads_packet_log():
                addition.reduce(artifacts, log, attempt.hops[0])
    if not attempt.keeps_packet_log:
        file.unlink(missing_ok=True)


def _make_folders(scratch: Path, artifacts: Path) -> None:
    """Make the attempt's folders; the sandbox mounts its root on ``scratch``."""
    scratch.mkdir()
    artifacts.mkdir()


@dataclass
class _Run:
    attempt: AttemptPlan
    supervisor: Supervisor
    artifacts: Path
    phases: Phases
    demand: DemandReports
    additions: list[RunningAddition] = field(default_factory=list)

    async def perform(self) -> dict[str, Any]:
        """Run the attempt to its end; return the evidence, or why a part could not start."""
        try:
            return await self._work()
        except PartError as error:
            (self.artifacts / LINK_RESULT).unlink(missing_ok=True)  # the rest of its evidence lacks
            return {"failures": {error.part: str(error)}}

    async def _work(self) -> dict[str, Any]:
        await self._make_folders()  # before any program could occupy their names
        async with AsyncExitStack() as stack:
            for addition in self.attempt.additions:
                running_one = addition.running(self.supervisor, self.artifacts)
                self.additions.append(await stack.enter_async_context(running_one))
            servers = await stack.enter_async_context(
                running_servers(self.supervisor, self.attempt.servers)
            )
            emulator = await running_network.build(self.supervisor, self.attempt.network)
            self.phases.end("network")
            for added in self.additions:
                await added.network_is_built(emulator)
            for group in self.attempt.pings:
                await asyncio.gather(*(self.supervisor.run(ping.process) for ping in group))
            self.phases.end("ping")
            for added in self.additions:
                await added.before_clients()
            evidence = await self._subject_runs(servers, emulator)
            for added in self.additions:
                await added.after_clients()
            return evidence

    async def _subject_runs(self, servers: RunningServers, emulator: Emulator) -> dict[str, Any]:
        failures, ended = await servers.failures()
        self.phases.end("server")
        if failures:
            return {"failures": failures, "exits": _as_json(ended)}
        visits = await self._visits()
        if any(not ended.clean for ended in visits.values()):
            return {"exits": _as_json(visits)}
        killed = machine_load.killed_for_memory()
        clocks = []
        async with self._counting(emulator) as listening:
            self.phases.end("counting")
            measures = self.attempt.measures_pressure
            cpu_pressure = await CpuPressure.begin(self.supervisor) if measures else None
            clocks.append(read_clocks())
            async with self.demand.reported(emulator):
                runs = await self._while_emulated(listening)
            clocks.append(read_clocks())
            waited = await cpu_pressure.end() if cpu_pressure else {}
            self.phases.end("client")
            bodies = {
                client.part.name: await self._bodies(client) for client in self.attempt.clients
            }
            survivors = servers.survivors()
        refuse_full_disk(self.artifacts)
        # Not earlier: a server that ends resets the connections it still has open.
        ended = await servers.end()
        self.phases.end("evidence")
        return {
            "exits": _as_json({**visits, **runs.exits, **ended}),
            "stopped": runs.stopped,
            "survivors": survivors,
            "client_s": runs.lasted_s,
            "clocks": clocks,
            "bodies": bodies,
            "pressure": waited,
            "killed_for_memory": machine_load.killed_for_memory() - killed,
        }

    async def _make_folders(self) -> None:
        """Make the folders in which receivers store bodies, and clients tickets."""
        for client in self.attempt.all_clients():
            for folder, part in (
                (f"{BODIES}/{client.part.name}", client.receiver or client.process.part),
                (str(Path(client.part.session).parent), client.process.part),
            ):
                await self.supervisor.make_folder(folder, part)

    async def _visits(self) -> dict[str, Exit]:
        ended = {
            visit.part.name: await self.supervisor.run(visit.process)
            for visit in self.attempt.prior_visits
        }
        if ended:
            await asyncio.sleep(SETTLING_S + 2 * self.attempt.longest_rtt_s)
            await asyncio.gather(*map(self.supervisor.run, self.attempt.datagrams.values()))
            self.phases.end("visit")
        return ended

    @asynccontextmanager
    async def _counting(self, emulator: Emulator) -> AsyncIterator[asyncio.Task[Any]]:
        """Have the emulator draw impairments and count packets while the context lasts."""
        await emulator.start_counting()
        listening = asyncio.create_task(self._listen(emulator))
        try:
            yield listening
            await emulator.send("stop")
            async with time_bounded("the emulator's result"):
                result, _ = await asyncio.gather(listening, self._read_sockets())
            _write_json(self.artifacts, LINK_RESULT, result)
        finally:
            listening.cancel()

    def _listen(self, emulator: Emulator) -> Coroutine[Any, Any, Any]:
        def triggered(name: str) -> None:
            for addition in self.additions:
                addition.on_trigger(name)

        arguments = (self.attempt.hops, self.attempt.sockets, self.artifacts)
        counters = self.demand.counters
        return listen(self.supervisor, emulator, *arguments, triggered=triggered, counters=counters)

    async def _while_emulated(self, listening: asyncio.Task[Any]) -> ClientRuns:
        """Run the clients and what is beside them until they end or the emulator fails."""
        ended = asyncio.Event()
        beside = [
            asyncio.create_task(addition.beside_clients(ended)) for addition in self.additions
        ]
        clients = asyncio.create_task(run_clients(self.supervisor, self.attempt.clients))
        clients.add_done_callback(lambda _: ended.set())
        try:
            await until_done(clients, {listening, *beside})
            await asyncio.gather(*beside)  # which finish their current step
            return clients.result()
        finally:
            for task in (clients, *beside):
                task.cancel()
            await asyncio.gather(clients, *beside, return_exceptions=True)

    async def _read_sockets(self) -> None:
        """Read what sockets are left, and the hosts' counters; output follows that of before."""
        readers = (*self.attempt.sockets.values(), *self.attempt.datagrams.values())
        await asyncio.gather(*map(self.supervisor.run, readers))

    async def _bodies(self, one: PlannedClient) -> list[dict[str, Any] | None]:
        part = one.receiver or one.process.part
        return [await self._body(fetch.body, part) for fetch in one.part.fetches]

    async def _body(self, path: str, part: str | None) -> dict[str, Any] | None:
        try:
            length, sha256 = await self.supervisor.digest(path, part)
        except RefusalError:  # the receiver stored nothing
            return None
        return {"bytes": length, "sha256": sha256}


def refuse_full_disk(folder: Path) -> None:
    """Raise OSError on a full disk: a truncated log would look like a failed program."""
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def _write_json(artifacts: Path, name: str, value: Any) -> None:
    untrusted_files.write(artifacts, name, json.dumps(value) + "\n")


def _as_json(exits: Mapping[str, Exit]) -> dict[str, Any]:
    return {name: asdict(ended) for name, ended in exits.items()}


READINGS = 5


def read_clocks(
    monotonic_ns: Callable[[], int] = time.monotonic_ns,
    realtime_ns: Callable[[], int] = time.time_ns,
) -> dict[str, int]:
    """Read CLOCK_MONOTONIC and CLOCK_REALTIME at one time, to convert times between them.

    Another process may get the CPU between two readings. So CLOCK_REALTIME is read between two
    readings of CLOCK_MONOTONIC, several times, and the closest pair counts.

    Returns:
        Both clocks, in ns, and ``within_ns``: how far apart the readings of the pair are.
    """
    readings = []
    for _ in range(READINGS):
        before, realtime, after = monotonic_ns(), realtime_ns(), monotonic_ns()
        readings.append((after - before, (before + after) // 2, realtime))
    within, monotonic, realtime = min(readings)
    return {"monotonic_ns": monotonic, "realtime_ns": realtime, "within_ns": within}


KEPT_EVENTS = frozenset({"changed", "triggered"})
"""The emulator's events that are kept: what happened to a link, and when."""


async def listen(  # noqa: PLR0913 - its sources, and where it writes
    supervisor: Supervisor,
    emulator: Emulator,
    hops: Sequence[NetworkHop],
    sockets: Mapping[str, ProcessSpec],
    artifacts: Path,
    *,
    triggered: Callable[[str], None],
    counters: asyncio.Queue[Mapping[str, Any]],
) -> Mapping[str, Any]:
    """Log the emulator's events until its result.

    When the first connection of a hop carries data, the sockets of its ends are read: earlier
    there are none, and later they may be gone. The runner reads those that are left at the end.
    Calls ``triggered`` with the name of each triggered event. Puts each event ``counters`` into the
    queue.

    Raises:
        BedError: The emulator ended, or refused a change.
    """
    lines: list[str] = []
    readings: dict[str, asyncio.Task[Any]] = {}
    while True:
        event = await emulator.next()
        if event["event"] in KEPT_EVENTS:
            lines.append(json.dumps(event) + "\n")
        if event["event"] == "triggered":
            triggered(event["name"])
        if event["event"] == "counters":
            counters.put_nowait(event)
        if event["event"] == "refused":
            raise BedError(f"{emulator.name} refused: {event['message']}")
        if event["event"] == "connection":
            for part in (sockets.keys() - readings) & _ends(event, hops):
                readings[part] = asyncio.create_task(supervisor.run(sockets[part]))
        if event["event"] == "result":
            if lines:
                untrusted_files.write(artifacts, LINK_EVENTS, "".join(lines))
            await asyncio.gather(*readings.values())
            return event


def _ends(connection: Mapping[str, Any], hops: Sequence[NetworkHop]) -> set[str]:
    """Return the parts at the ends of the hops that a connection is on."""
    between = [hop for hop in hops if hop.is_between(connection)]
    return {part for hop in between for part in (hop.client, hop.server)}


# The TLS secrets of a trial: one key log for all of its connections, from those of its programs.
#
# Wireshark reads one key log. A trial with proxies has connections whose secrets only one of its
# programs writes. A program may write anything, so only whole lines of RFC 9850 are taken over.


MAX_KEY_BYTES = 4 * 2**20
"""Upper bound of a program's key log: the secrets of some 6,000 connections."""
_KEY_LINE = re.compile(r"[A-Z][A-Z0-9_]{3,63} [0-9a-fA-F]{64} [0-9a-fA-F]{64,128}")
"""A label, the client's random and a secret of 32 to 64 bytes."""


def gather_keys(artifacts: Path, parts: Iterable[str]) -> None:
    """Write the secrets of all parts to one file; none if no part left any."""
    lines = dict.fromkeys(line for part in parts for line in _key_lines(artifacts / part / KEYS))
    if lines:
        untrusted_files.write(artifacts, KEYS, "".join(f"{line}\n" for line in lines))


def _key_lines(file: Path) -> list[str]:
    try:
        text = untrusted_files.text(file, most=MAX_KEY_BYTES)
    except (OSError, untrusted_files.UnreadableError):
        return []
    return [line for line in text.splitlines() if _KEY_LINE.fullmatch(line)]
