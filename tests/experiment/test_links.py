"""Links in an experiment file: every form, and every mistake at its place.

Token buckets on the response path, and the bytes that pass them.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toml_documents
from httpbed.experiment import bodies_path, parser
from httpbed.experiment.bodies_path import BucketLoad
from httpbed.experiment.document import scenario_document
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.topology import Link
from recorded import DEMO

STEPS = [["0 s", "10 Mbit/s"], ["5 s", "2 Mbit/s"]]
GOOD: list[dict[str, Any]] = [
    {"rate": "200 bit/s"},
    {"rate": {"bucket": "0.5 Mbit/s", "burst": "32 KiB"}, "queue": {"limit": "70 ms"}},
    {"rate": {"trace": "a.trace"}},
    {"rate": {"steps": STEPS}},
    {"rate": {"cellular": {"mean": "10 Mbit/s", "outages": "5 %", "variation": "80 %"}}},
    {"counted": "wire", "up": {"counted": "ip"}},
    {"jitter": "5 ms"},
    {"jitter": {"distribution": "normal", "spread": "5 ms"}},
    {"jitter": {"samples": ["1 ms", "-2 ms"]}},
    {"loss": {"to_bad": "1 %", "to_good": "30 %", "bad": "100 %", "good": "0 %"}},
    {"loss": {"packets": [3, 17]}, "down": {"loss": {"replay": "a.log"}}},
    {"reordering": {"share": "1 %", "hold": "10 ms"}},
    {"duplication": "0.1 %", "corruption": "0.01 %"},
    {"queue": {"discipline": "codel", "limit": "1 BDP", "target": "5 ms", "interval": "100 ms"}},
    {"queue": {"discipline": "fq_codel", "ecn": True, "flows": 16, "quantum": "300 B"}},
    {"queue": {"discipline": "pie", "limit": "64 KiB", "ecn": True}},
    {"profile": "lte"},
    {"rate": "1 Mbit/s", "schedule": [{"at": "5 s", "rate": "2 Mbit/s", "direction": "up"}]},
    {"schedule": [{"at": "5 s", "state": "down"}, {"at": "6 s", "state": "up"}]},
    {"events": [{"name": "a", "when": {"delivered": "2 MB", "to": "client"}, "state": "down"}]},
    {"events": [{"name": "a", "when": {"first_packet_of": "server"}, "after": "1 s"}]},
    {"events": [{"name": "a", "when": {"handshake": True}, "loss": "3 %", "direction": "up"}]},
]


def demo_with_link(link: dict[str, Any], factors: str = "") -> str:
    head, rest = DEMO.split("[[topology.links]]", 1)
    tail = rest[rest.index("[roles.client]") :]
    factor = 'loss = ["0 %", "2 %"]'
    assert factor in head
    described = toml_documents.as_toml({"between": ["client", "server"], **link})
    return f"{head.replace(factor, factors)}[[topology.links]]\n{described}\n{tail}"


def mistakes_by_place(link: dict[str, Any], factors: str = "") -> dict[str, str]:
    """Return the mistakes of the demo with another link: place in it -> message."""
    return {
        mistake.place.removeprefix("topology.links[0]").removeprefix("."): str(mistake)
        for mistake in parser.read(demo_with_link(link, factors)).mistakes
    }


@pytest.mark.parametrize("link", GOOD, ids=str)
def test_every_form_is_valid_for_parser_and_schema(link: dict[str, Any]) -> None:
    """These are the forms of the manual."""
    assert mistakes_by_place(link) == {}
    document = dict(parser.read(demo_with_link(link)).document)
    assert toml_documents.schema_errors(document) == []


@pytest.mark.parametrize(
    ("link", "place", "reason"),
    [
        ({"loss": "101 %"}, "loss", "above 100 %"),
        ({"loss": {"to_bad": "101 %", "to_good": "1 %"}}, "loss.to_bad", "above 100 %"),
        ({"loss": {"to_bad": "1 %"}}, "loss.to_good", "is missing"),
        ({"loss": {"to_bad": "1 %", "to_good": "0 %"}}, "loss.to_good", "more than 0"),
        ({"loss": {"packets": [-1]}}, "loss.packets[0]", "must be 0 or more"),
        ({"loss": {"packets": ["3"]}}, "loss.packets[0]", "whole number"),
        ({"loss": {"replay": ""}}, "loss.replay", "at least 1 character"),
        ({"loss": {"to_bda": "1 %"}}, "loss", "has none of the accepted forms"),
        ({"loss": {"packets": [1], "bad": "1 %"}}, "loss.bad", "is not a key of this table"),
        ({"schedule": [{"at": "5 s", "queue": "1 BDP"}]}, "schedule[0].queue", "table; delete"),
        ({"loss": 2}, "loss", "is not a text with a number and a unit"),
        ({"rate": "100 bit/s"}, "rate", "below 200 bit/s"),
        ({"rate": {"bucket": "1 Mbit/s"}}, "rate.burst", "is missing"),
        ({"rate": {"bucket": "1 Mbit/s", "burst": "1 kB"}}, "rate.burst", "1.5 kB"),
        ({"rate": {"bucket": "1 Mbit/s", "burst": "1 MB", "brust": 1}}, "rate.brust", "'burst'"),
        ({"rate": {"trace": "a\nb"}}, "rate.trace", "without control characters"),
        ({"rate": {"trace": "a", "sha256": "x"}}, "rate.sha256", "must be a SHA-256"),
        ({"rate": {"steps": []}}, "rate.steps", "at least 1"),
        ({"rate": {"steps": STEPS[1:]}}, "rate.steps", "first step is at 0 s"),
        ({"rate": {"steps": [*STEPS, ["5 s", "1 Mbit/s"]]}}, "rate.steps", "ascend"),
        ({"rate": {"steps": [["0 s"]]}}, "rate.steps[0]", "a pair of a time and a rate"),
        ({"rate": {"steps": [["0 s", "0 bit/s"]]}}, "rate.steps[0][1]", "below 200 bit/s"),
        ({"rate": {"cellular": {"mean": "100 Gbit/s"}}}, "rate.cellular", "shorter duration"),
        ({"rate": {"cellular": {"mean": "1 Mbit/s", "outages": "100 %"}}},
         "rate.cellular.outages", "must be less than 1"),
        ({"rate": []}, "rate", "is not a text with a number and a unit"),
        ({"queue": {"limit": "0 packets"}}, "queue.limit", "holds no packet"),
        ({"queue": {"limit": "0 ms"}}, "queue.limit", "holds no packet"),
        ({"queue": {"limit": "1500 B"}, "counted": "wire"}, "", "one has 1538 bytes"),
        ({"queue": {"target": "5 ms"}}, "queue", "droptail has no target"),
        ({"queue": {"discipline": "codel", "flows": 3}}, "queue", "codel has no flows"),
        ({"queue": {"discipline": "pie", "target": "0 ms"}}, "queue.target", "more than 0"),
        ({"queue": {"discipline": "pie", "ecn": "yes"}}, "queue.ecn", "true or false"),
        ({"jitter": "2 min"}, "jitter", "60"),
        ({"jitter": {"distribution": "normal"}}, "jitter.spread", "is missing"),
        ({"jitter": {"distribution": "cauchy", "spread": "1 ms"}}, "jitter.distribution", "pareto"),
        ({"jitter": {"samples": []}}, "jitter.samples", "at least 1"),
        ({"jitter": {"samples": ["-2 min"]}}, "jitter.samples[0]", "60"),
        ({"reordering": {"share": "1 %"}}, "reordering.hold", "is missing"),
        ({"duplication": "200 %"}, "duplication", "above 100 %"),
        ({"corruption": "-1 %"}, "corruption", "negative"),
        ({"counted": "l2"}, "counted", "ethernet"),
        ({"profile": "sneakernet 9000"}, "profile", "known: 2g-india"),
        ({"schedule": [{"at": "5 s"}]}, "schedule[0]", "changes nothing"),
        ({"schedule": [{"at": "5 s", "loss": "1 %", "delay": "1 ms"}]}, "schedule[0]", "for each"),
        ({"schedule": [{"at": "5 s", "state": "off"}]}, "schedule[0].state", "'up' or 'down'"),
        ({"schedule": [{"at": "5 s", "rate": "1 Mbit/s"}]}, "", "schedule[0] changes the rate up"),
        ({"loss": {"packets": [1]}, "schedule": [{"at": "5 s", "loss": "1 %"}]}, "", "listed"),
        ({"events": [{"name": "a", "when": {"to": "client"}}]}, "events[0].when.delivered",
         "is missing"),
        ({"events": [{"name": "a", "when": {"handshake": False}}]}, "events[0].when.handshake",
         "True"),
        ({"events": [{"name": "a", "when": "later"}]}, "events[0].when", "has none of"),
        ({"events": [{"name": "a", "when": {"first_packet_of": "proxy"}}]}, "", "names 'proxy'"),
        ({"events": [{"name": "a", "when": {"handshake": True}}] * 2}, "", "two events are named"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_link_is_reported_once_at_its_place(
    link: dict[str, Any], place: str, reason: str
) -> None:
    """A mistake in a table is not also reported for the text form."""
    mistakes = mistakes_by_place(link)
    assert list(mistakes) == [place]
    assert reason in mistakes[place]


def test_many_mistakes_of_one_link_are_reported_at_once() -> None:
    """Each is reported for the form that the author chose."""
    link = {
        "rate": {"bucket": "1", "burst": "1"},
        "loss": {"to_bad": "2", "to_good": "101 %"},
        "jitter": {"samples": ["1"]},
        "queue": {"limit": "0 packets"},
        "up": {"duplication": "101 %"},
        "schedule": [{"at": "x"}],
        "profile": "lt",
    }
    assert set(mistakes_by_place(link)) == {
        "rate.bucket",
        "rate.burst",
        "loss.to_bad",
        "loss.to_good",
        "jitter.samples[0]",
        "queue.limit",
        "up.duplication",
        "schedule[0].at",
        "profile",
    }


def scenarios(link: dict[str, Any], factors: str) -> list[Link]:
    read = parser.read(demo_with_link(link, factors))
    assert read.mistakes == ()
    documents = [scenario_document(read.document, levels) for levels in read.treatments]
    return [Scenario.model_validate(document).link for document in documents]


def test_a_named_level_may_be_a_table() -> None:
    """Tables of results show the name; the network has the table's values."""
    factors = 'loss = { light = "1 %", bursts = { to_bad = "1 %", to_good = "30 %" } }'
    link = {"loss": {"factor": "loss"}}
    levels = {each["loss"] for each in parser.read(demo_with_link(link, factors)).treatments}
    assert levels == {"light", "bursts"}
    losses = [one.loss for one in scenarios(link, factors)]
    assert 0.01 in losses
    assert any(getattr(loss, "to_good", None) == 0.3 for loss in losses)
    document = dict(parser.read(demo_with_link(link, factors)).document)
    assert toml_documents.schema_errors(document) == []


