"""Client, proxies and server (RFC 9110), the implementation of each, and the client's hand-over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import ConfigDict, Field, model_validator

from httpbed.base import spellings
from httpbed.base.addon import Seam
from httpbed.base.errors import RejectedValueError
from httpbed.base.units import Bytes, Count
from httpbed.base.value import Value
from httpbed.experiment.topology import HostName, Topology
from httpbed.experiment.workload import Workload

HttpVersion = Literal["1.1", "2", "3"]
"""RFC 9112, RFC 9113, RFC 9114."""
Transport = Literal["tcp", "quic"]
Retry = Literal["none", "restart", "resume"]
"""The client's reaction to a failed download."""
KnobName = Annotated[str, Field(pattern=spellings.KNOB)]
BUILD, BUILDS = "build", ("old", "new")
"""The factor of a program's two builds in one campaign, and its levels."""
FIXED = "fixed"
"""The congestion control of a program that offers no choice."""
TCP_CONTROLS = ("reno", "cubic", "bbr", "bic", "htcp", "vegas", "westwood")
"""What an experiment may choose over TCP: the algorithms of the guests' kernel. A machine's own
kernel may lack some, which is checked before the first trial."""
DEFAULT_CONTROL = "cubic"
TCP_BUFFERS = ("tcp_receive_buffer", "tcp_send_buffer")
OF_TCP = (*TCP_BUFFERS, "tcp_initial_window")
"""Keys of a role that no QUIC socket heeds."""
MIN_BUFFER_BYTES, MAX_BUFFER_BYTES = 4096, 2**30
MAX_INITIAL_WINDOW = 1000


def transport_below(http_version: str | None) -> Transport:
    """Return the transport protocol below an HTTP version; TCP if the version is not known yet."""
    return "quic" if http_version == "3" else "tcp"


class TcpBuffers(NamedTuple):
    """The buffers of a TCP socket, in bytes of kernel memory; None is the kernel's choice."""

    receive: int | None = None
    send: int | None = None


class Role(Value):
    """A role and its implementation."""

    implementation: str
    """The name of a recipe; ``httpbed toolbox`` lists them."""
    host: HostName | None = None
    """The host that it runs on. Default: the host with the role's name."""
    congestion_control: str | None = None
    """Congestion control of the data that it sends. Default: cubic over TCP; over QUIC cubic if the
    program offers it, else the program's own. ``fixed`` states that the program offers no choice;
    it is rejected if the program does."""
    tcp_receive_buffer: Bytes | None = Field(default=None, ge=MIN_BUFFER_BYTES, le=MAX_BUFFER_BYTES)
    """Receive buffer of each TCP socket on its host, in bytes of kernel memory. The window that the
    kernel advertises is at most about half of it. Default: the kernel's, which adapts it."""
    tcp_send_buffer: Bytes | None = Field(default=None, ge=MIN_BUFFER_BYTES, le=MAX_BUFFER_BYTES)
    """Send buffer of each TCP socket on its host, in bytes of kernel memory. Default: the kernel's,
    which adapts it."""
    tcp_initial_window: Count | None = Field(default=None, ge=1, le=MAX_INITIAL_WINDOW)
    """Packets that each TCP connection of its host may send before the first acknowledgement (RFC
    6928). Default: the kernel's, 10."""
    knobs: dict[KnobName, str] = Field(default_factory=dict)
    """Settings that the program's recipe declares. Default: the program's own."""

    def tcp_control(self) -> str:
        """Return the congestion control of its host's TCP routes."""
        control = self.congestion_control
        return control if control in TCP_CONTROLS else DEFAULT_CONTROL

    def tcp_buffers(self) -> TcpBuffers:
        """Return the buffers that are stated for the TCP sockets of its host."""
        return TcpBuffers(self.tcp_receive_buffer, self.tcp_send_buffer)

    @property
    def states_tcp(self) -> bool:
        """Whether anything but the congestion control is stated for the TCP sockets of its host."""
        return any(getattr(self, key) is not None for key in OF_TCP)


class ClientRole(Role):
    """The client. Its ``http_version`` is that of the first hop."""

    http_version: HttpVersion
    """The only HTTP version that the client may use; a downgrade is a failed outcome."""
    retry: Retry = "none"
    """Reaction to a failed download. ``none``: none. ``restart``: fetch the file again from its
    first byte. ``resume``: request only the missing bytes (RFC 9110 section 14.2). If the program
    cannot retry by itself, httpbed starts it again until it succeeds or the time limit is
    reached."""


