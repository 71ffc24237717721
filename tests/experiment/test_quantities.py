"""Quantities in words: the unit that fits, the digits that are asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.experiment import quantities, units


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
def test_rates_at_a_glance_have_three_digits(bit_s: float, text: str) -> None:
    """The unit is that of the rounded rate."""
    assert quantities.rate(bit_s, quantities.AT_A_GLANCE) == text


def test_each_quantity_has_its_units() -> None:
    """Decimal prefixes, as ``units`` reads them."""
    assert quantities.size(26_532, quantities.AT_A_GLANCE) == "26.5 kB"
    assert quantities.duration(0.025) == "25 ms"
    assert quantities.duration(0.9999999) == "1 s"
    assert quantities.share(0.04) == "4 %"


@given(st.integers(units.SLOWEST_BIT_S, 999_999).map(lambda n: n * 10**5) | st.just(200))
def test_what_is_written_is_read_again(bit_s: int) -> None:
    """With six digits nothing of a usual rate is lost."""
    if bit_s <= units.FASTEST_BIT_S:
        assert units.parse_rate(quantities.rate(bit_s)) == bit_s
