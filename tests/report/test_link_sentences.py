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


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ({"profile": "lte"}, "network lte, 12 Mbit/s, 35 ms, no loss, queue 1000 packets"),
        ({"profile": {"factor": "net"}}, "network lte | dsl, queue 1000 packets"),
        (
            {"rate": {"bucket": "0.5 Mbit/s", "burst": "32 KiB"}, "queue": {"limit": "70 ms"}},
            "0.5 Mbit/s by a token bucket of 32 KiB, no delay, no loss, queue 70 ms",
        ),
        ({"rate": {"trace": "a.trace"}, "loss": {"packets": [1, 2]}}, "loss of 2 listed packets"),
        ({"rate": {"steps": [["0 s", "2 Mbit/s"], ["5 s", "1 Mbit/s"]]}}, "then 1 Mbit/s from 5 s"),
        ({"rate": {"cellular": {"mean": "9 Mbit/s"}}}, "cellular rate of 9 Mbit/s on average"),
        (
            {"loss": {"to_bad": "0.5 %", "to_good": "30 %"}},
            "no delay, 1.6 % loss in bursts of 3.3 packets on average, queue",
        ),
        (
            {"loss": {"to_bad": "1 %", "to_good": "4 %", "bad": "50 %", "good": "0.1 %"}},
            "10.1 % loss: 50 % in bursts of 25 packets on average, 0.1 % between them",
        ),
        (
            {"loss": {"to_bad": {"factor": "some"}, "to_good": "30 %"}},
            "loss in bursts (entered at 1 % | 2 % of packets, left at 30 %)",
        ),
        ({"loss": {"to_bad": "50 %", "to_good": "0.01 %"}}, "100 % loss in bursts of 10000 pack"),
        ({"loss": {"factor": "named"}}, "no delay, loss none | bursts, queue"),
        ({"schedule": {"factor": "named"}}, "; then schedule none | bursts"),
        ({"up": {"factor": "named"}}, "queue 1000 packets, up none | bursts; server to client"),
        (
            {"schedule": [{"at": "300 ms", "rate": "1 Mbit/s", "direction": "down"}]},
            "in each direction; then 1 Mbit/s from 300 ms, server to client only",
        ),
        (
            {"schedule": [{"at": "1 s", "delay": "50 ms"}, {"at": "2 s", "state": "up"}]},
            "; then 50 ms of delay from 1 s; link up again from 2 s",
        ),
        (
            {"schedule": [{"at": {"factor": "net"}, "loss": {"factor": "some"}}]},
            "; then 1 % | 2 % loss from lte | dsl",
        ),
        (
            {"events": [{"name": "e", "when": DELIVERED, "loss": "5 %"}]},
            "; then 5 % loss once 200 kB were delivered to the client",
        ),
        (
            {"events": [{"name": "e", "when": DELIVERED, "after": "9 ms", "state": "down"}]},
            "; then link down 9 ms after 200 kB were delivered to the client",
        ),
        (
            {"events": [{"name": "e", "when": {"first_packet_of": "h1"}, "after": "0 s"}]},
            "; then e noted once the first packet of h1 arrived",
        ),
        (
            {"events": [{"name": "e", "when": {"handshake": True}, "rate": "1 Mbit/s"}]},
            "; then 1 Mbit/s once a handshake was over",
        ),
        (
            {"schedule": [{"at": f"{second} s", "loss": "1 %"} for second in range(9)]},
            "1 % loss from 5 s; and 3 more changes",
        ),
        ({"loss": {"replay": "a.log"}}, "losses as in a.log"),
        ({"jitter": "5 ms", "duplication": "1 %"}, "no loss, 5 ms jitter, 1 % duplicated"),
        ({"jitter": {"distribution": "normal", "spread": "5 ms"}}, "normal jitter of 5 ms"),
        ({"jitter": {"samples": ["1 ms", "2 ms"]}}, "jitter from 2 samples"),
        ({"reordering": {"share": "1 %", "hold": "2 ms"}}, "1 % reordered by 2 ms"),
        ({"queue": {"discipline": "fq_codel", "ecn": True}}, "FQ-CoDel ECN queue 1000 packets"),
        ({"queue": {"factor": "net"}}, "queue lte | dsl"),
        ({"queue": {"limit": {"factor": "net"}}}, "queue lte | dsl"),
    ],
    ids=str,
)
def test_a_link_is_described_in_words(link: dict[str, Any], text: str) -> None:
    """As its author wrote it, with what its profile fills in."""
    described = {"between": ["client", "server"], **link}
    document = {"topology": {"links": [described]}, "factors": FACTORS}
    (facts,) = network.links(document)
    assert text in network.sentence(facts)


def legend(link: dict[str, Any], factor: str) -> dict[str, str]:
    """Explain the levels of a factor of which a link is made."""
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
