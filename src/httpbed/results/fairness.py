"""Fairness of an allocation."""

from __future__ import annotations

from collections.abc import Collection


def jain(rates: Collection[float]) -> float:
    """Return Jain's fairness index: 1 for equal rates, 1/n when one of n rates is not zero.

    Source: Jain, Chiu, Hawe, A quantitative measure of fairness and discrimination, DEC TR-301,
    1984.
    """
    squares = sum(rate * rate for rate in rates)
    return float(sum(rates) ** 2 / (len(rates) * squares)) if squares else 1.0
