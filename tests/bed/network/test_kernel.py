"""The kernel's own link: the commands that make it, and what is refused because it cannot do it."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.bed.network import kernel, network_plan
from httpbed.bed.network.kernel import Kind
from httpbed.experiment.topology import Link, Topology

STAB = "stab overhead -14 linklayer ethernet "
OF_IP, OF_WIRE = STAB, STAB.replace("-14", "24")


def link(said: dict[str, Any]) -> Link:
    """Read a link between client and server."""
    return Link.model_validate({"between": ["client", "server"], **said})


def planned(kind: Kind, said: dict[str, Any], *, seeded: bool = False) -> network_plan.NetworkPlan:
    """Plan a link that the kernel carries."""
    both = {"between": ["client", "server"], **said}
    topology = Topology.model_validate({"hosts": ["client", "server"], "links": [both]})
    assert not list(kernel.unable(kind, topology.links[0]))
    return network_plan.plan(topology, {}, 1, 1, backend=kind, netem_seeded=seeded)


def lines(kind: Kind, said: dict[str, Any], *, seeded: bool = False) -> list[str]:
    """Return what tc is told of the way to the server, without what is always the same."""
    (shaped,) = planned(kind, said, seeded=seeded).shaped
    start = "qdisc add dev l0b "
    return [line.removeprefix(start) for line in shaped.lines if line.startswith(start)]


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
    assert lines("tbf", said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, "limit 1000000"),
        ({"delay": "25 ms"}, "limit 1000000 delay 25000000ns"),
        (
            {"rate": "12 Mbit/s", "delay": "25 ms"},
            "limit 1025 delay 25000000ns rate 12000000bit -14",
        ),
        (
            {"rate": "12 Mbit/s", "counted": "wire", "queue": {"limit": "50 packets"}},
            "limit 50 rate 12000000bit 24",
        ),
        (
            {"rate": "12 Mbit/s", "delay": "25 ms", "queue": {"limit": "1 BDP"}},
            "limit 75 delay 25000000ns rate 12000000bit -14",
        ),
        (
            {"rate": "12 Mbit/s", "delay": "25 ms", "jitter": "5 ms"},
            "limit 1045 delay 25000000ns 5000000ns rate 12000000bit -14",
        ),
        (
            {"rate": "1 Mbit/s", "jitter": {"distribution": "normal", "spread": "2 ms"}},
            "limit 1001 delay 0ns 2000000ns distribution normal rate 1000000bit -14",
        ),
        ({"loss": "1.5 %"}, "limit 1000000 loss random 1.5%"),
        (
            {"loss": {"to_bad": "1 %", "to_good": "30 %", "bad": "90 %", "good": "0.1 %"}},
            "limit 1000000 loss gemodel 1% 30% 90% 0.1%",
        ),
        (
            {"duplication": "0.1 %", "corruption": "0.01 %"},
            "limit 1000000 duplicate 0.1% corrupt 0.01%",
        ),
        (
            {"reordering": {"share": "1 %", "hold": "10 ms"}},
            "limit 1000000 delay 10000000ns reorder 99% gap 1",
        ),
    ],
)
def test_netem_gets_all_impairments_in_one_command(said: dict[str, Any], expected: str) -> None:
    """Its limit has room for the queue and for what the delay keeps under way."""
    assert lines("netem", said) == [f"root handle 1: netem {expected}"]


def test_netem_is_seeded_where_it_can_be() -> None:
    """By a stream of each direction's own, which the plan records."""
    (shaped,) = planned("netem", {"loss": "1 %"}, seeded=True).shaped
    assert shaped.seeds
    assert [line.rpartition(" seed ")[2] for line in shaped.lines] == [*map(str, shaped.seeds)]
    assert len(set(shaped.seeds)) == 2
    (unseeded,) = planned("netem", {"loss": "1 %"}).shaped
    assert unseeded == kernel.LinkDisciplines(
        "netem", None, tuple(line.rpartition(" seed ")[0] for line in shaped.lines)
    )


def test_each_direction_is_shaped_where_it_leaves_the_bridge() -> None:
    """On a hop of its own: towards the server at the server's port."""
    (shaped,) = planned("tbf", {"rate": "10 Mbit/s", "up": {"rate": "1 Mbit/s"}}).shaped
    rates = {line.split()[3]: line for line in shaped.lines if " tbf " in line}
    assert "rate 1000000bit" in rates["l0b"]
    assert "rate 10000000bit" in rates["l0a"]


def test_a_silent_bridge_joins_the_ports_and_the_emulator_observes() -> None:
    """The emulator's configuration has no impairment."""
    made = planned("tbf", {"rate": "10 Mbit/s"})
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
    ("kind", "said", "keys"),
    [
        ("tbf", {}, {"rate"}),
        ("tbf", RATE | {"delay": "1 ms"}, {"delay"}),
        (
            "tbf",
            RATE
            | {"loss": "1 %", "jitter": "1 ms", "duplication": "1 %", "corruption": "1 %"}
            | {"reordering": {"share": "1 %", "hold": "1 ms"}},
            {"loss", "jitter", "duplication", "corruption", "reordering"},
        ),
        ("tbf", RATE | {"queue": {"discipline": "codel"}}, {"queue"}),
        ("tbf", RATE | {"queue": {"limit": "5 GB"}}, {"queue"}),
        ("tbf", {"rate": "11 Gbit/s"}, {"rate"}),
        ("tbf", {"rate": {"steps": [["0 s", "1 Mbit/s"]]}}, {"rate"}),
        ("tbf", RATE | {"schedule": [{"at": "1 s", "state": "down"}]}, {"schedule"}),
        (
            "tbf",
            RATE | {"events": [{"name": "n", "when": {"handshake": True}, "state": "down"}]},
            {"events"},
        ),
        ("tbf", RATE | {"events": [{"name": "n", "when": {"handshake": True}}]}, set()),
        ("netem", {"rate": {"bucket": "1 Mbit/s", "burst": "32 KiB"}}, {"rate"}),
        ("netem", {"rate": {"trace": "t"}}, {"rate"}),
        ("netem", RATE | {"queue": {"limit": "64 KiB"}}, {"queue"}),
        ("netem", RATE | {"queue": {"discipline": "pie"}}, {"queue"}),
        ("netem", {"queue": {"limit": "64 KiB"}}, set()),
        ("netem", {"jitter": "1 ms"}, {"jitter"}),
        ("netem", RATE | {"jitter": {"samples": ["1 ms"]}}, {"jitter"}),
        ("netem", RATE | {"jitter": {"distribution": "pareto", "spread": "1 ms"}}, {"jitter"}),
        ("netem", {"loss": {"packets": [3]}}, {"loss"}),
        (
            "netem",
            {"delay": "1 ms", "reordering": {"share": "1 %", "hold": "1 ms"}},
            {"reordering"},
        ),
    ],
)
def test_what_it_cannot_do_is_refused(kind: Kind, said: dict[str, Any], keys: set[str]) -> None:
    """All of it at once, each with the way out."""
    found = list(kernel.unable(kind, link(said)))
    assert {str(one.key[0]) for one in found} == keys
    assert all(one.reason and one.remedy for one in found)
