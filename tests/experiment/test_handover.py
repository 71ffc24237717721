"""Hand-overs: what can be asked for, and what is refused with a reason."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from httpbed.experiment import parser
from httpbed.experiment.handover import Handover
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
    """Read the scenario with other words about its hand-over."""
    said = copy.deepcopy(TWO_LINKS)
    said["handover"].update(handover)
    return Scenario.model_validate(said)


def test_the_client_is_on_the_first_link_that_is_named() -> None:
    """Its route goes by that link; the others stand by."""
    assert [link for link, _ in scenario().access()] == [0, 2]
    turned = scenario(links=["cellular", "wifi"])
    assert [link for link, _ in turned.access()] == [1, 2]
    assert turned.access_links == (1, 0)
    assert turned.standby == {0}


def test_it_goes_from_each_link_to_the_next_and_from_the_last_to_the_first() -> None:
    """Again and again means round and round."""
    handover = scenario(when={"every": "5 s"}).handover
    assert handover is not None
    assert [handover.from_and_to(number) for number in (1, 2, 3)] == [
        ("wifi", "cellular"),
        ("cellular", "wifi"),
        ("wifi", "cellular"),
    ]


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
    """With a gap, or where a link comes up only when it is needed, the next one has none.

    What it is compared with begins on the same network.
    """
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
def test_what_cannot_be_is_refused_with_a_reason(more: dict[str, Any], reason: str) -> None:
    """Every contradiction is a mistake of the file, found before anything runs."""
    with pytest.raises(ValueError, match=reason):
        scenario(**more)


def test_a_link_must_lead_to_who_answers() -> None:
    """A link to an island is no second way."""
    said = copy.deepcopy(TWO_LINKS)
    said["topology"]["hosts"].append("island")
    said["topology"]["links"][1]["between"] = ["client", "island"]
    with pytest.raises(ValueError, match="no route leads over cellular to the server"):
        Scenario.model_validate(said)


def test_links_between_the_same_hosts_need_names() -> None:
    """Else nobody could say which is meant."""
    said = copy.deepcopy(TWO_LINKS)
    del said["topology"]["links"][0]["name"], said["topology"]["links"][1]["name"]
    with pytest.raises(ValueError, match="two links are named 'client-router'"):
        Scenario.model_validate(said)


def test_an_access_link_ends_at_a_router() -> None:
    """An address on one of the client's links would not be reached over another."""
    said = copy.deepcopy(TWO_LINKS)
    said["topology"]["hosts"] = ["client", "server"]
    said["topology"]["links"] = [
        {"name": name, "between": ["client", "server"]} for name in ("wifi", "cellular")
    ]
    with pytest.raises(ValueError, match="put a router between"):
        Scenario.model_validate(said)


def test_the_client_is_on_a_link_of_the_hand_over() -> None:
    """A third one with a shorter way would be taken, and nothing would change."""
    said = copy.deepcopy(TWO_LINKS)
    said["topology"]["links"].append({"name": "cable", "between": ["client", "server"]})
    with pytest.raises(ValueError, match="route leads over cable, not over wifi"):
        Scenario.model_validate(said)
    said["topology"]["hosts"].append("away")
    said["topology"]["links"][1]["between"] = ["client", "away"]
    said["topology"]["links"][3]["between"] = ["client", "router"]
    with pytest.raises(ValueError, match="no route leads over cellular"):
        Scenario.model_validate(said)


def test_a_nat_is_not_at_the_client() -> None:
    """It is at the link's second host; any other hand-over goes either way."""
    said = copy.deepcopy(TWO_LINKS)
    said["topology"]["links"][0]["between"] = ["router", "client"]
    assert Scenario.model_validate(said).access_links == (0, 1)
    said["handover"]["kind"] = "NAT rebinding"
    with pytest.raises(ValueError, match="make the client the first host"):
        Scenario.model_validate(said)


def test_an_event_is_not_named_as_the_hand_overs_own() -> None:
    """Nobody could tell them apart in the evidence."""
    said = copy.deepcopy(TWO_LINKS)
    event = {"name": "hand-over", "when": {"handshake": True}}
    said["topology"]["links"][0]["events"] = [event]
    with pytest.raises(ValueError, match="an event of wifi is named 'hand-over'"):
        Scenario.model_validate(said)


def test_what_comes_after_the_time_limit_is_refused() -> None:
    """A trial has timed out by then; the place is where its author wrote the time."""
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
    found = parser.read(text).mistakes
    assert [mistake.place for mistake in found] == ["handover.when.at", "handover.gap"]
    assert all("time limit" in mistake.reason for mistake in found)
