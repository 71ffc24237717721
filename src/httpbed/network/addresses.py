"""Addresses: a function of a link's place in the topology, so that every run has the same.

Link number 3 is the network 10.77.3.0/24 (RFC 1918); its first host has .1, its second .2.
"""

from __future__ import annotations

from dataclasses import dataclass

from httpbed.model.topology import Topology

INTERFACE = "eth0"


@dataclass(frozen=True)
class End:
    """Where a link meets a host."""

    host: str
    interface: str
    """Name on the host."""
    emulator_interface: str
    """Name of the other end of the veth pair, in the emulator's network."""
    address: str
    mac: str

    @property
    def network(self) -> str:
        """The link's network in CIDR notation."""
        return self.address.rsplit(".", 1)[0] + ".0/24"


def ends(topology: Topology, index: int, first: int = 0) -> tuple[End, End]:
    """Return both ends of link number ``index``, in the order of its ``between``.

    ``first`` is the network of the topology's first link, for topologies that are joined.
    """
    hosts = topology.links[index].between
    one, other = (
        End(
            host=host,
            interface=INTERFACE if len(topology.links) == 1 else f"eth{index}",
            emulator_interface=f"l{index}{'ab'[side]}",
            address=f"10.77.{first + index}.{side + 1}",
            mac=f"02:00:00:00:{first + index:02x}:{side + 1:02x}",
        )
        for side, host in enumerate(hosts)
    )
    return one, other
