"""The plan around a command: numbers, addresses, routes, before anything is started."""

from __future__ import annotations

from pathlib import Path

from httpbed.addons.link import options, plan
from httpbed.addons.link.names import Names


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
    argv = plan.pasta(Path("pasta"), Path("/scratch")).argv
    for option in ("--tcp-ports", "--udp-ports", "--tcp-ns", "--udp-ns"):
        assert argv[argv.index(option) + 1] == "none"
    assert argv[-1] == "/scratch/run/netns/far"


def test_every_resolver_has_an_address_at_the_far_end() -> None:
    """The relay gets them in pairs, and pasta translates no name queries."""
    names = Names(("127.0.0.53:53", "[2001:db8::1]:53"), "")
    lines = "address add 10.79.0.3/32 dev lo\naddress add 10.79.0.4/32 dev lo\n"
    assert (plan.name_addresses(names).input, plan.name_addresses(names).host) == (lines, "far")
    relay = plan.name_relay(Path("/probe"), names, Path("/scratch"))
    assert relay.argv[1:3] == ("names", "/scratch/run/netns/far")
    assert relay.argv[3:] == ("10.79.0.3:53=127.0.0.53:53", "10.79.0.4:53=[2001:db8::1]:53")
    assert "--dns-forward" not in plan.pasta(Path("pasta"), Path("/scratch")).argv


def test_the_outermost_link_is_the_peer() -> None:
    """What goes there meets all links."""
    inner, socket = planned(1), Path("/s")
    assert plan.environment(inner, socket, {})["HTTPBED_PEER"] == "10.77.1.2"
    outer = {"HTTPBED_PEER": "10.77.0.2", "HTTPBED_UPLINK": "/outer"}
    assert plan.environment(inner, socket, outer) == {
        "HTTPBED_PEER": "10.77.0.2",
        "HTTPBED_UPLINK": "/s",
    }