def test_a_mistake_in_a_named_level_is_reported_at_the_level() -> None:
    """The message also names the place that refers to the factor."""
    mistakes = mistakes_by_place(
        {"loss": {"factor": "loss"}}, 'loss = { b = { to_bad = "2", to_good = "1 %" } }'
    )
    ((place, reason),) = mistakes.items()
    assert place == "factors.loss.b.to_bad"
    assert "used at topology.links[0].loss" in reason


def test_queue_and_profile_may_be_factors() -> None:
    """A reference may replace any value, including a profile."""
    factors = 'queue = { short = { limit = "10 packets" }, fair = { discipline = "fq_codel" } }'
    queues = {link.queue.discipline for link in scenarios({"queue": {"factor": "queue"}}, factors)}
    assert queues == {"droptail", "fq_codel"}
    varied = scenarios({"profile": {"factor": "network"}}, 'network = ["lte", "dsl"]')
    assert {link.rtt_s() for link in varied} == {0.07, 0.05}


@pytest.mark.parametrize("levels", ["[1]", "3", "[]", "{}", "{ a = 1 }", '["a", "a"]', '[""]'])
def test_malformed_levels_are_rejected(levels: str) -> None:
    """A number, an empty list or table, a duplicate name, and an invalid loss."""
    assert mistakes_by_place({"loss": {"factor": "loss"}}, f"loss = {levels}")


