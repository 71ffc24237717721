"""One situation, complete: the network, who takes which role, and what is fetched."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from httpbed.model.topology import Link, Topology
from httpbed.model.value import Value
from httpbed.model.workload import Workload

HttpVersion = Literal["1.1", "2", "3"]
"""RFC 9112, RFC 9113, RFC 9114."""


class Role(Value):
    """A role of RFC 9110 and the implementation that takes it."""

    implementation: str
    """The name of a recipe; ``httpbed recipes`` lists them."""
    host: str | None = None
    """The host it runs on; by default the one with the role's name."""
    congestion_control: str = "cubic"
    """Of every TCP connection on which this role is the sender."""


class ClientRole(Role):
    """The client: it also decides the HTTP version."""

    http_version: HttpVersion
    """The only version it may speak; a downgrade is a failed outcome."""


class Roles(Value):
    """Who takes part."""

    client: ClientRole
    """The one that fetches."""
    server: Role
    """The one that has the file."""

    def hosts(self) -> dict[str, str]:
        """Map each role's name to its host."""
        return {"client": self.client.host or "client", "server": self.server.host or "server"}

    def senders(self) -> dict[str, str]:
        """Map each role's host to the congestion control of what it sends by TCP."""
        hosts = self.hosts()
        return {
            hosts["client"]: self.client.congestion_control,
            hosts["server"]: self.server.congestion_control,
        }


class Scenario(Value):
    """What a trial builds and does: a treatment with every factor filled in."""

    topology: Topology
    """The network."""
    roles: Roles
    """Who takes which role."""
    workload: Workload
    """What is fetched."""

    @model_validator(mode="after")
    def _direct_path(self) -> Scenario:
        hosts = self.roles.hosts()
        for role, host in hosts.items():
            if host not in self.topology.hosts:
                msg = f"the {role} is on host {host!r}, which is not in topology.hosts"
                raise ValueError(msg)
        if self.topology.link_between(*hosts.values()) is None or len(self.topology.links) != 1:
            msg = (
                "exactly one link is supported for now, and it must join the client and the server"
            )
            raise ValueError(msg)
        return self

    @property
    def link(self) -> Link:
        """The link between client and server."""
        return self.topology.links[0]

    def ideal_s(self) -> float:
        """Seconds that the workload takes at the rate of the link, with nothing else."""
        rate = self.link.directions()[self.downstream()].mean_bit_s()
        return self.workload.size * 8 / rate if rate else 0.0

    def downstream(self) -> int:
        """Index of the link's direction from server to client: 0 is ``up``, 1 is ``down``."""
        return 0 if self.link.between[0] == self.roles.hosts()["server"] else 1
