"""The plan around a command: numbers, addresses, routes, before anything is started."""

from __future__ import annotations

from pathlib import Path

from httpbed.addons.link import described_link, link_plan
from httpbed.addons.link.far_end import Names
from httpbed.addons.link.link_plan import LinkRequest


def planned(**impairments: str) -> link_plan.ShellPlan:
    """Plan a link, by default without impairments."""
    described = described_link.describe(impairments)
    return link_plan.plan(LinkRequest((), described, 7, "af_packet"), "cubic")


def test_everything_of_the_command_goes_over_the_link() -> None:
    """Its default route is the far end."""
    assert planned().route.input == "route add default via 10.77.0.2 dev eth0\n"
    assert planned().peer == "10.77.0.2"


def test_each_direction_has_losses_of_its_own() -> None:
    """The random streams depend on seed, link and direction."""
    (link,) = planned(loss="4%").network.emulator_config["links"]
    up, down = (way["loss"]["key"] for way in link["directions"])
    assert up != down


def test_pasta_opens_nothing_on_this_machine() -> None:
    """Neither a port here nor one there."""
    argv = link_plan.pasta(Path("pasta"), Path("/scratch")).argv
    for option in ("--tcp-ports", "--udp-ports", "--tcp-ns", "--udp-ns"):
        assert argv[argv.index(option) + 1] == "none"
    assert argv[-1] == "/scratch/run/netns/far"


def test_every_resolver_has_an_address_at_the_far_end() -> None:
    """The relay gets them in pairs, and pasta translates no name queries."""
    names = Names(("127.0.0.53:53", "[2001:db8::1]:53"), "")
    lines = "address add 10.79.0.3/32 dev lo\naddress add 10.79.0.4/32 dev lo\n"
    assert (link_plan.name_addresses(names).input, link_plan.name_addresses(names).host) == (
        lines,
        "far",
    )
    relay = link_plan.name_relay(Path("/probe"), names, Path("/scratch"))
    assert relay.argv[1:3] == ("names", "/scratch/run/netns/far")
    assert relay.argv[3:] == ("10.79.0.3:53=127.0.0.53:53", "10.79.0.4:53=[2001:db8::1]:53")
    assert "--dns-forward" not in link_plan.pasta(Path("pasta"), Path("/scratch")).argv


def test_the_command_is_told_the_far_end_and_the_socket() -> None:
    """For its own use, and for that of ``--change``."""
    told = {"HTTPBED_PEER": "10.77.0.2", "HTTPBED_UPLINK": "/s"}
    assert link_plan.environment(planned(), Path("/s")) == told
