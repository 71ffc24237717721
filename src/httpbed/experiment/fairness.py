"""How evenly something is shared out."""

from __future__ import annotations

from collections.abc import Collection


def jain(rates: Collection[float]) -> float:
    """Fairness of an allocation: 1 when all are equal, 1/n when one has everything.

    Jain, Chiu, Hawe: A quantitative measure of fairness and discrimination, DEC TR-301, 1984.
    """
    squares = sum(rate * rate for rate in rates)
    return float(sum(rates) ** 2 / (len(rates) * squares)) if squares else 1.0
