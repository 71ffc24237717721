"""The attempts that count, and which of them are typical of their treatment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from httpbed.store.results import Results

AttemptRow = Mapping[str, Any]
"""A row of the table of trials."""


def valid(results: Results) -> list[dict[str, Any]]:
    """Return the rows of the attempts that count and whose bed held, by block and position."""
    rows = [row for row in results.last_attempts if row["outcome"] != "invalid"]
    return sorted(rows, key=lambda row: (row["block"], row["position"]))


def typical(
    rows: Sequence[AttemptRow], values: Mapping[tuple[str, int], float]
) -> list[AttemptRow]:
    """Order rows by the distance of their value to the median; rows without a value come last."""
    known = [value for row in rows if (value := _value(row, values)) is not None]
    middle = float(np.median(known)) if known else 0.0

    def distance(row: AttemptRow) -> tuple[float, int]:
        value = _value(row, values)
        return (float("inf") if value is None else abs(value - middle), row["block"])

    return sorted(rows, key=distance)


def _value(row: AttemptRow, values: Mapping[tuple[str, int], float]) -> float | None:
    return values.get((row["trial"], row["attempt"]))
