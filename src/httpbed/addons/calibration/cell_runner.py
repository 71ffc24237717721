"""Run one cell: real namespaces, the real emulator, probes at both ends.

The files in the cell's folder are what :mod:`~httpbed.addons.calibration.evidence` reads.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.calibration.cell import HOSTS, Cell, Flow, Stream
from httpbed.addons.calibration.evidence import (
    BLOCK,
    REMARKS,
    STREAM_FILE,
    received_file,
    sent_file,
)
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import running_network
from httpbed.bed.network.emulator import SPIN_US
from httpbed.bed.network.network_commands import HOST_SYSCTLS, NO_NEIGHBOUR_DISCOVERY
from httpbed.bed.network.network_plan import NetworkPlan, plan
from httpbed.bed.sandbox.dialogue import Dialogue
from httpbed.bed.sandbox.sandbox_spec import (
    LINK,
    PROBE,
    TOOLS,
    TRIAL_FOLDER,
    Ports,
    ProcessSpec,
    SandboxSpec,
    executable,
)
from httpbed.bed.sandbox.supervisor import Supervisor, sandbox
from httpbed.experiment.kept import LINK_RESULT

PORT = 5001
CHARGEN = 19
"""RFC 864."""
BEGIN_S = 0.01
"""From a sender's start to its first packet."""
MEMORY_BYTES = 2**28
PAYLOAD_KEY = 0x4C494E4B


@dataclass(frozen=True)
class Bench:
    """What all cells of a calibration have in common."""

    root: Path
    """A root filesystem with ip and ethtool."""
    seed: int
    backend: Backend = "af_packet"
    polls: bool = True
    """Whether emulator and senders may poll for a due time. In virtual time they may not: the clock
    stands still meanwhile."""
    tamper: Callable[[NetworkPlan], NetworkPlan] = lambda planned: planned
    """Changes the planned network, to plant a fault."""


async def run(cell: Cell, bench: Bench, folder: Path) -> None:
    """Run ``cell`` once and leave its evidence in ``folder``, which must not exist.

    Raises:
        BedError: The bed failed, so that there is nothing to judge.
        HostError: This machine cannot make a sandbox.
    """
    scratch = folder / "sandbox"
    scratch.mkdir(parents=True)
    planned = plan(
        cell.topology(),
        {},
        bench.seed,
        BLOCK,
        backend=bench.backend,
        spin_us=SPIN_US if bench.polls else 0,
    )
    spec = SandboxSpec(
        scratch=scratch,
        trial=folder,
        roots={TOOLS: bench.root},
        shared={},
        programs={name: executable(name) for name in (LINK, PROBE)},
        hosts=dict.fromkeys(HOSTS, HOST_SYSCTLS),
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        tmpfs_bytes=MEMORY_BYTES,
    )
    async with sandbox(spec) as supervisor:
        await _Run(cell, bench.tamper(planned), supervisor, folder, polls=bench.polls).perform()
    scratch.rmdir()


@dataclass
class _Run:
    cell: Cell
    planned: NetworkPlan
    supervisor: Supervisor
    folder: Path
    polls: bool

    async def perform(self) -> None:
        """Make the network, send, wait, and collect the evidence."""
        emulator = await running_network.build(self.supervisor, self.planned.processes)
        receivers = [
            await Dialogue.begin(self.supervisor, _receiver(flow)) for flow in self.cell.flows
        ]
        await emulator.start_counting()
        failures = sum(await asyncio.gather(*self._senders()))
        await asyncio.sleep(self.cell.settle_s)
        for receiver in receivers:
            stopped = await receiver.request("stop", "result")
            failures += stopped["failures"]
        result = await emulator.request("stop", "result")
        (self.folder / LINK_RESULT).write_text(json.dumps(result) + "\n")
        (self.folder / REMARKS).write_text(json.dumps({"failures": failures}) + "\n")

    def _senders(self) -> Sequence[Awaitable[int]]:
        """Return all senders; each runs to its end, and returns how many packets it lost itself."""
        senders = [self._finish(self._sender(flow)) for flow in self.cell.flows]
        return senders + ([self._fetch(self.cell.stream)] if self.cell.stream else [])

    async def _finish(self, spec: ProcessSpec) -> int:
        """Run a probe to its end; return how many packets the probe itself lost."""
        probe = await Dialogue.begin(self.supervisor, spec)
        stopped = await probe.wait_for("result", self.cell.lasts_s())
        return int(stopped["failures"])

    async def _fetch(self, stream: Stream) -> int:
        source = ProcessSpec(
            argv=(f"/bin/{PROBE}", "serve"),
            host=HOSTS[stream.direction],
            ready=Ports(tcp=(CHARGEN,)),
        )
        await self.supervisor.start(source)
        far = self.planned.end_of(HOSTS[stream.direction]).address
        options = {
            "from": f"{far}:{CHARGEN}",
            "for_ns": round(stream.seconds * 1e9),
            "out": f"{TRIAL_FOLDER}/{STREAM_FILE}",
        }
        return await self._finish(
            _probe("fetch", HOSTS[1 - stream.direction], "fetch.json", options)
        )

    def _sender(self, flow: Flow) -> ProcessSpec:
        far = self.planned.end_of(HOSTS[1 - flow.direction]).address
        trains = [
            {"count": train.count, "bytes": train.bytes, "gap_ns": round(train.gap_s * 1e9)}
            for train in flow.trains
        ]
        options = {
            "to": f"{far}:{PORT}",
            "ports": flow.ports,
            "key": str(PAYLOAD_KEY + flow.direction),
            "checksum": True,
            "ecn": False,
            "segments": flow.segments,
            "spin_ns": round(flow.spin_s * 1e9) if self.polls else 0,
            "begin_ns": round(BEGIN_S * 1e9),
            "trains": trains,
            "out": f"{TRIAL_FOLDER}/{sent_file(flow.direction)}",
        }
        return _probe("send", HOSTS[flow.direction], f"send-{flow.direction}.json", options)


def _receiver(flow: Flow) -> ProcessSpec:
    options = {
        "port": PORT,
        "ports": flow.ports,
        "key": str(PAYLOAD_KEY + flow.direction),
        "out": f"{TRIAL_FOLDER}/{received_file(flow.direction)}",
    }
    name = f"receive-{flow.direction}.json"
    return _probe("receive", HOSTS[1 - flow.direction], name, options)


def _probe(verb: str, host: str, name: str, options: dict[str, Any]) -> ProcessSpec:
    return ProcessSpec(
        argv=(f"/bin/{PROBE}", verb, f"{TRIAL_FOLDER}/{name}"),
        host=host,
        files={name: json.dumps(options, indent=1) + "\n"},
        lines=True,
    )
