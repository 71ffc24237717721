"""Who takes part: the roles of RFC 9110, and the implementations that take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from httpbed.experiment.topology import HostName
from httpbed.experiment.value import Value

HttpVersion = Literal["1.1", "2", "3"]
"""RFC 9112, RFC 9113, RFC 9114."""
Retry = Literal["none", "restart", "resume"]
"""What is done about a download that failed."""
KnobName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
FIXED = "fixed"
"""Stands for the congestion control of a program that offers no choice."""
TCP_CONTROLS = ("reno", "cubic", "bbr")
"""What the studies compare over TCP; the kernel may have others."""
DEFAULT_CONTROL = "cubic"


class Role(Value):
    """A role and the implementation that takes it."""

    implementation: str
    """The name of a recipe; ``httpbed recipes`` lists them."""
    host: HostName | None = None
    """The host it runs on; by default the one with the role's name."""
    congestion_control: str | None = None
    """Of what it sends. Absent, it is cubic: for TCP always, for QUIC where the program offers it
    and else what the program has. ``fixed`` says that there is no choice, and is refused where
    there is one."""
    knobs: dict[KnobName, str] = Field(default_factory=dict)
    """Settings of the program that its recipe declares; what is not said has upstream's default."""

    def tcp_control(self) -> str:
        """Name the congestion control of its host's routes."""
        said = self.congestion_control
        return said if said in TCP_CONTROLS else DEFAULT_CONTROL


class ClientRole(Role):
    """The client: it also decides the HTTP version."""

    http_version: HttpVersion
    """The only version it may speak; a downgrade is a failed outcome."""
    retry: Retry = "none"
    """What is done when its download fails. ``restart``: it is fetched again from its first byte.
    ``resume``: only what is missing is asked for (RFC 9110 section 14.2). Where the program does
    it by itself it does; else httpbed starts it again, until it ends well or its time is over."""


class ProxyRole(Role):
    """A reverse proxy: it answers in the version in which it is asked."""

    http_version: HttpVersion = "1.1"
    """The only version that it speaks to the next one towards the server."""


class ServerRole(Role):
    """The server: it speaks every version of its recipe."""

    also_on: list[HostName] = Field(default_factory=list, max_length=16)
    """Further hosts with the same server; the last proxy balances over all of them."""


class Roles(Value):
    """Who takes part."""

    client: ClientRole
    """The one that fetches."""
    proxies: list[ProxyRole] = Field(default_factory=list, max_length=8)
    """Reverse proxies, in the order in which a request meets them."""
    server: ServerRole
    """The one that has the file."""

    @model_validator(mode="after")
    def _somebody_balances(self) -> Roles:
        if self.server.also_on and not self.proxies:
            msg = "server.also_on needs a proxy, which balances over the servers"
            raise ValueError(msg)
        return self

    def parts(self) -> Iterator[tuple[str, Role, str]]:
        """Yield name, role and host of each that takes part, client first, servers last."""
        yield "client", self.client, self.client.host or "client"
        for number, proxy in enumerate(self.proxies, start=1):
            alone = len(self.proxies) == 1
            name = "proxy" if alone else f"proxy-{number}"
            yield name, proxy, proxy.host or name.replace("-", "")
        servers = [self.server.host or "server", *self.server.also_on]
        for number, host in enumerate(servers, start=1):
            yield "server" if number == 1 else f"server-{number}", self.server, host

    def hosts(self) -> dict[str, str]:
        """Map each part's name to its host."""
        return {name: host for name, _, host in self.parts()}


class Hop(Value):
    """One client and server next to each other on a request's path, and their HTTP version."""

    client: str
    """Name of the part that sends the requests: the client, or a proxy as a client."""
    server: str
    """Name of the part that answers them: a proxy, or the server. It sends the bodies."""
    http_version: HttpVersion

    @property
    def transport(self) -> Literal["tcp", "quic"]:
        """What carries it."""
        return "quic" if self.http_version == "3" else "tcp"


def hops(roles: Roles, prefix: str = "") -> list[Hop]:
    """List the hops from the client to the servers; the last proxy has one to each of them."""
    names = [f"{prefix}{name}" for name, _, _ in roles.parts()]
    chain, servers = names[: 1 + len(roles.proxies)], names[1 + len(roles.proxies) :]
    versions: list[HttpVersion] = [
        roles.client.http_version,
        *(proxy.http_version for proxy in roles.proxies),
    ]
    between = [
        Hop(client=client, server=server, http_version=version)
        for client, server, version in zip(chain, chain[1:], versions, strict=False)
    ]
    last = [Hop(client=chain[-1], server=server, http_version=versions[-1]) for server in servers]
    return [*between, *last]
