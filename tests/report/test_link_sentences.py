"""Links, conditions and levels in sentences, and in the drawing of the topology."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns import VERSIONS, campaign
from httpbed.report import levels, network
from httpbed.report.figures import against_factors
from httpbed.results.findings import find

DELIVERED = {"delivered": "200 kB", "to": "client"}


FACTORS = {
    "net": ["lte", "dsl"],
    "some": ["1 %", "2 %"],
    "named": {"none": "0 %", "bursts": {"to_bad": "0.5 %", "to_good": "30 %"}},
}


def test_conditions_are_phrased_by_what_they_change() -> None:
    """The same level means one thing as loss, another as delay."""
    text = VERSIONS.replace('delay = "25 ms"', 'delay = { factor = "far" }').replace(
        "[factors]", '[factors]\nfar = ["10 ms", "50 ms"]\nslow = ["1 Mbit/s", "2 Mbit/s"]'
    )
    text = text.replace("queue = {", 'down = { rate = { factor = "slow" } }\nqueue = {')
    results = campaign(lambda *_: 1.0, text)
    levels = {"far": "10 ms", "slow": "1 Mbit/s", "loss": "2 %"}
    words = network.condition(results.document, levels)
    assert words == "10 ms each way, 1 Mbit/s down, 2 % loss"
    (link,) = network.links(results.document)
    assert not link.symmetric
    assert "server to client: 1 Mbit/s | 2 Mbit/s, 10 ms | 50 ms" in network.sentence(link)
    names = [plot.name for plot in against_factors(find(results))]
    assert names == ["request_time-by-far", "request_time-by-slow", "request_time-by-loss"]


BURSTS = {"to_bad": "0.5 %", "to_good": "30 %"}


@pytest.mark.parametrize(
    ("link", "facts"),
    [
        ({"profile": "lte"}, ["lte", "12 Mbit/s", "35 ms", "no loss", "1000 packets"]),
        ({"profile": {"factor": "net"}}, ["lte | dsl"]),
        ({"rate": {"bucket": "0.5 Mbit/s", "burst": "32 KiB"}}, ["0.5 Mbit/s", "32 KiB"]),
        ({"rate": {"steps": [["0 s", "2 Mbit/s"], ["5 s", "1 Mbit/s"]]}}, ["1 Mbit/s", "5 s"]),
        ({"rate": {"cellular": {"mean": "9 Mbit/s"}}}, ["9 Mbit/s"]),
        ({"loss": BURSTS}, ["1.6 %", "bursts", "3.3 packets"]),
        ({"loss": BURSTS | {"to_bad": {"factor": "some"}}}, ["1 % | 2 %", "30 %"]),
        ({"loss": {"factor": "named"}}, ["none | bursts"]),
        ({"schedule": [{"at": "1 s", "delay": "50 ms"}]}, ["50 ms", "1 s"]),
        ({"events": [{"name": "e", "when": DELIVERED, "loss": "5 %"}]}, ["5 %", "200 kB"]),
        ({"schedule": [{"at": f"{second} s", "loss": "1 %"} for second in range(9)]}, ["3 more"]),
        ({"jitter": "5 ms", "duplication": "1 %"}, ["5 ms", "1 %"]),
        ({"queue": {"discipline": "fq_codel", "ecn": True}}, ["FQ-CoDel", "ECN"]),
    ],
    ids=str,
)
def test_a_link_is_described_with_its_figures(link: dict[str, Any], facts: list[str]) -> None:
    """As its author wrote them, with what its profile fills in."""
    described = {"between": ["client", "server"], **link}
    document = {"topology": {"links": [described]}, "factors": FACTORS}
    (found,) = network.links(document)
    sentence = network.sentence(found)
    assert all(fact in sentence for fact in facts), sentence


def legend(link: dict[str, Any], factor: str) -> dict[str, str]:
    described = {"between": ["client", "server"], **link}
    document = {"topology": {"links": [described]}, "factors": FACTORS | PLACES}
    found = {one.factor: dict(one.levels) for one in levels.legends(document)}
    return found[factor]


PLACES: dict[str, Any] = {
    "buffer": {"deep": {"limit": "1 BDP"}, "smart": {"discipline": "codel", "ecn": True}},
    "uplink": {"slow": {"rate": "1 Mbit/s", "queue": {}}, "same": {}},
    "story": {"calm": [], "storm": [{"at": "1 s", "loss": "9 %"}]},
}


@pytest.mark.parametrize(
    ("link", "factor", "meanings"),
    [
        (
            {"loss": {"factor": "named"}},
            "named",
            {"none": "0 % loss", "bursts": "1.6 % loss in bursts of 3.3 packets on average"},
        ),
        ({"down": {"loss": {"factor": "named"}}}, "named", {"none": "0 % loss down"}),
        (
            {"queue": {"factor": "buffer"}},
            "buffer",
            {"deep": "queue 1 BDP", "smart": "CoDel ECN queue 1000 packets"},
        ),
        ({"up": {"factor": "uplink"}}, "uplink", {"slow": "1 Mbit/s, queue 1000 packets up"}),
        (
            {"schedule": {"factor": "story"}},
            "story",
            {"calm": "no changes", "storm": "9 % loss from 1 s"},
        ),
        (
            {"profile": {"factor": "net"}, "queue": {"limit": "100 ms"}},
            "net",
            {
                "lte": "LTE; client <-> server: 12 Mbit/s, 35 ms, no loss, in each direction",
                "dsl": "DSL; client to server: 384 kbit/s, 25 ms, no loss;"
                " server to client: 1.5 Mbit/s, 25 ms, no loss",
            },
        ),
        (
            {"profile": {"factor": "net"}, "rate": "9 Mbit/s", "loss": {"factor": "some"}},
            "net",
            {"lte": "LTE; client <-> server: 35 ms, in each direction"},
        ),
        ({}, "named", {"none": "0 %", "bursts": "to bad 0.5 %, to good 30 %"}),
    ],
    ids=str,
)
def test_named_levels_are_explained_where_they_are_used(
    link: dict[str, Any], factor: str, meanings: dict[str, str]
) -> None:
    """A name says nothing: what it stands for does, worded by its place in the link."""
    found = legend(link, factor)
    assert found | meanings == found


def test_levels_that_speak_for_themselves_have_no_legend() -> None:
    """Such as 2 % and HTTP/3."""
    assert levels.legends(campaign(lambda *_: None).document) == ()


def test_a_named_level_is_no_quantity() -> None:
    """A condition is called loss bursts, not bursts loss."""
    named = '{ none = "0 %", bursts = { to_bad = "1 %", to_good = "30 %" } }'
    document = campaign(lambda *_: None, VERSIONS.replace('["0 %", "2 %"]', named)).document
    assert network.condition(document, {"loss": "bursts"}) == "loss bursts"
