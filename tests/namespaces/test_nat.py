"""A NAT on the way of real TCP connections, over both versions of IP: what its rebinding does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from httpbed.base.errors import BedError
from httpbed.bed.network import network_plan
from httpbed.trial.checks import link as link_checks
from networks import made, topology

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

NEAR: dict[str, Any] = {"between": ["client", "router"], "delay": "5 ms", "rate": "20 Mbit/s"}
FAR: dict[str, Any] = {"between": ["router", "server"], "delay": "5 ms", "loss": "1 %"}
REBIND = {"rebind": True}
NAT_PORTS = range(1024, 32768)
"""What a translator gives after a rebinding; no program of Linux is given one of these."""


@pytest.mark.parametrize("version", ["4", "6"])
def test_a_rebinding_ends_a_connection_and_the_next_one_has_a_new_port(
    tmp_path: Path, version: Literal["4", "6"]
) -> None:
    """The client's link shows the client's own ports; the next link shows the translated ones."""
    line = topology([{**NEAR, "loss": "2 %"}, FAR], version)
    planned = network_plan.plan(line, {}, 1, 1, forwarding={"router"}, nat=(0,))

    async def run() -> dict[str, Any]:
        async with made(planned, tmp_path) as net:
            await net.serve("server")
            await net.emulator.start_counting()
            cut = asyncio.create_task(net.fetch("client", "server", 20.0))
            assert (await net.emulator.wait_for("connection"))["link"] == "router-server"
            await net.emulator.send("change", link="client-router", change=REBIND)
            told = [await net.emulator.wait_for("changed") for _ in range(2)]
            assert [(one["direction"], one["change"]) for one in told] == [(0, REBIND), (1, REBIND)]
            with pytest.raises(BedError):
                await cut
            assert await net.fetch("client", "server", 0.3)
            assert await net.ping("client", "server", 10), "ICMP has no ports"
            await net.emulator.send("change", link="router-server", change=REBIND)
            assert (
                "the link has no NAT to rebind"
                in (await net.emulator.wait_for("refused"))["message"]
            )
            return await net.result()

    result = asyncio.run(run())
    own, seen = (_client_ports(result, link) for link in ("client-router", "router-server"))
    assert len(own) == 2
    assert not set(own) & set(NAT_PORTS)
    assert seen[0] == own[0]
    assert {port in NAT_PORTS for port in seen[1:]} == {True}
    assert len(seen) == len(set(seen)) == 3
    turned_away = [way["packets"]["nat_dropped"] for way in result["directions"]]
    assert turned_away[1] > 0
    assert [turned_away[0], *turned_away[2:]] == [0, 0, 0]
    checks = list(link_checks.checks(planned.emulator_config, result, 1.0))
    assert [check.name for check in checks if check.passed is False] == []


def _client_ports(result: dict[str, Any], link: str) -> list[int]:
    clients = [one["client"] for one in result["connections"] if one["link"] == link]
    return [int(client.rpartition(":")[2]) for client in clients]
