"""Numbers and sentences as people read them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.analysis.estimate import Interval
from httpbed.analysis.findings import Findings, find
from httpbed.analysis.sample import Bounded
from httpbed.report import drawing, html_tables, levels, network, notes, publish
from httpbed.report.answer import answer
from httpbed.report.figures import LABEL_POINTS, against_factors, plots, spread
from httpbed.report.phrasing import beside, covering, goodput_number, number_format, ratio_text


def sentences(findings: Findings, document: Mapping[str, Any]) -> list[str]:
    """Return the answer as text."""
    return [str(sentence) for sentence in answer(findings, document)]


DELIVERED = {"delivered": "200 kB", "to": "client"}
FACTORS = {
    "net": ["lte", "dsl"],
    "some": ["1 %", "2 %"],
    "named": {"none": "0 %", "bursts": {"to_bad": "0.5 %", "to_good": "30 %"}},
}
TIMES = {"1.1": 1.3, "2": 1.0, "3": 0.8}


def apart(levels: Mapping[str, str], block: int) -> float:
    """Give the versions times that are clearly apart."""
    return TIMES[levels["http_version"]] * (1 + block / 100)


@pytest.mark.parametrize(
    ("metric", "values", "first"),
    [
        ("request_time", [0.98, 1.9], "0.98 s"),
        ("request_time", [8.449, 600.0], "8.45 s"),
        ("request_time", [123.46], "123.5 s"),
        ("rtt", [0.0502], "50.20 ms"),
        ("queue_delay_p50", [0.0000421], "42.10 us"),
        ("goodput", [8.2e6], "8.20 Mbit/s"),
        ("retransmitted_share", [0.0213], "2.13 %"),
        ("retransmitted_share", [0.0], "0.00 %"),
    ],
)
def test_units_by_size(metric: str, values: list[float], first: str) -> None:
    """A value is written with the prefix that its table needs."""
    assert number_format(metric, values).bounded(Bounded(values[0])) == first


def test_bounds_are_marked() -> None:
    """A bound carries its sign, and no decimals that it does not have."""
    times = number_format("request_time", [1.5])
    assert times.bounded(Bounded(600.0, ">")) == "> 600 s"
    assert times.interval(Interval(Bounded(1.5), Bounded(600.0, ">"), 0.95)) == "1.50 .. > 600"
    assert ratio_text(Bounded(0.004, "<")) == "< 0.004x"
    assert ratio_text(Bounded(133.3, ">")) == "> 133x"


@pytest.mark.parametrize(
    ("value", "ceiling", "text"),
    [
        (Bounded(40e3), 50e3, "40.00"),
        (Bounded(8.2e6), 10e6, "8.20"),
        (Bounded(1.5e9), 2e9, "1.50"),
        (Bounded(8.2e6), None, "8.20"),
        (Bounded(8e3 / 600, "<"), 10e6, "< 0.000013"),
        (Bounded(8e6 / 600, "<"), 50e3, "< 13.33"),
        (Bounded(0.0), 10e6, "0.00"),
    ],
)
def test_goodput_by_its_ceiling(value: Bounded, ceiling: float | None, text: str) -> None:
    """In the ceiling's unit, and never rounded to nothing."""
    assert goodput_number(value, ceiling, 2) == text


def test_the_page_writes_goodput_in_the_unit_of_its_ceiling(tmp_path: Path) -> None:
    """As the terminal does."""
    text = VERSIONS.replace('rate = "10 Mbit/s"', 'rate = "50 kbit/s"')
    results = campaign(lambda *_: 200.0, text, tmp_path)
    found = find(results)
    assert html_tables.headings(found).goodput == "goodput of 50 kbit/s"
    (first, *_) = html_tables.groups(found, results.document)
    assert {line.goodput for line in first.lines} == {"40.00"}


def test_the_answer_in_words() -> None:
    """Each comparison is a sentence with its evidence."""
    results = campaign(apart)
    texts = sentences(find(results), results.document)
    assert texts[0] == "The link: 10 Mbit/s and 25 ms each way."
    assert texts[-1] == (
        "At 2 % loss, HTTP/3 needed 0.80x the time of HTTP/2"
        " (93.75 % interval 0.80 .. 0.80; less in 5 of 5 blocks)."
    )
    last = answer(find(results), results.document)[-1]
    assert last.evidence.startswith("93.75 %")
    assert last.evidence not in last.text


