"""The plan of a network: which namespaces, commands and emulator make it.

::

    client                     the sandbox's own network                    server
    eth0 ── veth ── l0a ── httpbed-link (delay, loss, queue, rate) ── l0b ── veth ── eth0

Impairments act on a hop of their own, never on an endpoint, where a dropped packet is reported
to the sender at once. Neighbours are permanent entries, so no ARP crosses the link: one
lost ARP request would cost a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.design import seeds
from httpbed.model.topology import MTU_BYTES, Direction, Link, Topology
from httpbed.network.addresses import End, ends
from httpbed.process.binaries import LINK
from httpbed.process.spec import TRIAL_FOLDER, ProcessSpec

TOOLS = "tools"
"""Name, inside the sandbox, of the root filesystem that has ip, ethtool, ss and ping."""

NO_NEIGHBOUR_DISCOVERY: Mapping[str, str] = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}
"""In the emulator's own network: IPv6 would announce itself on every interface."""
HOST_SYSCTLS: Mapping[str, str] = {"net.ipv4.tcp_no_metrics_save": "1", **NO_NEIGHBOUR_DISCOVERY}
"""On every host; and there is no memory of earlier connections."""

SPIN_US = 50


@dataclass(frozen=True)
class NetworkPlan:
    """All that has to be done to make a network, in three steps."""

    wiring: ProcessSpec
    """In the sandbox's own network: the veth pairs."""
    hosts: tuple[ProcessSpec, ...]
    """On each host: addresses, neighbours, routes, offloads; independent of each other."""
    emulator: ProcessSpec
    """The link emulator; it speaks line by line."""
    emulator_config: Mapping[str, Any]
    ends: tuple[End, End]
    """Of the one link that is supported for now."""

    def end_of(self, host: str) -> End:
        """The end of the link at a host."""
        return next(end for end in self.ends if end.host == host)

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Every process, in order."""
        return (self.wiring, *self.hosts, self.emulator)


def plan(  # noqa: PLR0913 - the last three are told by name
    topology: Topology,
    senders: Mapping[str, str],
    seed: int,
    block: int,
    *,
    capture: bool = False,
    log: str | None = None,
    first_network: int = 0,
) -> NetworkPlan:
    """Plan the network of a topology in one block.

    ``senders`` names the TCP congestion control of each host that sends; any other has cubic.
    ``capture`` asks the emulator for a pcapng file of every packet, ``log`` for a line per packet
    in that file, as a path inside the sandbox. ``first_network`` is the number of the first link's.
    """
    first, second = ends(topology, 0, first_network)
    config = emulator_config(topology.links[0], (first, second), seed, block, capture=capture)
    if log is not None:
        config["log"] = log
    return NetworkPlan(
        wiring=_batch(None, [*_pair(first), *_pair(second)]),
        hosts=tuple(
            spec
            for own, far in ((first, second), (second, first))
            for spec in (_batch(own.host, _addresses(own, far, senders)), _offloads(own))
        ),
        emulator=_emulator(config),
        emulator_config=config,
        ends=(first, second),
    )


def emulator_config(
    link: Link, link_ends: tuple[End, End], seed: int, block: int, *, capture: bool
) -> dict[str, Any]:
    """Write what ``httpbed-link`` reads: integers in ns and bit/s, a key per random stream."""
    first, second = link_ends
    names = (f"{first.host}->{second.host}", f"{second.host}->{first.host}")
    directions = [
        _direction(direction, link.rtt_s(), seeds.stream_key(seed, block, link.name, name, "loss"))
        for direction, name in zip(link.directions(), names, strict=True)
    ]
    described = {
        "name": link.name,
        "hosts": list(link.between),
        "interfaces": [first.emulator_interface, second.emulator_interface],
        "directions": directions,
    }
    return {
        "schema": 1,
        "mtu": MTU_BYTES,
        "spin_us": SPIN_US,
        "links": [described],
        "pcapng": f"{TRIAL_FOLDER}/link.pcapng" if capture else None,
    }


def _direction(direction: Direction, rtt_s: float, key: int) -> dict[str, Any]:
    loss = {"probability": direction.loss, "key": str(key)} if direction.loss else None
    queue = dict([direction.queue.limit.packets_or_bytes(direction.rate or 0, rtt_s)])
    return {
        "rate_bit_s": direction.rate,
        "delay_ns": round(direction.delay * 1e9),
        "loss": loss,
        "queue": queue,
    }


def _pair(end: End) -> list[str]:
    near, mtu = end.emulator_interface, MTU_BYTES
    peer = f"peer name {end.interface} mtu {mtu} address {end.mac} netns {end.host}"
    return [
        f"link add name {near} mtu {mtu} type veth {peer}",
        f"link set dev {near} up",
    ]


def _addresses(own: End, far: End, senders: Mapping[str, str]) -> list[str]:
    device = f"dev {own.interface}"
    control = senders.get(own.host, "cubic")
    return [
        "link set dev lo up",
        f"link set {device} up",
        f"address add {own.address}/24 {device}",
        f"neighbour add {far.address} lladdr {far.mac} {device} nud permanent",
        f"route replace {own.network} {device} src {own.address} congctl {control}",
    ]


def _batch(host: str | None, lines: list[str]) -> ProcessSpec:
    return ProcessSpec(
        argv=("ip", "-batch", "-"),
        host=host,
        root=TOOLS,
        input="".join(f"{line}\n" for line in lines),
        stderr="network-errors.txt",
    )


def _offloads(end: End) -> ProcessSpec:
    """Switch off what makes frames larger than the wire's (link-level segmentation)."""
    return ProcessSpec(
        argv=("ethtool", "-K", end.interface, "tx", "off", "gro", "off"),
        host=end.host,
        root=TOOLS,
        stdout="offloads.txt",
        stderr="network-errors.txt",
    )


def _emulator(config: Mapping[str, Any]) -> ProcessSpec:
    return ProcessSpec(
        argv=(f"/bin/{LINK}", f"{TRIAL_FOLDER}/link.json"),
        files={"link.json": json.dumps(config, indent=1) + "\n"},
        stderr="link-errors.txt",
        lines=True,
    )
