"""Addresses: a function of a link's place in the topology, so that every run has the same ones.

Link number 3 is the network 10.77.3.0/24 (RFC 1918) or fd77:0:0:3::/64 (RFC 4193); its first
host has .1 or ::1, its second .2 or ::2.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

from httpbed.experiment.topology import Topology

Network = IPv4Network | IPv6Network

INTERFACE = "eth0"
MAX_LINKS = 256
"""A link's number is one byte of its addresses."""

_NETWORKS: dict[str, tuple[Network, int]] = {
    "4": (IPv4Network("10.77.0.0/16"), 24),
    "6": (IPv6Network("fd77::/48"), 64),
}
"""By IP version: the networks of the links, and the length of their prefixes."""


@dataclass(frozen=True)
class End:
    """The interface by which a host is on a link."""

    host: str
    interface: str
    """Name on the host."""
    emulator_interface: str
    """Name of the other end of the veth pair, in the emulator's network."""
    address: str
    """The address as programs write it: IPv6 in the form of RFC 5952, without brackets."""
    mac: str
    network: str
    """The link's network in CIDR notation."""

    @property
    def address_in_network(self) -> str:
        """The address with the length of the network's prefix."""
        return f"{self.address}/{self.network.rpartition('/')[2]}"


def ends(topology: Topology, index: int, first: int = 0) -> tuple[End, End]:
    """Return both ends of link number ``index``, in the order of its ``between``.

    ``first`` is the number of the topology's first link, for topologies that are joined.
    """
    number = first + index
    network = _network(topology.ip_version, number)
    one, other = (
        End(
            host=host,
            interface=_interface(topology, index, host),
            emulator_interface=f"l{index}{'ab'[side]}",
            address=str(network[side + 1]),
            mac=f"02:00:00:00:{number:02x}:{side + 1:02x}",
            network=str(network),
        )
        for side, host in enumerate(topology.links[index].between)
    )
    return one, other


def _network(ip_version: str, number: int) -> Network:
    if number >= MAX_LINKS:
        msg = f"link number {number} has no address: there are {MAX_LINKS}"
        raise ValueError(msg)
    whole, prefix = _NETWORKS[ip_version]
    size = 1 << (whole.max_prefixlen - prefix)
    return type(whole)((int(whole.network_address) + number * size, prefix))


def _interface(topology: Topology, index: int, host: str) -> str:
    """Name a host's only interface as programs expect it, one of several by its link."""
    several = sum(host in link.between for link in topology.links) > 1
    return f"eth{index}" if several else INTERFACE
