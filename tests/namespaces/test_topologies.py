"""Real networks of several links: every link does what it says, and only it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from httpbed.bed.machine import backend as backends
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import network_plan
from httpbed.trial.checks import link as link_checks
from networks import made, topology

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

Version = Literal["4", "6"]
ODDITIES = ("oversize_frames", "stray_frames", "malformed_packets", "unstamped_frames")
LATE_S = 0.05
"""An echo on a machine that is busy with other tests; its smallest of three is judged."""

NEAR: dict[str, Any] = {"between": ["client", "router"], "delay": "10 ms", "rate": "20 Mbit/s"}
FAR: dict[str, Any] = {"between": ["router", "server"], "delay": "20 ms", "rate": "20 Mbit/s"}


@pytest.fixture(params=["af_packet", "tun"])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "tun" and (fault := backends.tun_fault(backends.TUN)):
        pytest.skip(fault[0])
    return backends.choose(request.param)


@pytest.mark.alone
@pytest.mark.parametrize("version", ["4", "6"])
def test_delays_on_a_route_add_up(tmp_path: Path, version: Version, backend: Backend) -> None:
    """Through a router, over both versions of IP, and no other frame crosses the links."""
    line = topology([NEAR, FAR], version)
    planned = network_plan.plan(line, {}, 1, 1, forwarding={"router"}, backend=backend)

    async def run() -> dict[str, Any]:
        async with made(planned, tmp_path) as net:
            await net.emulator.start_counting()
            for one, other in (("client", "server"), ("router", "client"), ("server", "client")):
                least, most = network_plan.idle_round_trip_s(planned, one, other)
                found = await net.ping(one, other)
                assert found  # a busy machine may answer too late
                assert least - 0.0002 <= min(found) <= most + LATE_S
            await asyncio.sleep(1.2)  # the kernel reports to groups within a second (RFC 3810)
            return await net.result()

    result = asyncio.run(run())
    assert [way["packets"]["in"] for way in result["directions"]] == [9, 9, 6, 6]
    assert [result[name] for name in ODDITIES] == [0, 0, 0, 0]


def test_a_host_with_a_role_forwards_nothing(tmp_path: Path) -> None:
    """Its neighbours reach it, and get an error at once when they address each other."""
    line = topology([NEAR, FAR])
    planned = network_plan.plan(line, {}, 1, 1)

    async def run() -> None:
        async with made(planned, tmp_path) as net:
            assert await net.ping("client", "router")
            assert await net.ping("server", "router")
            with pytest.raises(ValueError, match="no way"):
                planned.address("server", towards="client")
            said = await net.said("client", "ping", "-c", "1", planned.ends[1][1].address)
            assert "Network is unreachable" in said

    asyncio.run(run())


BOTTLENECK = 10_000_000


def dumbbell() -> list[dict[str, Any]]:
    """Describe two pairs of hosts whose routes share one link."""
    access = [["client", "left"], ["other", "left"], ["right", "server"], ["right", "rival"]]
    shared = {"between": ["left", "right"], "rate": f"{BOTTLENECK} bit/s", "delay": "5 ms"}
    return [shared, *({"between": pair, "delay": "1 ms"} for pair in access)]


@pytest.mark.parametrize("version", ["4", "6"])
def test_two_flows_share_a_bottleneck(tmp_path: Path, version: Version) -> None:
    """Together they do not exceed the link's rate, and each link accounts for every packet."""
    bell = topology(dumbbell(), version)
    planned = network_plan.plan(bell, {}, 1, 1, forwarding={"left", "right"})
    seconds = 1.0

    async def run() -> tuple[tuple[int, int], dict[str, Any]]:
        async with made(planned, tmp_path) as net:
            for server in ("server", "rival"):
                await net.serve(server)
            await net.emulator.start_counting()
            flows = (net.fetch("client", "server", seconds), net.fetch("other", "rival", seconds))
            return await asyncio.gather(*flows), await net.result()

    got, result = asyncio.run(run())
    assert all(got)
    whole = result["directions"]
    assert all(_conserved(way["packets"]) for way in whole)
    down = whole[1]
    assert (down["from"], down["to"]) == ("right", "left")
    lasted_s = (down["last_ns"] - down["first_ns"]) / 1e9
    assert sum(got) * 8 <= down["bytes"]["delivered"] * 8 <= BOTTLENECK * lasted_s + 12_000
    crossing = [one["link"] for one in result["connections"]]
    assert sorted(crossing) == sorted(
        ["left-right"] * 2 + ["client-left", "other-left", "right-server", "right-rival"]
    )
    assert _seen_at(result, "right-server") == _seen_at(result, "client-left")
    assert result["socket_drops"] == 0
    assert [result[name] for name in ODDITIES] == [0, 0, 0, 0]


def _conserved(packets: dict[str, int]) -> bool:
    dropped = sum(packets[f"{why}_dropped"] for why in ("queue", "aqm", "down", "nat"))
    gone = packets["lost"] + dropped + packets["in_flight"]
    return packets["in"] + packets["duplicated"] == packets["delivered"] + gone


def _seen_at(result: dict[str, Any], link: str) -> tuple[str, str]:
    (one,) = (one for one in result["connections"] if one["link"] == link)
    return one["client"], one["server"]


@pytest.mark.parametrize("lossy", [0, 1])
def test_loss_on_a_link_is_that_links(tmp_path: Path, lossy: int) -> None:
    """The draws are computed again for both links, and match the losses of the lossy one."""
    links = [NEAR, FAR]
    links[lossy] = {**links[lossy], "loss": "5 %", "duplication": "2 %", "corruption": "1 %"}
    planned = network_plan.plan(topology(links), {}, 1, 1, forwarding={"router"})

    async def run() -> dict[str, Any]:
        async with made(planned, tmp_path) as net:
            await net.serve("server")
            await net.emulator.start_counting()
            assert await net.fetch("client", "server", 1.0)
            return await net.result()

    result = asyncio.run(run())
    checks = list(link_checks.checks(planned.emulator_config, result, 1.0))
    assert [check.name for check in checks if check.passed is False] == []
    lost = [way["packets"]["lost"] for way in result["directions"]]
    assert [bool(count) for count in lost] == [lossy == 0] * 2 + [lossy == 1] * 2
    names = [check.name for check in checks]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("version", ["4", "6"])
def test_every_route_has_its_senders_congestion_control(tmp_path: Path, version: Version) -> None:
    """A route over a router has it too, and a socket of the sender uses it."""
    line = topology([NEAR, FAR], version)
    planned = network_plan.plan(line, {"server": "reno"}, 1, 1, forwarding={"router"})

    async def run() -> str:
        async with made(planned, tmp_path) as net:
            await net.serve("server")
            await net.emulator.start_counting()
            fetching = asyncio.create_task(net.fetch("client", "server", 3.0))
            assert (await net.emulator.wait_for("connection"))["link"] == "router-server"
            said = await net.said("server", "ss", "--tcp", "--info", "--no-header", "--numeric")
            await fetching
            return said

    assert " reno " in asyncio.run(run())