def test_equal_treatments_are_called_equal() -> None:
    """To within the margin, which is said."""
    results = campaign(lambda _levels, block: 1 + block / 100)
    texts = sentences(find(results), results.document)
    assert "needed the same time as HTTP/2, to within 1 % (" in texts[1]


def test_another_metric_is_named() -> None:
    """Time is needed, goodput is had."""
    results = campaign(apart)
    assert (
        "had 1.25x the goodput of HTTP/2"
        in sentences(find(results, "goodput"), results.document)[2]
    )


def test_many_comparisons_are_summed_up() -> None:
    """Forty sentences are no answer."""
    text = VERSIONS.replace('["0 %", "2 %"]', '["0 %", "1 %", "2 %", "3 %"]')
    results = campaign(apart, text)
    texts = sentences(find(results), results.document)
    assert len(texts) == 3
    assert texts[2].startswith(
        "Request time of HTTP/3 against HTTP/2, over 4 conditions: less in 4;"
    )


def test_that_nothing_is_settled_is_said_once() -> None:
    """With the extremes; a single block has no interval, which is not the same as noise."""
    text = VERSIONS.replace("replicates = 5", "replicates = 1")
    results = campaign(apart, text)
    findings = find(results)
    words = sentences(findings, results.document)[-1]
    assert words.startswith("Nothing is settled at n = 1: all 4 comparisons are of a single block")
    assert "went from 0.80x (HTTP/3 at 0 % loss) to 1.30x (HTTP/1.1 at" in words
    lines = [
        line for group in html_tables.groups(findings, results.document) for line in group.lines
    ]
    assert {line.aside for line in lines} == {"", "n = 1"}
    texts = "; ".join(notes.notes(findings, results))
    assert "4 comparisons of a single block cannot be told from noise" in texts
    assert "within noise" not in texts


def test_many_treatments_are_rows() -> None:
    """Few conditions beside each other are read, ten treatments are cut off."""
    few = html_tables.overview(find(campaign(apart)), campaign(apart).document)
    assert (few.corner, few.columns) == ("condition", ("HTTP/1.1", "HTTP/2", "HTTP/3"))
    text = VERSIONS.replace("[factors]", '[factors]\ncc = ["reno", "cubic"]')
    results = campaign(apart, text)
    many = html_tables.overview(find(results), results.document)
    assert (many.corner, len(many.columns), len(many.rows)) == ("treatment", 2, 6)
    assert all(line and line.treatment == name for name, lines in many.rows for line in lines)


def test_the_base_is_named_as_treatments_are() -> None:
    """In the order of the factors, however it was asked for."""
    text = VERSIONS.replace("[factors]", '[factors]\ncc = ["reno", "cubic"]')
    base = {"http_version": "3", "cc": "cubic"}
    assert html_tables.headings(find(campaign(apart, text), base=base)).base == "cubic, HTTP/3"


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [("jain_index", 0.7116, "0.712"), ("connections", 6.0, "6"), ("share", 0.7116, "71.16 %")],
)
def test_what_is_no_share_has_no_percent(metric: str, value: float, text: str) -> None:
    """A number between 0 and 1, or a count, is one."""
    assert number_format(metric, [value]).bounded(Bounded(value)) == text


def test_nothing_compared_is_said() -> None:
    """Rather than nothing at all."""
    results = campaign(lambda *_: None)
    assert sentences(find(results), results.document) == [
        "No trial has a value of request time yet."
    ]


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


