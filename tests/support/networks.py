"""Real networks of a few hosts, and measurements on them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from httpbed.bed.network import running_network
from httpbed.bed.network.network_commands import NO_NEIGHBOUR_DISCOVERY
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.network.running_network import Emulator
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
from httpbed.bed.toolbox import root_filesystem
from httpbed.experiment.topology import Topology

CHARGEN = 19
"""RFC 864."""
ANY = {"4": "0.0.0.0", "6": "::"}  # noqa: S104 - in a host of a network of our own
_TIME = re.compile(r"time=([0-9.]+) ms")
MEMORY_BYTES = 2**27


def topology(links: Sequence[Mapping[str, Any]], ip_version: str = "4") -> Topology:
    """Return a topology that consists of these links."""
    hosts = dict.fromkeys(host for link in links for host in link["between"])
    return Topology.model_validate(
        {"hosts": list(hosts), "links": list(links), "ip_version": ip_version}
    )


def remade(planned: NetworkPlan, **changes: Any) -> NetworkPlan:
    """Return the plan of a network that other processes make."""
    return replace(planned, processes=replace(planned.processes, **changes))


@dataclass(frozen=True)
class Running:
    """A running network."""

    planned: NetworkPlan
    supervisor: Supervisor
    emulator: Emulator
    folder: Path

    async def ping(self, host: str, far: str, count: int = 3) -> list[float]:
        """Return the round-trip times in seconds of the pings that were answered."""
        address = self.planned.address(far, towards=host)
        words = ("ping", "-n", "-c", str(count), "-i", "0.01", "-W", "2", address)
        name = f"ping-{host}-{far}.txt"
        await self.supervisor.run(
            ProcessSpec(words, host=host, root=TOOLS, stdout=name, stderr=name, timeout_s=20)
        )
        found = _TIME.findall((self.folder / name).read_text())
        return [float(ms) / 1e3 for ms in found]

    async def said(self, host: str, *words: str) -> str:
        """Run a program of the toolbox on a host; return its output."""
        (self.folder / "said.txt").unlink(missing_ok=True)
        spec = ProcessSpec(words, host=host, root=TOOLS, stdout="said.txt", stderr="said.txt")
        await self.supervisor.run(spec)
        return (self.folder / "said.txt").read_text()

    async def serve(self, host: str) -> None:
        """Run a server on a host that sends characters over TCP to each client."""
        address = ANY[self.planned.topology.ip_version]
        spec = ProcessSpec(
            (f"/bin/{PROBE}", "serve", "--bind", address), host=host, ready=Ports(tcp=(CHARGEN,))
        )
        await self.supervisor.start(spec)

    async def fetch(self, host: str, far: str, seconds: float) -> int:
        """Read from ``far`` for a time; return the number of bytes."""
        address = self.planned.address(far, towards=host)
        authority = f"[{address}]" if ":" in address else address
        said = {
            "from": f"{authority}:{CHARGEN}",
            "for_ns": round(seconds * 1e9),
            "out": f"{TRIAL_FOLDER}/{host}.samples",
        }
        name = f"fetch-{host}.json"
        argv = (f"/bin/{PROBE}", "fetch", f"{TRIAL_FOLDER}/{name}")
        spec = ProcessSpec(argv, host=host, files={name: json.dumps(said)}, lines=True)
        probe = await Dialogue.begin(self.supervisor, spec)
        await probe.wait_for("result", seconds + 10)
        return _last_total((self.folder / f"{host}.samples").read_bytes())

    async def result(self) -> dict[str, Any]:
        """Stop the emulator; return its counters."""
        return await self.emulator.request("stop", "result")


def _last_total(samples: bytes) -> int:
    return int.from_bytes(samples[-8:], "little")


@asynccontextmanager
async def made(planned: NetworkPlan, folder: Path) -> AsyncIterator[Running]:
    """Start a network in a sandbox."""
    scratch, trial = folder / "sandbox", folder / "trial"
    scratch.mkdir(parents=True)
    trial.mkdir()
    spec = SandboxSpec(
        scratch=scratch,
        trial=trial,
        roots={TOOLS: tools()},
        shared={},
        programs={name: executable(name) for name in (LINK, PROBE)},
        hosts=planned.sysctls,
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        tmpfs_bytes=MEMORY_BYTES,
    )
    async with sandbox(spec) as supervisor:
        emulator = await running_network.build(supervisor, planned.processes)
        yield Running(planned, supervisor, emulator, trial)
    await asyncio.to_thread(scratch.rmdir)


def tools() -> Path:
    """Return a root filesystem with ip, ethtool, ss and ping."""
    return root_filesystem.ensure(root_filesystem.TOOLS, say=print).path
