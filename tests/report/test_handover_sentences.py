"""Hand-overs and access links in sentences, and in the drawing of the topology."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from handover_campaigns import MIGRATION
from httpbed.report import network, roles


def said_of(**table: Any) -> str:
    """Say a hand-over between two links."""
    links = {"links": ["wifi", "cellular"], "when": {"delivered": "2 MB"}}
    return roles.handover_line({"handover": {**links, **table}})


@pytest.mark.parametrize(
    ("table", "facts"),
    [
        ({"kind": "address deleted", "sockets": "destroyed"}, ["2 MB", "wifi", "destroyed"]),
        ({"kind": "address deleted", "gap": "200 ms"}, ["2 MB", "kept", "200 ms"]),
        ({"kind": "make before break", "overlap": "1 s", "when": {"at": "2 s"}}, ["2 s", "1 s"]),
        ({"kind": "route"}, ["2 MB", "cellular", "nothing is deleted"]),
        ({"kind": "blackhole", "when": {"every": "5 s"}}, ["5 s", "wifi -> cellular -> wifi"]),
        ({"kind": "NAT rebinding", "links": ["wifi"]}, ["2 MB", "NAT", "port"]),
        ({"kind": "none", "when": None}, ["stays on wifi"]),
    ],
)
def test_each_kind_is_a_sentence(table: dict[str, Any], facts: list[str]) -> None:
    """It names the event, its links and its time."""
    sentence = said_of(**table)
    assert all(fact in sentence for fact in facts), sentence


def test_factors_in_a_hand_over_are_listed_with_their_levels() -> None:
    """Each kind has its sentence; the values of a quantity share one."""
    handover = {
        "links": ["wifi", "cellular"],
        "kind": {"factor": "kind"},
        "when": {"delivered": {"factor": "after"}},
    }
    document = {
        "handover": handover,
        "factors": {"kind": ["route", "blackhole"], "after": ["1 MB", "2 MB"]},
    }
    first, second = roles.handover_line(document).split(" | after")
    assert first.startswith("after 1 MB")
    assert second.endswith("cellular is up all along")
    assert roles.handover_line({}) == ""


def test_equal_links_are_described_once_by_their_names() -> None:
    """Two that differ are told apart."""
    document = tomllib.loads(MIGRATION)
    assert network.sentences(document)[0].startswith("wifi and cellular, client <-> router: 10 ")
    document["topology"]["links"][1]["rate"] = "5 Mbit/s"
    texts = network.sentences(document)
    assert [line.partition(",")[0] for line in texts[:2]] == ["wifi", "cellular"]
    assert len(texts) == 3
