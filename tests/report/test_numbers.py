"""Numbers, units and intervals as the report writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns import VERSIONS, campaign
from httpbed.report import treatments
from httpbed.report.phrasing import beside, covering, goodput_number, number_format, ratio_text
from httpbed.results.estimate import Interval
from httpbed.results.findings import find
from httpbed.results.sample import Bounded


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
    columns = {column.header: column for column in treatments.columns(found)}
    assert {cell.text for cell in columns["goodput\nof 50 kbit/s"].cells} == {"40.0"}


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [("jain_index", 0.7116, "0.712"), ("connections", 6.0, "6"), ("share", 0.7116, "71.16 %")],
)
def test_what_is_no_share_has_no_percent(metric: str, value: float, text: str) -> None:
    """A number between 0 and 1, or a count, is one."""
    assert number_format(metric, [value]).bounded(Bounded(value)) == text


@pytest.mark.parametrize(("ceiling", "text"), [(50e3, "40.0"), (1e7, "0.0"), (None, "0.0")])
def test_a_goodput_has_the_unit_of_its_ceiling(ceiling: float | None, text: str) -> None:
    """At 50 kbit/s, 40 kbit/s are not nothing."""
    assert beside(ceiling, 1).number(40e3) == text


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
