"""Quantities with units: parsing, rejection of malformed text, and formatting."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.base import units
from httpbed.base.errors import RejectedValueError
from httpbed.base.units import (
    parse_duration,
    parse_rate,
    parse_share,
    parse_signed_duration,
    parse_size,
)
from httpbed.experiment.impairments.queue import QueueLimit, parse_queue_limit

PARSERS: dict[str, Callable[[object], object]] = {
    "rate": parse_rate,
    "duration": parse_duration,
    "signed duration": parse_signed_duration,
    "share": parse_share,
    "size": parse_size,
    "queue limit": parse_queue_limit,
}
every_parser = pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_rate, "10 Mbit/s", 10_000_000),
        (parse_rate, "1.5 Mbit/s", 1_500_000),
        (parse_rate, "100Gbit/s", 10**11),
        (parse_duration, "25 ms", 0.025),
        (parse_duration, "0 ms", 0.0),
        (parse_duration, "200 us", 0.0002),
        (parse_duration, "2 min", 120.0),
        (parse_share, "4 %", 0.04),
        (parse_share, "0.5 %", 0.005),
        (parse_share, "100 %", 1.0),
        (parse_size, "1 MB", 10**6),
        (parse_size, "1 MiB", 2**20),
        (parse_size, "1.5 kB", 1500),
        (parse_queue_limit, "1000 packets", QueueLimit(1000, "packets")),
        (parse_queue_limit, "64 KiB", QueueLimit(65536, "bytes")),
        (parse_queue_limit, "70 ms", QueueLimit(0.07, "s")),
        (parse_signed_duration, "-2 ms", -0.002),
        (parse_rate, "200 bit/s", 200),
        (parse_queue_limit, "0.5 BDP", QueueLimit(0.5, "BDP")),
    ],
)
def test_a_quantity_is_converted_by_its_unit(
    parse: Callable[[object], object], text: str, value: object
) -> None:
    """Decimal prefixes are powers of ten, binary ones powers of two; the space is optional."""
    assert parse(text) == value


@given(st.integers(1, 10**5), st.sampled_from(["kbit/s", "Mbit/s"]))
def test_a_rate_survives_the_round_trip(number: int, unit: str) -> None:
    """The parsed rate is exact in whole bits per second."""
    scale = {"kbit/s": 10**3, "Mbit/s": 10**6}[unit]
    assert parse_rate(f"{number} {unit}") == number * scale


@given(st.integers(0, 100_000))
def test_a_share_is_the_decimal_that_was_written(thousandths: int) -> None:
    """``2 %`` is the float nearest to 0.02, so Rust and Python compare with the same value."""
    text = f"{Decimal(thousandths) / 1000} %"
    assert parse_share(text) == float(Decimal(thousandths) / 100_000)


@given(st.integers(0, 10**9), st.sampled_from(sorted(units.SIZES)))
def test_a_size_is_a_whole_number_of_bytes(number: int, unit: str) -> None:
    """Sizes are exact integers of any magnitude."""
    assert parse_size(f"{number} {unit}") == number * units.SIZES[unit]


@every_parser
@given(st.integers() | st.floats() | st.booleans() | st.none() | st.lists(st.text()))
def test_a_value_without_unit_is_rejected(parse: Callable[[object], object], value: object) -> None:
    """A TOML number, boolean or list in the place of a quantity is rejected."""
    with pytest.raises(ValueError, match="is not a text with a number and a unit"):
        parse(value)


@every_parser
@given(st.text(max_size=30) | st.from_regex(r"[-+0-9.eE]{1,12} ?[a-zA-Z%/]{0,9}", fullmatch=True))
def test_any_text_is_parsed_or_rejected_with_value_error(
    parse: Callable[[object], object], text: str
) -> None:
    """Parsers raise no exception but ``ValueError``."""
    with contextlib.suppress(ValueError):
        parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (parse_rate, "10", "the unit is missing"),
        (parse_rate, "10 Mbps", "unknown unit 'Mbps'"),
        (parse_rate, "10 mbit/s", "unknown unit 'mbit/s'"),
        (parse_rate, "-10 Mbit/s", "negative"),
        (parse_rate, "0 Mbit/s", "below 200 bit/s"),
        (parse_rate, "1 Tbit/s", "unknown unit"),
        (parse_rate, "0.199 kbit/s", "below 200 bit/s"),
        (parse_rate, "1000 Gbit/s", "above 100 Gbit/s"),
        (parse_rate, "fast", "not a number"),
        (parse_rate, "1.2.3 Mbit/s", "not a number"),
        (parse_rate, "٣ Mbit/s", "not a number"),
        (parse_duration, "-1 ms", "negative"),
        (parse_duration, "nan s", "not a number"),
        (parse_duration, "inf s", "not a number"),
        (parse_share, "0.04", "the unit is missing"),
        (parse_share, "101 %", "above 100 %"),
        (parse_share, "-0.1 %", "negative"),
        (parse_size, "0.5 B", "not a whole number"),
        (parse_size, "1 Mb", "unknown unit"),
        (parse_queue_limit, "0 packets", "holds no packet"),
        (parse_queue_limit, "100 B", "holds no packet"),
        (parse_queue_limit, "-1 BDP", "holds no packet"),
        (parse_queue_limit, "10 Mbit", "unknown unit"),
        (parse_queue_limit, "0 ms", "holds no packet"),
        (parse_queue_limit, "2 h", "too large"),
        *((parse, f"1e{exponent} {unit}", "out of range|holds no packet|not a number|too large")
          for exponent in (40, 400, 10**5, 10**9, 10**20)
          for parse, unit in (
              (parse_rate, "Mbit/s"), (parse_duration, "h"), (parse_share, "%"),
              (parse_size, "GB"), (parse_queue_limit, "packets"), (parse_queue_limit, "BDP"))),
        (parse_size, "9" * 10**6 + " B", "too long"),
        (parse_size, "1" + " " * 10**5 + "é\nb", "too long"),
    ],
)  # fmt: skip
def test_a_malformed_quantity_is_rejected_with_its_reason(
    parse: Callable[[object], object], text: str, reason: str
) -> None:
    """Wrong units, signs and magnitudes; a huge exponent is rejected without being expanded."""
    with pytest.raises(ValueError, match=reason):
        parse(text)


def test_a_rejected_quantity_has_its_remedy_apart_from_the_reason() -> None:
    """An option is written otherwise than a key of the file, so its reader gives the example."""
    with pytest.raises(RejectedValueError) as caught:
        parse_rate("fast", example="10mbit")
    assert caught.value.reason == "'fast' is not a number with a unit"
    assert caught.value.remedy == "write it like '10mbit'"


@pytest.mark.parametrize(
    ("text", "rate_bit_s", "rtt_s", "limit"),
    [
        ("1 BDP", 10_000_000, 0.05, ("packets", 42)),
        ("1 BDP", 10_000_000, 0.0, ("packets", 10)),
        ("2 BDP", 100_000_000, 0.1, ("packets", 1667)),
        ("1000 packets", 10_000_000, 0.05, ("packets", 1000)),
        ("64 KiB", 10_000_000, 0.05, ("bytes", 65536)),
        ("70 ms", 10_000_000, 0.05, ("ns", 70_000_000)),
    ],
)
def test_a_queue_in_bdp_holds_at_least_ten_packets(
    text: str, rate_bit_s: int, rtt_s: float, limit: tuple[str, int]
) -> None:
    """Packets are rounded up; a sender's initial window fits."""
    assert parse_queue_limit(text).resolved(rate_bit_s, rtt_s) == limit


