"""The plan around a command: numbers, addresses, routes, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.network.shell import options, plan


def planned(number: int = 0) -> plan.ShellPlan:
    """Plan a link without impairments."""
    return plan.plan(options.describe({}), 7, "cubic", number=number, capture=True, log=True)


def test_everything_of_the_command_goes_over_the_link() -> None:
    """Its default route is the far end."""
    assert planned().route.input == "route add default via 10.77.0.2 dev eth0\n"
    assert (planned().own, planned().peer) == ("10.77.0.1", "10.77.0.2")


def test_a_nested_link_has_a_network_of_its_own() -> None:
    """Number n is 10.77.n.0/24, on the wire and in the routes that lead to it."""
    inner = planned(5)
    assert (inner.own, inner.peer) == ("10.77.5.1", "10.77.5.2")
    assert "route replace 10.77.5.0/24 via 10.78.5.2" in (plan.join(5, 42).input or "")
    assert "netns 42" in (plan.join(5, 42).input or "")
    assert plan.lead_back(5, "10.77.0.1").host == options.FAR
    assert plan.joined(5).input is not None


def test_the_same_seed_gives_a_nested_link_the_same_luck() -> None:
    """The random streams depend on seed, link and direction, not on the network's number."""
    said = {"loss": "4%"}
    keys = [
        [
            way["loss"]["key"]
            for way in plan.plan(
                options.describe(said), 7, "cubic", number=number
            ).network.emulator_config["links"][0]["directions"]
        ]
        for number in (0, 3)
    ]
    assert keys[0] == keys[1]
    assert keys[0][0] != keys[0][1]


def test_files_are_written_where_the_sandbox_binds_them() -> None:
    """The emulator's paths are those of its own root."""
    config = planned().network.emulator_config
    assert config["pcapng"] == f"/trial/{plan.PCAP}"
    assert config["log"] == f"/trial/{plan.LOG}"


def test_pasta_opens_nothing_on_this_machine() -> None:
    """Neither a port here nor one there."""
    argv = plan.pasta("pasta", Path("/scratch")).argv
    for option in ("--tcp-ports", "--udp-ports", "--tcp-ns", "--udp-ns"):
        assert argv[argv.index(option) + 1] == "none"
    assert argv[-1] == "/scratch/run/netns/far"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("nameserver 192.0.2.53\n", None),
        ("nameserver 127.0.0.53\nnameserver 192.0.2.53\n", None),
        ("search example.org\n", None),
        ("", None),
        ("nameserver 127.0.0.53\noptions edns0\n", "nameserver 10.79.0.3\noptions edns0\n"),
        ("# local\nnameserver ::1\n", "nameserver 10.79.0.3\n# local\n"),
        ("nameserver 2001:db8::1\n", "nameserver 10.79.0.3\n"),
        ("nameserver\nnameserver 127.0.0.1", "nameserver 10.79.0.3\nnameserver\n"),
    ],
)
def test_a_resolver_on_this_machine_is_found_from_behind_the_link(
    text: str, seen: str | None
) -> None:
    """One elsewhere is left as it is."""
    assert plan.resolv_conf(text) == seen


def test_the_outermost_link_is_the_peer() -> None:
    """What goes there meets all links."""
    inner, socket = planned(1), Path("/s")
    assert plan.environment(inner, socket, {})["HTTPBED_PEER"] == "10.77.1.2"
    outer = {"HTTPBED_PEER": "10.77.0.2", "HTTPBED_UPLINK": "/outer"}
    assert plan.environment(inner, socket, outer) == {
        "HTTPBED_PEER": "10.77.0.2",
        "HTTPBED_UPLINK": "/s",
    }
