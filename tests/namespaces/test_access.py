"""A client with two links to the network, by the real kernel: which link carries what, and when."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from families import until
from host_sockets import opened
from httpbed.bed.machine import backend as backends
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import network_plan
from httpbed.bed.network.emulator import order
from httpbed.bed.network.network_commands import Access
from httpbed.bed.sandbox.dialogue import run_tool
from httpbed.experiment.topology import Action
from networks import Running, made, topology

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

Version = Literal["4", "6"]
VERSIONS = pytest.mark.parametrize("version", ["4", "6"])
ECHO = 7
"""RFC 862."""
LATE_S = 0.015
"""An echo on a machine that is busy with other tests; less than what the links differ by."""
ODDITIES = ("oversize_frames", "stray_frames", "malformed_packets", "unstamped_frames")
WIFI, CELLULAR = 0, 1
LINKS: list[dict[str, Any]] = [
    {"name": "wifi", "between": ["client", "router"], "delay": "1 ms"},
    {"name": "cellular", "between": ["client", "router"], "delay": "20 ms"},
    {"between": ["router", "server"], "delay": "1 ms"},
]


class Moving:
    """A network whose client goes from one link to the other."""

    def __init__(self, net: Running) -> None:
        self.net = net
        self.wifi, self.cellular = net.planned.access
        self.server = net.planned.address("server", towards="client")

    async def do(self, *steps: Any) -> None:
        """Run commands one after the other; each must succeed."""
        for step in steps:
            await run_tool(self.net.supervisor, step)

    async def echoes(self, *words: str) -> list[float]:
        """Ping the server three times; return the times of the answers that ping waited for, in s.

        Once an echo has come, ping waits only two round trips for the others, whatever -W says. So
        the emulator's counters, not the number of times, tell how many came back.
        """
        said = await self.net.said(
            "client", "ping", "-n", "-c", "3", "-i", "0.01", "-W", "2", *words, self.server
        )
        return [float(ms) / 1e3 for ms in re.findall(r"time=([0-9.]+) ms", said)]

    @contextmanager
    def socket(self, kind: socket.SocketKind, of: Access | None = None) -> Iterator[socket.socket]:
        """Open a socket on the client, bound to a link's address or not."""
        with opened(self.net, "client", kind) as made_there:
            if of:
                made_there.bind((of.end.address, 0))
            yield made_there

    def source(self) -> str:
        """Return the address that the kernel chooses for a UDP socket that has bound none."""
        with self.socket(socket.SOCK_DGRAM) as unbound:
            unbound.connect((self.server, ECHO))
            return str(unbound.getsockname()[0])

    async def routes(self) -> list[str]:
        """Return every route to another host, of all tables."""
        family = f"-{self.net.planned.topology.ip_version}"
        said = await self.net.said("client", "ip", family, "route", "show", "table", "all")
        kernels = ("local ", "broadcast ", "multicast ", "unreachable ")
        return [line for line in said.splitlines() if not line.startswith(kernels)]

    async def listed(self, one: Access) -> str:
        """Return which TCP sockets a link's address has."""
        return await self.net.said("client", *one.sockets.argv)


def run(
    folder: Path,
    version: Version,
    what: Callable[[Moving], Awaitable[None]],
    backend: Backend = "af_packet",
    links: Sequence[Mapping[str, Any]] = LINKS,
) -> dict[str, Any]:
    """Do something with such a network; return the emulator's result."""

    @asynccontextmanager
    async def moving() -> AsyncIterator[Moving]:
        planned = network_plan.plan(
            topology(links, version),
            {"client": "reno"},
            1,
            1,
            forwarding={"router", "other"},
            backend=backend,
            access=(WIFI, CELLULAR),
        )
        async with made(planned, folder) as net:
            await net.serve("server")
            await net.emulator.start_counting()
            yield Moving(net)

    async def done() -> dict[str, Any]:
        async with moving() as bed:
            await what(bed)
            return await bed.net.result()

    result = asyncio.run(done())
    assert [result[name] for name in ODDITIES] == [0, 0, 0, 0]
    return result