@pytest.mark.parametrize(
    ("bit_s", "text"),
    [
        (0, "0 bit/s"),
        (999, "999 bit/s"),
        (1500, "1.5 kbit/s"),
        (999_499, "999 kbit/s"),
        (999_500, "1 Mbit/s"),
        (9_999_999, "10 Mbit/s"),
    ],
)
def test_a_measured_rate_is_formatted_with_three_digits(bit_s: float, text: str) -> None:
    """The prefix is that of the rounded rate."""
    assert units.format_rate(bit_s, units.SHORT_DIGITS) == text


def test_sizes_durations_and_shares_are_formatted_with_their_units() -> None:
    """Decimal prefixes, as the parsers read them."""
    assert units.format_size(26_532, units.SHORT_DIGITS) == "26.5 kB"
    assert units.format_duration(0.025) == "25 ms"
    assert units.format_duration(0.9999999) == "1 s"
    assert units.format_share(0.04) == "4 %"


@given(st.integers(units.SLOWEST_BIT_S, 999_999).map(lambda n: n * 10**5) | st.just(200))
def test_a_formatted_rate_parses_to_the_same_rate(bit_s: int) -> None:
    """Six digits keep every rate of that many significant digits."""
    if bit_s <= units.FASTEST_BIT_S:
        assert units.parse_rate(units.format_rate(bit_s)) == bit_s