def test_json_holds_no_infinity(tmp_path: Path) -> None:
    """A censored figure is its bound and the side on which it lies."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if levels["http_version"] == "2":
            return Ending({}, "timed out", "still busy")
        return timed(apart(levels, block))

    results = campaign(ends)
    found = publish.summary(results, tmp_path / "report.html")
    again = json.loads(json.dumps(found, allow_nan=False))
    base, third = again["treatments"][1:3]
    assert base["estimate"]["median"] == {"value": 600.0, "beyond": ">"}
    assert base["is_base"]
    assert third["ratio"]["median"]["beyond"] == "<"
    assert again["trials"]["outcomes"] == {"completed": 20, "timed out": 10}
    assert again["report"].endswith("report.html")
    assert publish.invalid_remain(results) is False


@pytest.mark.parametrize(("ceiling", "text"), [(50e3, "40.0"), (1e7, "0.0"), (None, "0.0")])
def test_a_goodput_is_told_in_its_ceilings_unit(ceiling: float | None, text: str) -> None:
    """At 50 kbit/s, 40 kbit/s are not nothing."""
    assert beside(ceiling, 1).number(40e3) == text


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
def test_a_link_is_said_in_words(link: dict[str, Any], text: str) -> None:
    """As its author wrote it, with what its profile fills in."""
    described = {"between": ["client", "server"], **link}
    document = {"topology": {"links": [described]}, "factors": FACTORS}
    (facts,) = network.links(document)
    assert text in network.sentence(facts)


@pytest.mark.parametrize(
    ("shares", "heading"),
    [
        ([0.95, 0.98], "95 % interval"),
        ([0.9375, 0.9375], "93.75 % interval"),
        ([0.5, 0.875, 0.98], "interval of at least 50 %"),
        ([], "interval"),
    ],
)
def test_a_heading_never_claims_more_than_every_interval_covers(
    shares: list[float], heading: str
) -> None:
    """The least of what they cover, and that it is the least."""
    assert covering(Interval(Bounded(1.0), Bounded(2.0), share) for share in shares) == heading


def test_headings_where_replicates_are_missing(tmp_path: Path) -> None:
    """One treatment has two values, the others five: the page, the figure and the table say so."""
    results = campaign(
        lambda levels, block: (
            None if levels["http_version"] == "3" and block > 2 else apart(levels, block)
        ),
        directory=tmp_path,
    )
    found = find(results)
    heading = html_tables.headings(found)
    assert heading.interval == heading.ratio_interval == "interval of at least 50 %"
    assert "the bar its interval of at least 50 %." in plots(found, results.document)[0].caption


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


def test_the_answer_does_not_hide_that_the_link_changes() -> None:
    """Its rate holds at first only."""
    change = 'delay = "25 ms"\nschedule = [{ at = "300 ms", rate = "1 Mbit/s" }]'
    results = campaign(apart, VERSIONS.replace('delay = "25 ms"', change))
    texts = sentences(find(results), results.document)
    assert texts[0] == "The link: 10 Mbit/s and 25 ms each way, at first."


@pytest.mark.parametrize(
    ("link", "lines"),
    [
        (
            {"loss": {"to_bad": "0.5 %", "to_good": "30 %"}, "rate": "5 Mbit/s"},
            ["5 Mbit/s, no delay", "1.6 % loss in bursts", "queue 1000 packets"],
        ),
        (
            {"profile": "zhang2023-500k", "down": {"rate": "0.5 Mbit/s", "jitter": "5 ms"}},
            ["← 0.5 Mbit/s, no delay", "no loss, 5 ms jitter, 1 more"],
        ),
        ({"loss": {"factor": "many"}}, ["loss of 30 levels"]),
        ({"loss": {"packets": [1]}, "duplication": "0.048 %", "corruption": "0.012 %"}, ["2 more"]),
        ({"rate": {"trace": "long/" * 20}, "delay": "25 ms"}, ["rate of a trace, 25 ms"]),
        ({"schedule": [{"at": "1 s", "loss": "1 %"}]}, ["queue 1000 packets, then changing"]),
        ({"events": [{"when": DELIVERED, "loss": "1 %", "direction": "up"}]}, ["then changing"]),
    ],
    ids=str,
)
def test_the_drawing_is_short_by_meaning(link: dict[str, Any], lines: list[str]) -> None:
    """Nothing is cut off inside a word or a figure, and nothing is wider than its place."""
    described = {"between": ["client", "server"], **link}
    many = {"many": [f"{share} %" for share in range(30)]}
    document = {
        "topology": {"hosts": ["client", "server"], "links": [described]},
        "factors": FACTORS | many,
    }
    drawn = str(drawing.topology(document, upright=False))
    texts = re.findall(r'<text class="fact"[^>]*>([^<]*)</text>', drawn)
    assert all(any(line in text for text in texts) for line in lines), texts
    assert not [text for text in texts if "…" in text or len(text) > drawing.MOST_CHARACTERS + 2]


def test_names_of_curves_stay_apart_and_within_their_panel() -> None:
    """Where many end at the top, the lower ones give way."""
    places = spread([10.0, 95.0, 96.0, 97.0], 100.0)
    assert places[0] == 10
    assert places[-1] == 100
    assert all(b - a >= LABEL_POINTS - 1e-9 for a, b in pairwise(places))
