"""The plan of a network: which namespaces, commands and emulator make it.

::

    client                     the sandbox's own network                    proxy
    eth0 ── veth ── l0a ── httpbed-link (delay, loss, queue, rate) ── l0b ── veth ── eth0
                                                                             eth1 ── ... server

Impairments act on a separate hop, never on an endpoint, where the kernel reports a dropped packet
to the sender at once. One emulator has all links. With TUN devices (in TAP mode) it makes the
hosts' interfaces itself, and each is moved to its host when the emulator is ready. What is done on
each host is in :mod:`~httpbed.bed.network.network_commands`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import emulator, network_commands, routes
from httpbed.bed.network.emulator import Draws, PacketRecords
from httpbed.bed.network.link_file import Facts
from httpbed.bed.network.network_commands import Access
from httpbed.bed.network.routes import AccessRoutes, End, Entry
from httpbed.bed.sandbox.sandbox_spec import NetworkProcesses, ProcessSpec
from httpbed.experiment.impairments.rate import Steps
from httpbed.experiment.roles import TcpBuffers
from httpbed.experiment.topology import Direction, Route, Topology


@dataclass(frozen=True)
class NetworkPlan:
    """A network: the processes that make it, and what they make."""

    processes: NetworkProcesses
    emulator_config: Mapping[str, Any]
    topology: Topology
    forwarding: frozenset[str]
    """Hosts that pass on what is not their own."""
    ends: tuple[tuple[End, End], ...]
    """Both ends of every link."""
    waits_s: tuple[float, ...]
    """Longest seconds that an echo waits for opportunities, on each link when idle."""
    access: tuple[Access, ...] = ()
    """The client's access links, in the order in which it goes from one to the next; all are
    attached when the network is made."""
    buffers: Mapping[str, TcpBuffers] = field(default_factory=dict)
    """Of each host's TCP sockets."""
    monitor: ProcessSpec | None = None
    """Writes the changes of addresses, routes and rules that the client's kernel reports, until it
    is ended; None without access links."""

    @property
    def sysctls(self) -> dict[str, dict[str, str]]:
        """What is set in each host's network when it is made."""
        version, forwarding = self.topology.ip_version, self.forwarding
        ways = (way for link in self.topology.links for way in link.directions())
        marks = any(way.queue.ecn for way in ways)
        return {
            host: network_commands.sysctls(
                version,
                forwards=host in forwarding,
                uses_ecn=marks,
                buffers=self.buffers.get(host, TcpBuffers()),
            )
            for host in self.topology.hosts
        }

    def end_of(self, host: str) -> End:
        """The end at a host that has one link."""
        (end,) = (end for pair in self.ends for end in pair if end.host == host)
        return end

    def route(self, start: str, goal: str, over: int | None = None) -> Route:
        """Return the links from one host to another, each with its direction; () if no path exists.

        A client with access links is on the first, or on the link with index ``over``, and has no
        other.
        """
        standby = {access.link for access in self.access[1:]}
        without = standby if over is None else self._own_but(over)
        return self.topology.route(start, goal, self.forwarding, without)

    def address(self, host: str, towards: str, over: int | None = None) -> str:
        """Return the address by which ``towards`` reaches ``host``, while the client is on a link.

        Programs know a host by its address towards the client's first access link, and use that
        address over all of them.

        Raises:
            ValueError: No path exists.
        """
        route = self.route(towards, host, over)
        if not route:
            msg = f"no way from {towards!r} to {host!r} through hosts that forward"
            raise ValueError(msg)
        link, way = route[-1]
        return self.ends[link][1 - way].address

    def _own_but(self, link: int) -> set[int]:
        (end,) = (access.end for access in self.access if access.link == link)
        return {*self.topology.links_of(end.host)} - {link}


def plan(  # noqa: PLR0913 - optional arguments have names
    topology: Topology,
    senders: Mapping[str, str],
    seed: int,
    block: int,
    *,
    forwarding: AbstractSet[str] = frozenset(),
    records: PacketRecords | None = None,
    backend: Backend = "af_packet",
    files: Mapping[str, Facts] | None = None,
    live: bool = False,
    client: str = "client",
    access: Sequence[int] = (),
    nat: Collection[int] = (),
    spin_us: int = emulator.SPIN_US,
    locked: bool = False,
    buffers: Mapping[str, TcpBuffers] | None = None,
    initial_windows: Mapping[str, int] | None = None,
) -> NetworkPlan:
    """Plan the network of a topology in one block.

    ``senders`` names the TCP congestion control of each host that sends, on all of its routes; any
    other has cubic. ``forwarding`` are the hosts that packets may pass through. ``records`` are
    asked of the emulator. ``files`` has what is known of the files that the topology names, by
    their digests. ``live`` says whether conditions may change by command. ``access`` are the links,
    by their indices, between which the host ``client`` goes, from the first on; ``nat`` those with
    a NAT at their second host. ``spin_us`` is how long the emulator may poll for a due time; with 0
    it sleeps. ``locked`` says whether the kernel refuses programs another congestion control.
    ``buffers`` and ``initial_windows``, in packets, are those of each host's TCP sockets.

    Raises:
        ValueError: The topology names a recorded run that is not in ``files``, or has more links
            than there are addresses; an access link is not the client's.
    """
    ends = tuple(routes.link_ends(topology, index) for index in range(len(topology.links)))
    draws = Draws(seed, block, files or {}, live)
    noted = records or PacketRecords()
    config = emulator.config(topology.links, ends, draws, backend, noted, nat=nat, spin_us=spin_us)
    network = _Commands(
        topology,
        ends,
        frozenset(forwarding),
        senders,
        initial_windows or {},
        locked,
        backend,
        client,
        access,
    )
    return NetworkPlan(
        processes=network.processes(
            network_commands.emulator(config, emulator.traces(topology.links, draws))
        ),
        emulator_config=config,
        topology=topology,
        forwarding=network.forwarding,
        ends=ends,
        waits_s=emulator.waits_s(topology.links, draws),
        access=network.access,
        buffers=buffers or {},
        monitor=network_commands.access_monitor(client) if access else None,
    )


