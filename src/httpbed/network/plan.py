"""The plan of a network: which namespaces, commands and emulator make it.

::

    client                     the sandbox's own network                    server
    eth0 ── veth ── l0a ── httpbed-link (delay, loss, queue, rate) ── l0b ── veth ── eth0

Impairments act on a hop of their own, never on an endpoint, where a dropped packet is reported
to the sender at once. Neighbours are permanent entries, so no ARP crosses the link: one
lost ARP request would cost a second. With TUN devices (in TAP mode) the emulator makes ``eth0``
itself, and each is moved to its host when the emulator is ready. Where the kernel carries the
packets (:mod:`~httpbed.network.kernel`), it observes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.host.backend import Backend
from httpbed.model.impairments.rate import MTU_BYTES
from httpbed.model.topology import Topology
from httpbed.network import emulator, kernel
from httpbed.network.addresses import End, ends
from httpbed.network.emulator import Draws, Recording
from httpbed.network.files import Facts
from httpbed.network.kernel import Shaped
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


TUN_QUEUE_FRAMES = 8192
"""Room until the emulator reads them; the 500 that a user's device has are 6 ms at 1 Gbit/s."""


@dataclass(frozen=True)
class NetworkPlan:
    """All that has to be done to make a network, in the order of its fields."""

    wiring: ProcessSpec | None
    """In the sandbox's own network: the veth pairs; None where the emulator makes the devices."""
    hosts: tuple[ProcessSpec, ...]
    """On each host: addresses, neighbours, routes, offloads; and between them the kernel's
    disciplines, if they are wanted; independent of each other."""
    emulator: ProcessSpec
    """The link emulator; it speaks line by line."""
    after_ready: tuple[ProcessSpec, ...]
    """What can be done only when the emulator is ready, one after the other."""
    emulator_config: Mapping[str, Any]
    ends: tuple[End, End]
    """Of the one link that is supported for now."""
    longest_wait_s: float
    """Seconds that an echo on the idle link may wait for opportunities to be delivered."""
    backend: Backend = "af_packet"
    shaped: Shaped | None = None
    """What the kernel does to packets that it carries; None where the emulator does it."""
    counters: ProcessSpec | None = None
    """Reads the kernel's own counters, then."""

    def end_of(self, host: str) -> End:
        """The end of the link at a host."""
        return next(end for end in self.ends if end.host == host)

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Every process, in order."""
        wiring = (self.wiring,) if self.wiring else ()
        return (*wiring, *self.hosts, self.emulator, *self.after_ready)


def plan(  # noqa: PLR0913 - what is not always wanted is said by name
    topology: Topology,
    senders: Mapping[str, str],
    seed: int,
    block: int,
    *,
    capture: bool = False,
    log: str | None = None,
    backend: Backend = "af_packet",
    files: Mapping[str, Facts] | None = None,
    first_network: int = 0,
    netem_seeded: bool = False,
    live: bool = False,
) -> NetworkPlan:
    """Plan the network of a topology in one block.

    ``senders`` names the TCP congestion control of each host that sends; any other has cubic.
    ``capture`` asks the emulator for a pcapng file of every packet, ``log`` for a line per packet
    in that file, as a path inside the sandbox. ``files`` has what is known of the files that the
    topology names, by their digests. ``first_network`` is the number of the first link's.
    ``netem_seeded`` says whether the kernel's netem takes a seed, ``live`` whether conditions may
    change by command.

    Raises:
        ValueError: The topology names a recorded run that is not in ``files``.
    """
    link, both = topology.links[0], ends(topology, 0, first_network)
    draws = Draws(seed, block, files or {}, live)
    recording = Recording(f"{TRIAL_FOLDER}/link.pcapng" if capture else None, log)
    config = emulator.config(link, both, draws, backend, recording)
    started = _emulator(config, emulator.traces(link, draws))
    wait_s = emulator.longest_wait_s(link, draws)
    if backend == "tun":
        after_ready = (
            _batch(None, [*map(_moved, both)]),
            *_far_ends(both, senders, _tun_addresses),
        )
        return NetworkPlan(None, (), started, after_ready, config, both, wait_s, backend)
    first, second = both
    hosts = tuple(
        spec
        for addresses, own in zip(_far_ends(both, senders, _addresses), both, strict=True)
        for spec in (addresses, _offloads(own))
    )
    pairs = [*_pair(first), *_pair(second)]
    if backend == "af_packet":
        return NetworkPlan(_batch(None, pairs), hosts, started, (), config, both, wait_s, backend)
    keys = kernel.netem_seeds(link, seed, block) if netem_seeded else None
    shaped = kernel.shaped(backend, link, both, keys)
    wiring = _batch(None, [*pairs, *kernel.bridge(both)])
    hosts = (*hosts, _batch(None, list(shaped.lines), "tc"))
    return NetworkPlan(wiring, hosts, started, (), config, both, 0.0, backend, shaped, _counters())


def _far_ends(
    both: tuple[End, End],
    senders: Mapping[str, str],
    lines: Callable[[End, End, Mapping[str, str]], list[str]],
) -> tuple[ProcessSpec, ProcessSpec]:
    """On each host, what its own end and the far one need."""
    first, second = both
    return (
        _batch(first.host, lines(first, second, senders)),
        _batch(second.host, lines(second, first, senders)),
    )


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


def _moved(end: End) -> str:
    """A TUN device goes to its host only now: the emulator made it, and keeps hold of it."""
    return f"link set dev {end.emulator_interface} netns {end.host} name {end.interface}"


def _tun_addresses(own: End, far: End, senders: Mapping[str, str]) -> list[str]:
    """Like :func:`_addresses`, for a device that the emulator made: it has frames like a veth's."""
    device = f"dev {own.interface}"
    return [
        f"link set {device} address {own.mac} txqueuelen {TUN_QUEUE_FRAMES}",
        *_addresses(own, far, senders),
    ]


def _batch(host: str | None, lines: list[str], program: str = "ip") -> ProcessSpec:
    return ProcessSpec(
        argv=(program, "-batch", "-"),
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


def _counters() -> ProcessSpec:
    return ProcessSpec(
        argv=("tc", "-s", "-j", "qdisc", "show"),
        root=TOOLS,
        stdout="qdiscs.json",
        stderr="network-errors.txt",
    )


def _emulator(config: Mapping[str, Any], traces: Mapping[str, str]) -> ProcessSpec:
    return ProcessSpec(
        argv=(f"/bin/{LINK}", f"{TRIAL_FOLDER}/link.json"),
        files={"link.json": json.dumps(config, indent=1) + "\n", **traces},
        stderr="link-errors.txt",
        lines=True,
    )
