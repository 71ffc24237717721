"""The kernel's own link: the commands that make it, and what is refused because it cannot do it."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.bed.network import kernel, network_plan
from httpbed.experiment.topology import Link, Topology

STAB = "stab overhead -14 linklayer ethernet "
OF_IP, OF_WIRE = STAB, STAB.replace("-14", "24")


def link(said: dict[str, Any]) -> Link:
    """Read a link between client and server."""
    return Link.model_validate({"between": ["client", "server"], **said})


def planned(said: dict[str, Any]) -> network_plan.NetworkPlan:
    """Plan a link that the kernel carries."""
    both = {"between": ["client", "server"], **said}
    topology = Topology.model_validate({"hosts": ["client", "server"], "links": [both]})
    assert not list(kernel.unable(topology.links[0]))
    return network_plan.plan(topology, {}, 1, 1, backend="tbf")


def lines(said: dict[str, Any]) -> list[str]:
    """Return the lines for tc towards the server, without their common beginning."""
    (shaped,) = planned(said).shaped
    start = "qdisc add dev l0b "
    return [line.removeprefix(start) for line in shaped if line.startswith(start)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"rate": "10 Mbit/s", "queue": {"limit": "64 KiB"}},
            [f"{OF_IP}root handle 1: tbf rate 10000000bit burst 1625 limit 65536"],
        ),
        (
            {"rate": "10 Mbit/s"},
            [
                f"{OF_IP}root handle 1: tbf rate 10000000bit burst 1625 limit 1500000",
                "parent 1: handle 10: pfifo limit 1000",
            ],
        ),
        (
            {"rate": "8 Mbit/s", "counted": "ethernet", "queue": {"limit": "10 ms"}},
            ["root handle 1: tbf rate 8000000bit burst 1614 limit 11514"],
        ),
        (
            {"rate": {"bucket": "0.5 Mbit/s", "burst": "32 KiB"}, "queue": {"limit": "70 ms"}},
            [f"{OF_IP}root handle 1: tbf rate 500000bit burst 32768 limit 5875"],
        ),
        (
            {"rate": "10 Gbit/s", "counted": "wire", "queue": {"limit": "1 MB"}},
            [f"{OF_WIRE}root handle 1: tbf rate 10000000000bit burst 126538 limit 1000000"],
        ),
    ],
)
def test_tbf_gets_rate_bucket_and_limit(said: dict[str, Any], expected: list[str]) -> None:
    """Exactly as counted; what a late timer would forget is in the bucket."""
    assert lines(said) == expected


def test_each_direction_is_shaped_where_it_leaves_the_bridge() -> None:
    """On a hop of its own: towards the server at the server's port."""
    (shaped,) = planned({"rate": "10 Mbit/s", "up": {"rate": "1 Mbit/s"}}).shaped
    rates = {line.split()[3]: line for line in shaped if " tbf " in line}
    assert "rate 1000000bit" in rates["l0b"]
    assert "rate 10000000bit" in rates["l0a"]


def test_a_silent_bridge_joins_the_ports_and_the_emulator_observes() -> None:
    """The emulator's configuration has no impairment."""
    made = planned({"rate": "10 Mbit/s"})
    assert made.processes.wiring
    assert (made.processes.wiring.input or "").splitlines()[-4:] == [
        "link add name l0 type bridge stp_state 0 mcast_snooping 0",
        "link set dev l0a master l0",
        "link set dev l0b master l0",
        "link set dev l0 up",
    ]
    (link_,) = made.emulator_config["links"]
    assert (made.emulator_config["backend"], link_["directions"]) == ("observer", [{}, {}])
    assert made.processes.hosts[-1].argv == ("tc", "-batch", "-")
    assert made.processes.counters
    offloads = [spec for spec in made.processes.hosts if spec.argv[0] == "ethtool"]
    assert [spec.argv[-4:] for spec in offloads] == [("tx", "off", "gro", "off")] * 2


RATE = {"rate": "10 Mbit/s"}


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ({}, {"rate"}),
        (RATE | {"delay": "1 ms"}, {"delay"}),
        (
            RATE
            | {"loss": "1 %", "jitter": "1 ms", "duplication": "1 %", "corruption": "1 %"}
            | {"reordering": {"share": "1 %", "hold": "1 ms"}},
            {"loss", "jitter", "duplication", "corruption", "reordering"},
        ),
        (RATE | {"queue": {"discipline": "codel"}}, {"queue"}),
        (RATE | {"queue": {"limit": "5 GB"}}, {"queue"}),
        ({"rate": "11 Gbit/s"}, {"rate"}),
        ({"rate": {"steps": [["0 s", "1 Mbit/s"]]}}, {"rate"}),
        (RATE | {"schedule": [{"at": "1 s", "state": "down"}]}, {"schedule"}),
        (
            RATE | {"events": [{"name": "n", "when": {"handshake": True}, "state": "down"}]},
            {"events"},
        ),
        (RATE | {"events": [{"name": "n", "when": {"handshake": True}}]}, set()),
    ],
)
def test_what_it_cannot_do_is_refused(said: dict[str, Any], keys: set[str]) -> None:
    """All of it at once, each with the way out."""
    found = list(kernel.unable(link(said)))
    assert {str(one.key[0]) for one in found} == keys
    assert all(one.reason and one.remedy for one in found)