@dataclass(frozen=True)
class _Commands:
    """Plans the commands that make a network."""

    topology: Topology
    ends: tuple[tuple[End, End], ...]
    forwarding: frozenset[str]
    senders: Mapping[str, str]
    initial_windows: Mapping[str, int]
    locked: bool
    backend: Backend
    client: str
    own: Sequence[int]
    """Indices of the client's access links; empty without a hand-over."""

    @cached_property
    def ways(self) -> AccessRoutes:
        for link in (self.topology.links[index] for index in self.own):
            if self.client not in link.between:
                msg = f"{link.name} is not a link of {self.client!r}"
                raise ValueError(msg)
        return AccessRoutes(self.ends, self.client, self.own, self.forwarding)

    @cached_property
    def access(self) -> tuple[Access, ...]:
        names = [link.name for link in self.topology.links]
        return network_commands.plan_access(self.ways, names, self._control(self.client))

    def processes(self, emulator: ProcessSpec) -> NetworkProcesses:
        if self.backend == "tun":
            return NetworkProcesses(None, (), emulator, self._after_ready())
        wiring = network_commands.batch(None, network_commands.veths(self._all_ends()))
        return NetworkProcesses(wiring, self._hosts(), emulator, ())

    def _hosts(self) -> tuple[ProcessSpec, ...]:
        return tuple(
            spec
            for addressing in self._addressing(by_tun=False)
            for spec in (addressing, *self._offloads(addressing.host))
        )

    def _after_ready(self) -> tuple[ProcessSpec, ...]:
        moves = [network_commands.moved(end) for end in self._all_ends()]
        return (network_commands.batch(None, moves), *self._addressing(by_tun=True))

    def _all_ends(self) -> list[End]:
        return [end for pair in self.ends for end in pair]

    def _addressing(self, *, by_tun: bool) -> list[ProcessSpec]:
        return [
            self._of_client(by_tun=by_tun)
            if self.access and host == self.client
            else network_commands.addressing(
                self.ends, host, self._table(host), self._control(host), by_tun=by_tun
            )
            for host in self.topology.hosts
        ]

    def _of_client(self, *, by_tun: bool) -> ProcessSpec:
        return network_commands.addressing(
            self.ends,
            self.client,
            self.ways.besides(),
            self._control(self.client),
            later=network_commands.access_lines(self.access),
            without=self.own,
            by_tun=by_tun,
        )

    def _table(self, host: str) -> list[Entry]:
        return [*routes.of_host(self.ends, host, self.forwarding), *self.ways.on(host)]

    def _control(self, host: str) -> str:
        name = self.senders.get(host, "cubic")
        control = f"lock {name}" if self.locked else name
        window = self.initial_windows.get(host)
        return f"{control} initcwnd {window}" if window else control

    def _offloads(self, host: str | None) -> list[ProcessSpec]:
        return [network_commands.offloads(end) for end in self._all_ends() if end.host == host]


PING_IP_BYTES = {"4": 84, "6": 104}
"""Bytes of a ping: 20 or 40 of IP, 8 of ICMP and 56 of data."""


def idle_round_trip_s(
    net: NetworkPlan, start: str, goal: str, over: int | None = None
) -> tuple[float, float]:
    """Return the least and the most seconds that ping may measure between two hosts.

    ``over`` is the access link that the client pings by; by default its first.

    The time has both delays and both transmissions of every link between the hosts. Packets before
    the start meet no random draw, so jitter does not count. An echo may have to wait for the
    opportunities of a trace.
    """
    crossed = [link for link, _ in net.route(start, goal, over)]
    size = PING_IP_BYTES[net.topology.ip_version]
    least = delays_s(net, start, goal, over) + sum(
        _transmission_s(way, size)
        for link in crossed
        for way in net.topology.links[link].directions()
    )
    return least, least + sum(net.waits_s[link] for link in crossed)


def delays_s(net: NetworkPlan, start: str, goal: str, over: int | None = None) -> float:
    """Return the sum of all one-way delays between two hosts, there and back, in seconds."""
    return sum(net.topology.links[link].rtt_s() for link, _ in net.route(start, goal, over))


def _transmission_s(way: Direction, ip_bytes: int) -> float:
    """Return the transmission time of an echo in seconds; 0 for a bucket, full at first."""
    rate = way.rate.first_bit_s if isinstance(way.rate, Steps) else way.rate
    return (ip_bytes + way.overhead_bytes()) * 8 / rate if isinstance(rate, int) else 0.0