KEYS = """
    rate loss jitter queue bucket burst trace steps cellular mean to_bad to_good packets replay
    samples schedule events at when up down profile factor delivered to handshake name limit
"""
keys = st.sampled_from(KEYS.split())
values = st.recursive(
    st.sampled_from(["1 %", "1 Mbit/s", "5 ms", "lte", "up", "x", "1 MB"])
    | st.integers(-2, 10**6)
    | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(keys, values, max_size=4))
def test_links_of_any_shape_are_accepted_or_rejected(link: dict[str, Any]) -> None:
    """No table makes the parser fail in another way."""
    for mistake in parser.read(demo_with_link(link, 'x = ["1"]')).mistakes:
        assert mistake.place
        assert mistake.reason
        assert "<" not in mistake.place


def scenario(size: str, *, rate: Any, **more: Any) -> Scenario:
    """Return a download over one link with this rate to the client."""
    link = {"between": ["client", "server"], "delay": "5 ms", "down": {"rate": rate}}
    return Scenario.model_validate(
        {
            "topology": {"hosts": ["client", "server"], "links": [link]},
            "roles": {
                "client": {"implementation": "curl", "http_version": "2"},
                "server": {"implementation": "nginx"},
            },
            "workload": {"kind": "download", "size": size, **more},
        }
    )


BUCKET = {"bucket": "10 Mbit/s", "burst": "1 MB"}


@pytest.mark.parametrize(
    ("size", "holds"), [("100 kB", True), ("1 MB", True), ("1000001 B", False), ("10 MB", False)]
)
def test_a_bucket_holds_a_transfer_up_to_its_own_size(size: str, holds: bool) -> None:
    """A transfer of equal size fits."""
    (load,) = bodies_path.bucket_loads(scenario(size, rate=BUCKET))
    assert load.holds_all is holds


def test_the_bodies_of_all_files_and_rounds_pass_the_bucket() -> None:
    """Four files in three rounds are twelve bodies."""
    (load,) = bodies_path.bucket_loads(scenario("100 kB", rate=BUCKET, files=4, rounds=3))
    assert load == BucketLoad("client-server", "server", 10_000_000, 1_000_000, 1_200_000)
