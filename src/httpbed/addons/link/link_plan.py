"""The plan of a command behind a link: every process around it; pure.

::

    command                sandbox's own network              far end           this machine
    eth0 ── l0a ── httpbed-link (impairments) ── l0b ── eth0, httpbed-probe ─┬─ pasta ── outside
                                                                             └─ relay ── resolvers

The link is the network 10.77.0.0/24. The far end has the user's server, if there is one, and
forwards what is not for itself to the outside by ``pasta`` (user-mode sockets, no rights needed).
With exposed ports there is no pasta, and the relay leads to those ports of this machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpbed.addons.link.described_link import COMMAND, FAR, DescribedLink
from httpbed.addons.link.far_end import ADDRESSES, Names, WaitingSocket
from httpbed.addons.link.link_change import UPLINK
from httpbed.base.clock import Clock
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import emulator, network_plan
from httpbed.bed.network.emulator import PacketRecords
from httpbed.bed.network.network_commands import HOST_SYSCTLS, batch
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.sandbox.sandbox_spec import PROBE, TOOLS, TRIAL_FOLDER, ProcessSpec
from httpbed.experiment.impairments.rate import MTU_BYTES
from httpbed.experiment.kept import CAPTURE

PCAP, LOG = CAPTURE, "packets.log"
"""Files below /trial that the emulator writes."""
LOOPBACK = "loopback.json"
"""File below /trial with the counters of the command's own loopback."""
SOCKET = "uplink"
"""Socket below /trial where the command sends its requests."""

THIS_MACHINE, OWN = "10.79.0.1", "10.79.0.2"
"""Addresses in pasta's network: this machine's loopback, and the far end."""
OUTSIDE_INTERFACE = "outside"

_FORWARDING: Mapping[str, str] = {"net.ipv4.ip_forward": "1"}
_PING_BY_ANYONE: Mapping[str, str] = {"net.ipv4.ping_group_range": "0 0"}
"""Group 0 of the sandbox is the user's group: ping then needs no rights."""
SYSCTLS: Mapping[str, Mapping[str, str]] = {
    # IPv6 stays on lo: a command's own servers may want ::1.
    COMMAND: {"net.ipv6.conf.default.disable_ipv6": "1", **_FORWARDING, **_PING_BY_ANYONE},
    FAR: {
        **HOST_SYSCTLS,
        **_FORWARDING,
        **_PING_BY_ANYONE,
        "net.ipv4.ip_unprivileged_port_start": "0",  # a server may have port 443
    },
}


@dataclass(frozen=True)
class LinkRequest:
    """A command, and the link in front of it."""

    argv: tuple[str, ...]
    described: DescribedLink
    seed: int
    backend: Backend
    server: tuple[str, ...] = ()
    """A program at the far end; none if empty."""
    names: tuple[str, ...] = ()
    """Names of the far end, for the command and the server."""
    exposed: tuple[int, ...] = ()
    """Ports of this machine's loopback that the command reaches at the far end, and no other."""
    outside: bool | None = None
    """Whether it reaches the outside network; None means if possible."""
    pcap: Path | None = None
    log: Path | None = None
    meter: bool = False
    clock: Clock = "real"
    """The clock of command and link. With ``virtual``, this process is in a guest."""


@dataclass(frozen=True)
class ShellPlan:
    """Every process but the command."""

    network: NetworkPlan
    route: ProcessSpec
    """On the command's host: the route over the link."""
    far: ProcessSpec
    """The services of the far end."""

    @property
    def peer(self) -> str:
        """Address of the far end."""
        return self.network.end_of(FAR).address


def plan(request: LinkRequest, congestion_control: str) -> ShellPlan:
    """Plan the link and its far end."""
    described, log = request.described, f"{TRIAL_FOLDER}/{LOG}" if request.log else None
    net = network_plan.plan(
        described.topology,
        {COMMAND: congestion_control, FAR: congestion_control},
        request.seed,
        0,
        records=PacketRecords(request.pcap is not None, log),
        backend=request.backend,
        files={file.sha256: file.facts for file in described.files},
        live=True,
        spin_us=0 if request.clock == "virtual" else emulator.SPIN_US,
    )
    far, own = net.end_of(FAR), net.end_of(COMMAND)
    return ShellPlan(
        network=net,
        route=batch(COMMAND, [f"route add default via {far.address} dev {own.interface}"]),
        far=ProcessSpec(argv=(f"/bin/{PROBE}", "serve"), host=FAR, lines=True),
    )


def pasta(program: Path, scratch: Path) -> ProcessSpec:
    """Connect the far end to the outside; the process ends with 0 when it is ready, and stays.

    It opens no port on this machine. Packets are no larger than the link's MTU, so that packets
    from outside need not be cut before they enter the link.
    """
    words = (
        *(str(program), "--quiet", "--config-net", "--ipv4-only", "--mtu", str(MTU_BYTES)),
        *("--address", OWN, "--netmask", "24", "--gateway", THIS_MACHINE),
        *("--ns-ifname", OUTSIDE_INTERFACE),
        *("--tcp-ports", "none", "--udp-ports", "none", "--tcp-ns", "none", "--udp-ns", "none"),
        *("--netns-only", "--netns", _far(scratch)),
    )
    return ProcessSpec(argv=words, place="outside", stderr="pasta.txt")


def name_addresses(names: Names) -> ProcessSpec:
    """Give the far end an address for each resolver of this machine."""
    used = ADDRESSES[: len(names.resolvers)]
    return batch(FAR, [f"address add {address}/32 dev lo" for address in used])


def name_relay(probe: Path, names: Names, scratch: Path) -> ProcessSpec:
    """Pass name queries on to the resolvers; like pasta, it ends with 0 and stays."""
    words = (str(probe), "names", _far(scratch), *names.pairs())
    return ProcessSpec(argv=words, place="outside", stderr="names.txt")


def port_relay(
    probe: Path, peer: str, ports: Iterable[WaitingSocket], scratch: Path
) -> ProcessSpec:
    """Pass on what reaches the ports at ``peer``; like pasta, it ends with 0 and stays."""
    words = [f"{port.protocol}/{peer}:{port.port}={port}" for port in ports]
    argv = (str(probe), "expose", _far(scratch), *words)
    return ProcessSpec(argv=argv, place="outside", stderr="ports.txt")


def loopback_counters() -> ProcessSpec:
    """Print the packets of the command's own loopback into a file."""
    argv = ("ip", "-json", "-stats", "link", "show", "dev", "lo")
    return ProcessSpec(argv=argv, host=COMMAND, root=TOOLS, stdout=LOOPBACK, stderr="ip.txt")


def loopback_packets(text: str) -> int:
    """Read the packets of the loopback from what :func:`loopback_counters` printed."""
    (interface,) = json.loads(text)
    return int(interface["stats64"]["rx"]["packets"])


def hosts_file(text: str, peer: str, names: Sequence[str]) -> str:
    """Return ``/etc/hosts`` with these names of the far end; the first line of a name counts."""
    return f"{peer}\t{' '.join(names)}\n{text}"


def _far(scratch: Path) -> str:
    """Return the path of the far end's network, as programs outside see it."""
    return str(scratch / "run/netns" / FAR)


def environment(planned: ShellPlan, socket: Path) -> dict[str, str]:
    """Return the variables that the command's environment has in addition."""
    return {"HTTPBED_PEER": planned.peer, UPLINK: str(socket)}