def carried(result: dict[str, Any]) -> list[int]:
    """Return packets up and down, on the first link and on the second."""
    return [way["packets"]["in"] for way in result["directions"][:4]]


@VERSIONS
@pytest.mark.parametrize("backend", ["af_packet", "tun"])
def test_what_an_address_sends_leaves_by_its_link(
    tmp_path: Path, version: Version, backend: Backend
) -> None:
    """Packets leave by the link of their source address, whichever link is preferred."""
    if backend == "tun" and (fault := backends.tun_fault(backends.TUN)):
        pytest.skip(fault[0])

    async def bound(bed: Moving) -> None:
        for access in (bed.wifi, bed.cellular):
            least, _ = network_plan.idle_round_trip_s(
                bed.net.planned, "client", "server", access.link
            )
            found = await bed.echoes("-I", access.end.address)
            assert found
            assert least - 0.0002 <= min(found) <= least + LATE_S

    async def both_ways_round(bed: Moving) -> None:
        await bound(bed)
        await bed.do(bed.cellular.prefer)
        await bound(bed)

    result = run(tmp_path, version, both_ways_round, backends.choose(backend))
    assert carried(result) == [6, 6, 6, 6]


@VERSIONS
def test_the_second_link_may_come_from_another_side(tmp_path: Path, version: Version) -> None:
    """The second link leads to the server by another router; the server keeps its first address."""
    links = [
        *LINKS[:1],
        {**LINKS[1], "between": ["other", "client"]},
        LINKS[2],
        {"between": ["other", "server"]},
    ]

    async def around(bed: Moving) -> None:
        assert await bed.echoes("-I", bed.cellular.end.address)
        await bed.do(bed.cellular.prefer)
        assert bed.source() == bed.cellular.end.address
        with bed.socket(socket.SOCK_STREAM) as stream:
            stream.connect((bed.server, ECHO))
            said(stream)

    result = run(tmp_path, version, around, links=links)
    assert carried(result)[:2] == [0, 0]
    crossed = {one["link"] for one in result["connections"]}
    assert crossed == {"cellular", "other-server"}


@VERSIONS
def test_the_first_is_used_until_another_is_preferred(tmp_path: Path, version: Version) -> None:
    """Unbound sockets follow the preferred link; bound sockets keep theirs."""

    async def preferred(bed: Moving) -> None:
        assert bed.source() == bed.wifi.end.address
        with bed.socket(socket.SOCK_STREAM) as earlier:
            earlier.connect((bed.server, ECHO))
            await bed.do(bed.cellular.prefer, bed.cellular.prefer)
            assert bed.source() == bed.cellular.end.address
            said(earlier)
        await bed.do(bed.wifi.prefer)
        assert bed.source() == bed.wifi.end.address

    result = run(tmp_path, version, preferred)
    assert carried(result)[2:] == [0, 0]


def said(stream: socket.socket) -> None:
    """Have something come back over a connection."""
    stream.sendall(b"hello")
    assert stream.recv(5, socket.MSG_WAITALL) == b"hello"


@VERSIONS
def test_an_address_goes_and_comes_again(tmp_path: Path, version: Version) -> None:
    """Its routes go and return with it; repeating a step changes nothing and is no error."""

    async def gone(bed: Moving) -> None:
        before = await bed.routes()
        await bed.do(bed.wifi.attach)
        assert await bed.routes() == before
        with bed.socket(socket.SOCK_DGRAM, bed.wifi) as bound:
            bound.sendto(b"1", (bed.server, ECHO))
            assert bound.recv(1) == b"1"
            await bed.do(bed.wifi.detach, bed.wifi.detach)
            with pytest.raises(OSError, match="Network is unreachable"):
                bound.sendto(b"2", (bed.server, ECHO))
        assert bed.source() == bed.cellular.end.address
        left = await bed.routes()
        assert left
        assert not any(bed.wifi.end.interface in line.split() for line in left)
        assert await bed.echoes()
        await bed.do(bed.wifi.attach)
        assert sorted(await bed.routes()) == sorted(before)
        assert bed.source() == bed.wifi.end.address

    result = run(tmp_path, version, gone)
    assert carried(result) == [1, 1, 3, 3]


