"""The hops of a trial in its network: hosts, addresses and links of each client and server pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the runner imports this, and no schema
    from httpbed.bed.network.network_plan import NetworkPlan
    from httpbed.experiment.roles import Hop, HttpVersion, Roles, Transport
    from httpbed.experiment.scenario import Scenario
    from httpbed.experiment.workload import Workload

UDP_COUNTERS = ("InDatagrams", "RcvbufErrors", "MemErrors")
"""What the kernel counts of each host's datagrams: taken by programs, and dropped at sockets."""


@dataclass(frozen=True)
class HopPath:
    """The links from a hop's client to its server, and the client's address on the first link."""

    client_address: str
    links: tuple[int, ...]
    """Indices of the links, from the client to the server."""
    names: tuple[str, ...]
    """Names of those links."""
    downstream: int
    """Direction of the first link that leads to the client, as the emulator numbers directions."""
    upstream: int
    """Direction of the last link that leads to the server."""
    over: int | None = None
    """Index of the access link that the path begins with, where a client has several."""


@dataclass(frozen=True)
class NetworkHop:
    """A hop with the addresses and links that the network gives it."""

    client: str
    """Name of the part that sends the requests."""
    server: str
    """Name of the part that answers."""
    http_version: HttpVersion
    transport: Transport
    sender: str
    """Name of the part that sends the bodies: the client or the server."""
    client_host: str
    server_host: str
    server_address: str
    paths: tuple[HopPath, ...]
    """One for each access link over which the client reaches the server; otherwise one."""

    @property
    def ends(self) -> tuple[str, str]:
        """The client's host and the server's."""
        return self.client_host, self.server_host

    @property
    def title(self) -> str:
        """``CLIENT->SERVER``."""
        return f"{self.client}->{self.server}"

    def title_over(self, path: HopPath) -> str:
        """Return the title; where the hop has several paths, with the first link of ``path``."""
        return f"{self.title} over {path.names[0]}" if len(self.paths) > 1 else self.title

    @property
    def downstream(self) -> int:
        """Direction towards the client on the first path, as the emulator numbers directions."""
        return self.paths[0].downstream

    @property
    def arrivals(self) -> list[int]:
        """Directions towards the receiver of the bodies, on its own link of each path."""
        is_up = self.sender == self.client
        return [path.upstream if is_up else path.downstream for path in self.paths]

    def is_between(self, connection: Mapping[str, Any]) -> bool:
        """Whether a connection in the emulator's result belongs to this hop."""
        client_addresses = {path.client_address for path in self.paths}
        to_server = address(connection["server"]) == self.server_address
        return to_server and address(connection["client"]) in client_addresses

    def near(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on the client's links."""
        return self._on({path.names[0] for path in self.paths}, connections)

    def far(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on the server's links, before any loss."""
        return self._on({path.names[-1] for path in self.paths}, connections)

    def over(self, link: str, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on one link."""
        return self._on({link}, connections)

    def first_packet_ns(self, link: Mapping[str, Any]) -> int | None:
        """Return the time of the client's first packet, in ns since the emulator's start.

        ``link`` is the emulator's result. None: the client sent nothing.
        """
        near = self.near(link.get("connections", ()))
        times = [one["client_first_ns"] for one in near if one["client_first_ns"] is not None]
        return int(min(times)) - int(link["started_ns"]) if times else None

    def opened(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the connections that the client opened; a migrated one counts once.

        A QUIC connection that migrates makes no handshake at its new address (RFC 9000 section 9).
        A first datagram of an unknown kind may be a greased short header (RFC 9287). It counts as
        an opened connection only where no connection began with a handshake.
        """
        near = self.near(connections)
        begun = [one for one in near if one.get("opening") not in {"short", "other"}]
        return begun or [one for one in near if one.get("opening") != "short"]

    def _on(
        self, links: AbstractSet[str], connections: Iterable[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        return [
            connection
            for connection in connections
            if connection["link"] in links and self.is_between(connection)
        ]


@dataclass(frozen=True)
class Chain:
    """A client with the proxies and servers that answer it, directly or through a proxy."""

    workload: Workload
    roles: Roles
    hops: tuple[NetworkHop, ...]
    """The client's hop comes first."""

    @property
    def client(self) -> str:
        """Name of the client."""
        return self.hops[0].client

    @property
    def responders(self) -> list[str]:
        """Names of its proxies and servers, in the order in which a request meets them."""
        return [hop.server for hop in self.hops]

    @property
    def proxies(self) -> list[str]:
        """Names of its proxies, in that order."""
        clients = {hop.client for hop in self.hops}
        return [name for name in self.responders if name in clients]

    @property
    def fetched_bytes(self) -> int:
        """Total length of the bodies that the client fetches; 0 in an upload."""
        return self.workload.body_bytes() if self.workload.sender == "server" else 0

    @property
    def discovers(self) -> bool:
        """Whether its prior visit uses another HTTP version than the measured one."""
        return self.workload.discovers

    @property
    def servers(self) -> list[str]:
        """Names of its servers."""
        return [name for name in self.responders if name not in self.proxies]


def chains(scenario: Scenario, hops: Sequence[NetworkHop]) -> tuple[Chain, ...]:
    """Group hops by client; the measured client's chain comes first."""
    located = {(hop.client, hop.server): hop for hop in hops}
    return tuple(
        Chain(
            group.workload,
            group.roles,
            tuple(located[hop.client, hop.server] for hop in group.hops()),
        )
        for group in scenario.client_groups
    )


def locate(scenario: Scenario, net: NetworkPlan) -> tuple[NetworkHop, ...]:
    """Find every hop of a scenario in its network."""
    return tuple(
        _located(hop, sender, scenario, net) for hop, sender in scenario.senders_of_bodies()
    )


def ping_file(hop: NetworkHop, path: HopPath) -> str:
    """Name the file with the output of ping for one path of a hop."""
    over = f"-{path.names[0]}" if len(hop.paths) > 1 else ""
    return f"ping-{hop.client}-{hop.server}{over}.txt"


def sockets_file(part: str) -> str:
    """Name the file with the TCP sockets of a part."""
    return f"sockets-{part}.txt"


def datagrams_file(host: str) -> str:
    """Name the file with the UDP counters of a host."""
    return f"datagrams-{host}.txt"


def quic_hosts(hops: Iterable[NetworkHop]) -> list[str]:
    """Name the hosts whose programs receive QUIC."""
    ends = (host for hop in hops if hop.transport == "quic" for host in hop.ends)
    return list(dict.fromkeys(ends))


def address(endpoint: str) -> str:
    """Return the IP address of an endpoint such as ``10.77.0.2:443`` or ``[fd00::2]:443``."""
    return endpoint.rpartition(":")[0].strip("[]")


def _located(hop: Hop, sender: str, scenario: Scenario, net: NetworkPlan) -> NetworkHop:
    client, server = scenario.hosts[hop.client], scenario.hosts[hop.server]
    own = [access.link for access in net.access if access.end.host == client]
    over: list[int | None] = [*own] or [None]
    return NetworkHop(
        client=hop.client,
        server=hop.server,
        http_version=hop.http_version,
        transport=hop.transport,
        sender=sender,
        client_host=client,
        server_host=server,
        server_address=net.address(server, client),
        paths=tuple(_path(client, server, net, link) for link in over),
    )


def _path(client: str, server: str, net: NetworkPlan, over: int | None) -> HopPath:
    route = net.route(client, server, over)
    first, side = route[0]
    last, last_side = route[-1]
    return HopPath(
        client_address=net.ends[first][side].address,
        links=tuple(link for link, _ in route),
        names=tuple(net.topology.links[link].name for link, _ in route),
        downstream=2 * first + 1 - side,
        upstream=2 * last + last_side,
        over=over,
    )
