"""Notes on rates that shape nothing, and on goodputs above the rate that stands beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from httpbed.base import units
from httpbed.report.phrasing import bits_per_second
from httpbed.report.remark import Remark
from httpbed.results.findings import Condition, Findings, Row

Namer = Callable[[Condition, Row], str]
ROUNDING = 1.005
"""A goodput beyond the rate by less is printed as the rate, with three digits."""


def never_in_force(findings: Findings) -> list[str]:
    """Name each bucket that holds a whole transfer, once for all treatments that pass it."""
    texts = (one.warning() for _, row in findings.rows() for one in row.buckets if one.holds_all)
    return list(dict.fromkeys(texts))


def exceeded(findings: Findings, namer: Namer) -> Iterator[Remark]:
    """Name treatments whose median goodput is above the rate for another reason."""
    for condition, row in findings.rows():
        if not row.goodput or not row.ceiling_bit_s:
            continue
        is_marked = any(one.holds_all for one in row.buckets)
        if not is_marked and row.goodput.value > ROUNDING * row.ceiling_bit_s:
            goodput, rate = bits_per_second(row.goodput.value), bits_per_second(row.ceiling_bit_s)
            why, remedy = _why(row)
            text = f"goodput of {goodput} at {rate}, {why}"
            yield Remark(namer(condition, row), text, remedy)


def _why(row: Row) -> tuple[str, str]:
    """Return the reason and the remedy."""
    if deepest := max(
        row.buckets, key=lambda one: one.burst_bytes / max(one.size, 1), default=None
    ):
        burst, size = units.format_size(deepest.burst_bytes), units.format_size(deepest.size)
        return (
            f"because the bucket of {burst} passes that much of {size} at line speed",
            "lower burst, or fetch more",
        )
    return (
        "which is the mean of a rate that varies: a short transfer can meet its fast part",
        "fetch more to measure the mean",
    )
