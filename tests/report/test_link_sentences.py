"""Links, conditions, levels, roles and hand-overs of an experiment in words."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from campaigns import VERSIONS, campaign
from httpbed.report import experiment_words
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
    words = experiment_words.condition(results.document, levels)
    assert words == "10 ms each way, 1 Mbit/s down, 2 % loss"
    (link,) = experiment_words.links(results.document)
    assert not link.symmetric
    assert "server to client: 1 Mbit/s | 2 Mbit/s, 10 ms | 50 ms" in experiment_words.sentence(link)
    names = [plot.name for plot in against_factors(find(results))]
    assert names == ["request_time-by-far", "request_time-by-slow", "request_time-by-loss"]


def test_a_condition_names_a_whole_topology_by_its_level() -> None:
    """As the experiments of conformance tests have it."""
    document = {"topology": {"factor": "network"}, "factors": {"network": {"brim": {}}}}
    assert experiment_words.condition(document, {"network": "brim"}) == "network brim"


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
    (found,) = experiment_words.links(document)
    sentence = experiment_words.sentence(found)
    assert all(fact in sentence for fact in facts), sentence


def legend(link: dict[str, Any], factor: str) -> dict[str, str]:
    described = {"between": ["client", "server"], **link}
    document = {"topology": {"links": [described]}, "factors": FACTORS | PLACES}
    found = {one.factor: dict(one.levels) for one in experiment_words.legends(document)}
    return found[factor]


def test_a_level_whose_name_says_all_of_it_is_not_explained() -> None:
    """curl:h2 is curl over HTTP/2; a level with anything else keeps its explanation."""
    clients = {
        "curl:h2": {"implementation": "curl", "http_version": "2"},
        "curl:h3": {"implementation": "curl", "http_version": "2"},
        "curl:h1": {"implementation": "curl", "http_version": "1.1", "knob": 3},
    }
    factors = {"client": clients, "same": {"curl:h2": clients["curl:h2"]}}
    document = {"topology": {"links": []}, "factors": factors}
    assert [[name for name, _ in one.levels] for one in experiment_words.legends(document)] == [
        ["curl:h3", "curl:h1"]
    ]


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
            {"calm": "none", "storm": "at 1 s, loss 9 %"},
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
    assert experiment_words.legends(campaign(lambda *_: None).document) == ()


def test_a_named_level_is_no_quantity() -> None:
    """A condition is called loss bursts, not bursts loss."""
    named = '{ none = "0 %", bursts = { to_bad = "1 %", to_good = "30 %" } }'
    document = campaign(lambda *_: None, VERSIONS.replace('["0 %", "2 %"]', named)).document
    assert experiment_words.condition(document, {"loss": "bursts"}) == "loss bursts"


DOCUMENT: dict[str, Any] = tomllib.loads("""
[factors]
loss = ["0 %", "4 %"]
rate = ["10 Mbit/s", "20 Mbit/s"]
sender = ["cubic", "bbr"]
[factors.path]
direct = []
envoy = [{ implementation = "envoy", http_version = "1.1", congestion_control = "fixed" }]

[topology]
hosts = ["client", "proxy", "server", "rival"]
[[topology.links]]
between = ["client", "proxy"]
loss = { factor = "loss" }
rate = { factor = "rate" }
[[topology.links]]
between = ["proxy", "server"]
rate = { factor = "rate" }

[roles]
proxies = { factor = "path" }
[roles.client]
implementation = "curl"
http_version = "3"
[roles.server]
implementation = "nginx"
congestion_control = { factor = "sender" }
knobs = { quic_gso = "on" }

[workload]
kind = "download"
size = "1 MB"
files = 20

[[competitors]]
after = "1 s"
client = { implementation = "curl", http_version = "2", host = "rival" }
server = { implementation = "nginx", host = "server" }
""")


def test_roles_are_written_key_by_key() -> None:
    """A factor in the place of a value is written as its levels."""
    assert dict(experiment_words.roles(DOCUMENT)) == {
        "client": "curl, HTTP/3",
        "proxies": "direct | envoy",
        "server": "nginx, congestion control cubic | bbr, knobs quic gso on",
    }


def test_a_competitor_is_written_key_by_key() -> None:
    """As the file has it, with its tables in parentheses."""
    ((key, text),) = experiment_words.further(DOCUMENT)
    assert key == "competes"
    assert text == "after 1 s, client (curl, HTTP/2, host rival), server (nginx, host server)"


def test_a_condition_names_the_link_that_it_is_about() -> None:
    """Where there are several, and it is not about all of them."""
    texts = experiment_words.condition(DOCUMENT, {"loss": "4 %", "rate": "10 Mbit/s"})
    assert texts == "4 % loss on client-proxy, 10 Mbit/s"


def test_a_hand_over_is_written_with_the_levels_of_its_factors() -> None:
    """In the file's words, which the guide explains."""
    handover = {
        "links": ["wifi", "cellular"],
        "kind": {"factor": "kind"},
        "when": {"delivered": {"factor": "after"}},
    }
    factors = {"kind": ["route", "blackhole"], "after": ["1 MB", "2 MB"]}
    assert [*experiment_words.further({"handover": handover, "factors": factors})] == [
        ("hand-over", "links (wifi, cellular), kind route | blackhole, when delivered 1 MB | 2 MB")
    ]