@VERSIONS
def test_without_an_address_all_is_unreachable_at_once(tmp_path: Path, version: Version) -> None:
    """While no link is attached, connecting fails at once; then the second link alone serves."""

    async def nowhere(bed: Moving) -> None:
        await bed.do(bed.wifi.detach, bed.cellular.detach)
        assert await bed.routes() == []
        with pytest.raises(OSError, match="Network is unreachable"):
            bed.source()
        await bed.do(bed.cellular.attach)
        assert bed.source() == bed.cellular.end.address
        assert await bed.echoes()

    result = run(tmp_path, version, nowhere)
    assert carried(result) == [0, 0, 3, 3]


@VERSIONS
def test_every_route_of_every_table_has_the_senders_congestion_control(
    tmp_path: Path, version: Version
) -> None:
    """Routes that are added later have it too, and a connection over the second link uses it."""

    async def controlled(bed: Moving) -> None:
        await bed.do(bed.wifi.detach, bed.wifi.attach, bed.cellular.prefer)
        routes = await bed.routes()
        assert len(routes) == 2 * 3 * 2 + 3
        assert all(" congctl reno" in line for line in routes)
        for access in (bed.wifi, bed.cellular):
            with bed.socket(socket.SOCK_STREAM, access) as stream:
                stream.connect((bed.server, ECHO))
                option = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                assert option.rstrip(b"\0") == b"reno"

    run(tmp_path, version, controlled)


@VERSIONS
def test_the_sockets_of_an_address_are_destroyed(tmp_path: Path, version: Version) -> None:
    """Connected and connecting TCP sockets end; UDP sockets and other addresses keep theirs."""

    async def destroyed(bed: Moving) -> None:
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        with (
            bed.socket(stream, bed.wifi) as connected,
            bed.socket(stream, bed.wifi) as trying,
            bed.socket(stream, bed.cellular) as other,
            bed.socket(datagram, bed.wifi) as udp,
        ):
            for one in (connected, other):
                one.connect((bed.server, ECHO))
                said(one)
            await bed.net.emulator.change(order(Action(state="down")), "wifi")
            trying.setblocking(False)
            assert trying.connect_ex((bed.server, ECHO)) == errno.EINPROGRESS
            states = [line.split()[0] for line in (await bed.listed(bed.wifi)).splitlines()]
            assert sorted(states) == ["ESTAB", "SYN-SENT"]
            await bed.do(bed.wifi.detach, bed.wifi.destroy)
            assert await bed.listed(bed.wifi) == ""
            assert trying.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNABORTED
            with pytest.raises(ConnectionAbortedError):
                connected.recv(1)
            said(other)
            assert udp.getsockname()[0] == bed.wifi.end.address

    run(tmp_path, version, destroyed)


@VERSIONS
def test_the_kernel_reports_every_change(tmp_path: Path, version: Version) -> None:
    """The kernel reports each change at once, with a timestamp in microseconds."""

    async def told(bed: Moving) -> None:
        spec = bed.net.planned.monitor
        assert spec
        assert spec.stdout
        file, own = bed.net.folder / spec.stdout, bed.wifi.end.address
        await bed.net.supervisor.start(spec)
        while own not in file.read_text():  # it does not say when it listens
            await bed.do(bed.wifi.attach)
        await bed.do(bed.wifi.detach)
        until(lambda: f"Deleted local {own} " in file.read_text())
        text = file.read_text()
        stamps = re.findall(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\]", text, re.MULTILINE)
        assert len(stamps) >= 2 * 3 + 1
        assert len(re.findall(r"Deleted (?!local|broadcast).* src ", text)) == 2 * 3

    run(tmp_path, version, told)
