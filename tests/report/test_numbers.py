"""Numbers, units and intervals as the report writes them."""

from __future__ import annotations

import pytest

from httpbed.report.phrasing import goodput_number, number_format, ratio_text
from httpbed.results.estimate import Interval
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


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [("jain_index", 0.7116, "0.712"), ("connections", 6.0, "6"), ("share", 0.7116, "71.16 %")],
)
def test_what_is_no_share_has_no_percent(metric: str, value: float, text: str) -> None:
    """A number between 0 and 1, or a count, is one."""
    assert number_format(metric, [value]).bounded(Bounded(value)) == text
