"""Hand-overs and access links in sentences, and in the drawing of the topology."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from handover_campaigns import MIGRATION
from httpbed.report import access, network


def said_of(**table: Any) -> str:
    """Say a hand-over between two links."""
    links = {"links": ["wifi", "cellular"], "when": {"delivered": "2 MB"}}
    return access.line({"handover": {**links, **table}})


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            {"kind": "address deleted", "sockets": "destroyed"},
            (
                "after 2 MB the address of wifi is deleted and its TCP sockets are destroyed;"
                " cellular is up all along"
            ),
        ),
        (
            {"kind": "address deleted", "gap": "200 ms"},
            (
                "after 2 MB the address of wifi is deleted and its TCP sockets are kept;"
                " cellular has no address until 200 ms later"
            ),
        ),
        (
            {"kind": "make before break", "overlap": "1 s", "when": {"at": "2 s"}},
            (
                "at 2 s cellular gets its address and is preferred to wifi; the old address is"
                " deleted 1 s later"
            ),
        ),
        (
            {"kind": "route"},
            (
                "after 2 MB cellular is preferred to wifi, and nothing is deleted;"
                " cellular is up all along"
            ),
        ),
        (
            {"kind": "blackhole", "when": {"every": "5 s"}},
            (
                "every 5 s the link in use drops everything in both directions, without notice to"
                " the client; cellular is up all along (wifi -> cellular -> wifi)"
            ),
        ),
        (
            {"kind": "NAT rebinding", "links": ["wifi"]},
            (
                "after 2 MB a NAT at the far end of wifi forgets: what the client sends then has"
                " another source port"
            ),
        ),
        (
            {"kind": "none", "when": None},
            "the client stays on wifi; cellular is up all along",
        ),
    ],
)
def test_each_kind_is_a_sentence(table: dict[str, Any], text: str) -> None:
    """The sentence names the event, its links, its time, and the links that stay up."""
    assert said_of(**table) == text


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
    first, second = access.line(document).split(" | after")
    assert first.startswith("after 1 MB")
    assert second.endswith("cellular is up all along")
    assert access.line({}) == ""


def test_equal_links_are_described_once_by_their_names() -> None:
    """Two that differ are told apart."""
    document = tomllib.loads(MIGRATION)
    assert network.sentences(document)[0].startswith("wifi and cellular, client <-> router: 10 ")
    document["topology"]["links"][1]["rate"] = "5 Mbit/s"
    texts = network.sentences(document)
    assert [line.partition(",")[0] for line in texts[:2]] == ["wifi", "cellular"]
    assert len(texts) == 3
