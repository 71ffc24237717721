"""Run one trial: build the network, start server and client, collect what they leave.

Nothing is decided here. What is to be started is a :class:`~httpbed.trial.bed.TrialPlan`; what
the result means is judged afterwards, from the files alone.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from httpbed.host import pressure
from httpbed.model.errors import SubjectError
from httpbed.model.trial import Trial
from httpbed.network import running
from httpbed.network.plan import HOST_SYSCTLS, NO_NEIGHBOUR_DISCOVERY
from httpbed.network.running import Emulator
from httpbed.process.binaries import LINK, executable
from httpbed.process.dialogue import last_words, patience, run_tool
from httpbed.process.spec import Exit
from httpbed.process.supervisor import Process, RefusalError, SandboxSpec, Supervisor, sandbox
from httpbed.trial.bed import BODY, CERTIFICATES, CONTENT, Bed, TrialPlan
from httpbed.trial.content import target

MEMORY_BYTES = 512 * 2**20
SERVER_END_S = 2.0
LEAST_FREE_BYTES = 64 * 2**10

EVIDENCE = "evidence.json"
LINK_RESULT = "link-result.json"
LINK_EVENTS = "link-events.jsonl"
TOLD_EVENTS = frozenset({"changed", "triggered"})
"""Of the emulator's events, those that are kept: what happened to the link, and when."""


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
    scratch = _folders(artifacts, [name for name, _, _ in trial.scenario().parts()])
    try:
        async with sandbox(_sandbox_spec(trial, bed, scratch, artifacts)) as supervisor:
            phases.end("sandbox")
            await _Run(planned, supervisor, artifacts, phases).perform()
    finally:
        scratch.rmdir()
    phases.end("tear-down")
    return phases


def _folders(artifacts: Path, parts: Iterable[str]) -> Path:
    """Make the attempt's folders; return the one over which the sandbox mounts its root."""
    scratch = artifacts.parent / "sandbox"
    scratch.mkdir()
    artifacts.mkdir()
    for part in parts:
        (artifacts / part).mkdir()
    return scratch


def _sandbox_spec(trial: Trial, bed: Bed, scratch: Path, artifacts: Path) -> SandboxSpec:
    scenario = trial.scenario()
    content = bed.contents[scenario.workload.size]
    return SandboxSpec(
        scratch=scratch,
        trial=artifacts,
        roots=bed.programs.roots(),
        shared={
            CERTIFICATES: bed.certificates,
            f"{CONTENT}{target(content.size)}": content.path,
            **bed.shared_files(),
            **bed.programs.shared(),
        },
        programs={LINK: executable(LINK)},
        hosts=dict.fromkeys(scenario.topology.hosts, HOST_SYSCTLS),
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        tmpfs_bytes=MEMORY_BYTES + 2 * content.size,
    )


@dataclass
class _Run:
    planned: TrialPlan
    supervisor: Supervisor
    artifacts: Path
    phases: Phases

    async def perform(self) -> None:
        """Go through a trial's life once."""
        server = asyncio.create_task(self.supervisor.start(self.planned.server))
        try:
            emulator = await running.build(self.supervisor, self.planned.network)
            self.phases.end("network")
            await self.supervisor.run(self.planned.probe)
            self.phases.end("probe")
            seen = await self._subject_runs(server, emulator)
        finally:
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)
        self._keep(EVIDENCE, seen)

    async def _subject_runs(
        self, server: asyncio.Task[Process], emulator: Emulator
    ) -> dict[str, Any]:
        try:
            async with patience("the server's start"):
                serving = await server
        except SubjectError as error:
            said = last_words(self.supervisor, self.planned.server)
            return {"server_failure": f"{error}{said}"}
        self.phases.end("server")
        waited = pressure.read()
        async with self._recording(emulator) as listening:
            self.phases.end("recording")
            began = time.monotonic()
            client = await self._while_emulated(listening)
            lasted = time.monotonic() - began
            stall = pressure.read()
            self.phases.end("client")
            body = await self._body()
            survived = not serving.exit.done()
        self._refuse_full_disk()
        # Only now: a server that is told to end resets what it still thinks open.
        await self._end_server(serving)
        self.phases.end("evidence")
        return {
            "client": asdict(client),
            "client_s": lasted,
            "body": body,
            "server_survived": survived,
            "pressure": {"source": stall.source, "seconds": stall.seconds - waited.seconds},
        }

    @asynccontextmanager
    async def _recording(self, emulator: Emulator) -> AsyncIterator[asyncio.Task[Any]]:
        """Let the impairments' random streams and the counting run while the context lasts.

        Where the kernel carries the packets, its counters before and after each order enclose
        what was counted between the orders.
        """
        await self._count("before-start")
        await emulator.start_counting()
        await self._count("after-start")
        listening = asyncio.create_task(self._listen(emulator))
        try:
            yield listening
            await self._count("before-stop")
            await emulator.tell("stop")
            async with patience("the emulator's result"):
                self._keep(LINK_RESULT, await listening)
            await self._count("after-stop")
        finally:
            listening.cancel()

    async def _count(self, when: str) -> None:
        """Read the kernel's counters, where it carries the packets."""
        if counters := self.planned.network.counters:
            await run_tool(self.supervisor, replace(counters, stdout=f"qdiscs-{when}.json"))

    async def _while_emulated(self, listening: asyncio.Task[Any]) -> Exit:
        """Run the client; nobody waits for one whose link is gone."""
        client = asyncio.create_task(self.supervisor.run(self.planned.client))
        try:
            await asyncio.wait({client, listening}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                listening.result()
            return await client
        finally:
            client.cancel()

    async def _listen(self, emulator: Emulator) -> Mapping[str, Any]:
        """Look at the server's sockets when the first connection carries data; wait for the end."""
        looked: asyncio.Task[Any] | None = None
        while True:
            event = await emulator.next()
            if event["event"] in TOLD_EVENTS:
                with (self.artifacts / LINK_EVENTS).open("a") as file:
                    file.write(json.dumps(event) + "\n")
            if event["event"] == "connection" and looked is None:
                looked = asyncio.create_task(self.supervisor.run(self.planned.sockets))
            if event["event"] == "result":
                if looked is not None:
                    await looked
                return event

    async def _body(self) -> dict[str, Any] | None:
        try:
            length, sha256 = await self.supervisor.digest(BODY)
        except RefusalError:  # the client stored nothing
            return None
        return {"bytes": length, "sha256": sha256}

    def _refuse_full_disk(self) -> None:
        """A log that could not be written would look like a program that failed."""
        if shutil.disk_usage(self.artifacts).free < LEAST_FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.artifacts))

    async def _end_server(self, server: Process) -> None:
        """Ask the server to end, so that its log is complete; the sandbox's end follows anyway."""
        await self.supervisor.signal(server, signal.SIGTERM)
        await asyncio.wait([server.exit], timeout=SERVER_END_S)

    def _keep(self, name: str, value: Any) -> None:
        (self.artifacts / name).write_text(json.dumps(value) + "\n")