class ProxyRole(Role):
    """A reverse proxy. It responds in the HTTP version of the request."""

    http_version: HttpVersion = "1.1"
    """The only HTTP version that it uses towards the server."""


class ServerRole(Role):
    """The server. It accepts every HTTP version of its recipe."""

    also_on: list[HostName] = Field(default_factory=list, max_length=16)
    """Further hosts that run the same server. The last proxy balances the load over all of them."""


class Hop(Value):
    """One client and server next to each other on a request's path, and their HTTP version."""

    client: str
    """Name of the part that sends the requests: the client, or a proxy as a client."""
    server: str
    """Name of the part that answers them: a proxy, or the server."""
    http_version: HttpVersion

    @property
    def transport(self) -> Transport:
        """The transport protocol below HTTP."""
        return transport_below(self.http_version)


class Roles(Value):
    """The client, the proxies and the server."""

    client: ClientRole
    """The client, which fetches the workload."""
    proxies: list[ProxyRole] = Field(default_factory=list, max_length=8)
    """Reverse proxies, in the order in which a request meets them."""
    server: ServerRole
    """The server, which has the content."""

    @model_validator(mode="after")
    def _balances_at_a_proxy(self) -> Roles:
        if self.server.also_on and not self.proxies:
            reason = "server.also_on needs a proxy that balances over the servers"
            raise RejectedValueError(reason, "add one to proxies")
        return self

    def parts(self) -> Iterator[tuple[str, Role, str]]:
        """Yield name, role and host of each part, client first, servers last."""
        yield "client", self.client, self.client.host or "client"
        for number, proxy in enumerate(self.proxies, start=1):
            is_only = len(self.proxies) == 1
            name = "proxy" if is_only else f"proxy-{number}"
            yield name, proxy, proxy.host or name.replace("-", "")
        servers = [self.server.host or "server", *self.server.also_on]
        for number, host in enumerate(servers, start=1):
            yield "server" if number == 1 else f"server-{number}", self.server, host

    def hosts(self) -> dict[str, str]:
        """Map each part's name to its host."""
        return {name: host for name, _, host in self.parts()}

    def hops(self, prefix: str = "") -> list[Hop]:
        """Return the hops from the client to the servers; the last proxy has one to each server."""
        names = [f"{prefix}{name}" for name, _, _ in self.parts()]
        chain, servers = names[: 1 + len(self.proxies)], names[1 + len(self.proxies) :]
        versions: list[HttpVersion] = [
            self.client.http_version,
            *(proxy.http_version for proxy in self.proxies),
        ]
        between = [
            Hop(client=client, server=server, http_version=version)
            for client, server, version in zip(chain, chain[1:], versions, strict=False)
        ]
        last, version = chain[-1], versions[-1]
        to_servers = [Hop(client=last, server=server, http_version=version) for server in servers]
        return [*between, *to_servers]


# Hand-overs, as far as the core knows them: the client leaves a link and continues on the next.
#
# An addon has the model of the table ``[handover]``, which networks, estimates and mistakes ask.
# Without it the core reads the client's links, so that campaigns stay readable, and runs nothing.


Notices = Callable[[ClientRole, Transport], float]
"""Returns the seconds after which a client recovers whose address is gone and whose sockets get no
error; infinity if it never does."""


class HandoverTable(Value):
    """The table ``[handover]``; each method does nothing unless a model overrides it."""

    model_config = ConfigDict(extra="allow")
    is_carried_out: ClassVar[bool] = False
    """Whether an addon has the model, and carries hand-overs out."""

    links: list[str] = Field(min_length=1, max_length=8)
    """Names of the client's links. The client begins on the first link, switches to the next, and
    after the last link returns to the first."""
    kind: str
    """How the client goes from one link to the next."""

    def durations_s(self) -> Mapping[tuple[str, ...], float]:
        """Return each duration in seconds, by the keys that lead to it."""
        return {}

    def mistakes(
        self, topology: Topology, hosts: Mapping[str, str], workload: Workload
    ) -> Iterator[str]:
        """Yield what does not fit into a scenario, whose parts are on these hosts."""
        del topology, hosts, workload
        yield from ()

    def added_s(
        self, transfer_s: float, body_bytes: int, client: ClientRole, notices: Notices
    ) -> float:
        """Return the seconds that it adds to a transfer of so many; infinity if it ends none."""
        del transfer_s, body_bytes, client, notices
        return 0.0


TRIGGER = "hand-over"
"""Name of the emulator's event that starts a hand-over after a number of bytes; reserved."""
HANDOVER_MODELS = Seam("model of hand-overs", type)
