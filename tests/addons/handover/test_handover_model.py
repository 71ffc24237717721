"""Hand-overs: the accepted forms, and the reasons for which others are rejected."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from httpbed.addons.handover.handover_model import Handover
from httpbed.experiment import parser
from httpbed.experiment.scenario import Scenario

TWO_LINKS: dict[str, Any] = {
    "topology": {
        "hosts": ["client", "router", "server"],
        "links": [
            {"name": "wifi", "between": ["client", "router"]},
            {"name": "cellular", "between": ["client", "router"]},
            {"between": ["router", "server"]},
        ],
    },
    "roles": {
        "client": {"implementation": "curl", "http_version": "2"},
        "server": {"implementation": "nginx"},
    },
    "workload": {"kind": "download", "size": "5 MB"},
    "handover": {
        "links": ["wifi", "cellular"],
        "kind": "address deleted",
        "when": {"delivered": "2 MB"},
    },
}


def scenario(**handover: Any) -> Scenario:
    """Return the scenario with a changed hand-over."""
    document = copy.deepcopy(TWO_LINKS)
    document["handover"].update(handover)
    return Scenario.model_validate(document)


@pytest.mark.parametrize(
    ("more", "up"),
    [
        ({}, ["wifi", "cellular"]),
        ({"gap": "0 ms"}, ["wifi"]),
        ({"kind": "make before break", "overlap": "1 s"}, ["wifi"]),
        ({"kind": "route"}, ["wifi", "cellular"]),
        ({"kind": "none", "when": None}, ["wifi", "cellular"]),
        ({"kind": "none", "when": None, "gap": "1 s"}, ["wifi"]),
        ({"kind": "none", "when": None, "overlap": "1 s"}, ["wifi"]),
    ],
)
def test_which_links_have_an_address_at_first(more: dict[str, str], up: list[str]) -> None:
    """With a gap or an overlap, the next link has no address at first."""
    handover = scenario(**more).handover
    assert isinstance(handover, Handover)
    assert handover.up_at_first() == up


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"links": ["wifi"]}, "needs a second link"),
        ({"links": ["wifi", "wifi"]}, "names a link twice"),
        (
            {"links": ["wifi", "router-server"]},
            "is not a link of the client; known: wifi, cellular",
        ),
        ({"when": None}, "when is missing"),
        ({"kind": "none"}, "which has no when"),
        (
            {"when": {"delivered": "6 MB"}},
            "waits for 6000000 bytes, but the workload has only 5000000",
        ),
        ({"when": {"every": "1 ms"}}, "greater than or equal to 0.01"),
        ({"when": {"every": "1 s"}, "gap": "1 s"}, "until the next hand-over"),
        ({"when": {"after": "2 MB"}}, "none of the accepted forms"),
        ({"kind": "route", "gap": "1 s"}, "gap belongs to 'address deleted'"),
        ({"kind": "make before break"}, "overlap is missing"),
        ({"overlap": "1 s"}, "overlap belongs to 'make before break'"),
        ({"kind": "blackhole", "sockets": "destroyed"}, "deletes no address"),
        ({"when": {"at": "0 s"}}, "greater than 0"),
        (
            {"links": ["wifi", "router <-> server"]},
            "is not a link of the client; known: wifi, cellular",
        ),
    ],
)
def test_a_contradictory_hand_over_is_rejected_with_a_reason(
    more: dict[str, Any], reason: str
) -> None:
    """Contradictions are mistakes of the file, reported before anything runs."""
    with pytest.raises(ValueError, match=reason):
        scenario(**more)


def test_each_link_of_a_hand_over_must_lead_to_the_server() -> None:
    """A link to an isolated host is rejected."""
    document = copy.deepcopy(TWO_LINKS)
    document["topology"]["hosts"].append("island")
    document["topology"]["links"][1]["between"] = ["client", "island"]
    with pytest.raises(ValueError, match="no route leads over cellular to the server"):
        Scenario.model_validate(document)


def test_links_between_the_same_hosts_need_names() -> None:
    """Without names a hand-over could not refer to one of them."""
    document = copy.deepcopy(TWO_LINKS)
    del document["topology"]["links"][0]["name"], document["topology"]["links"][1]["name"]
    with pytest.raises(ValueError, match="two links are named 'client-router'"):
        Scenario.model_validate(document)


def test_an_access_link_ends_at_a_router() -> None:
    """A server's address on one of the client's links is unreachable over another."""
    document = copy.deepcopy(TWO_LINKS)
    document["topology"]["hosts"] = ["client", "server"]
    document["topology"]["links"] = [
        {"name": name, "between": ["client", "server"]} for name in ("wifi", "cellular")
    ]
    with pytest.raises(ValueError, match="put a router between"):
        Scenario.model_validate(document)


def test_the_clients_route_must_use_the_first_link_of_the_hand_over() -> None:
    """A third link with a shorter route would be used, and the hand-over would have no effect."""
    document = copy.deepcopy(TWO_LINKS)
    document["topology"]["links"].append({"name": "cable", "between": ["client", "server"]})
    with pytest.raises(ValueError, match="route leads over cable, not over wifi"):
        Scenario.model_validate(document)


def test_a_nat_is_at_the_second_host_of_its_link() -> None:
    """Other hand-overs work with either order of hosts."""
    document = copy.deepcopy(TWO_LINKS)
    document["topology"]["links"][0]["between"] = ["router", "client"]
    assert Scenario.model_validate(document).access_links == (0, 1)
    document["handover"]["kind"] = "NAT rebinding"
    with pytest.raises(ValueError, match="make the client the first host"):
        Scenario.model_validate(document)


def test_an_event_must_not_have_the_name_of_the_hand_overs_event() -> None:
    """The evidence could not distinguish the two."""
    document = copy.deepcopy(TWO_LINKS)
    event = {"name": "hand-over", "when": {"handshake": True}}
    document["topology"]["links"][0]["events"] = [event]
    with pytest.raises(ValueError, match="an event of wifi is named 'hand-over'"):
        Scenario.model_validate(document)


def test_a_hand_over_after_the_time_limit_is_rejected() -> None:
    """The mistake is reported where the author wrote the time."""
    text = """
schema = 1
name = "late"
question = "?"
replicates = 1
seed = 1
time_limit = "5 s"
topology = { hosts = ["client", "router", "server"], links = [
    { name = "wifi", between = ["client", "router"] },
    { name = "cellular", between = ["client", "router"] },
    { between = ["router", "server"] },
] }
workload = { kind = "download", size = "5 MB" }
[roles]
client = { implementation = "curl", http_version = "2" }
server = { implementation = "nginx" }
[handover]
links = ["wifi", "cellular"]
kind = "address deleted"
when = { at = "7 s" }
gap = "6 s"
"""
    mistakes = parser.read(text).mistakes
    assert [mistake.place for mistake in mistakes] == ["handover.when.at", "handover.gap"]
    assert all("time limit" in mistake.reason for mistake in mistakes)
