"""What is wrong with the values of an archive's tables: nothing else vouches for them.

The columns have their kinds already (:mod:`httpbed.store.tables`). Here are the values that some
reader would not expect: names that no version of httpbed gave, numbers that are none, dates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

import pyarrow as pa
import pyarrow.compute as pc

from httpbed.experiment.trial import Attempt, OutcomeKind

FIRST = ("block", "position", "attempt")
"""Columns that count from 1."""
TIMES = ("wall_s", "time_limit_s")
LONGEST_S = 1e9
NUMBERS = ("value", "measured", *TIMES)
OWNER = ("bed", "subject")


def problems(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, str]]:
    """Yield the name of a table with what is wrong in it, one reason for each column at most."""
    attempts = set(_attempts(tables["trials"])) if "trials" in tables else None
    for name, table in tables.items():
        for column, reason in _of_columns(table):
            yield name, f"its column {column!r} has {reason}"
        if attempts is not None and name != "trials":
            if strange := set(_attempts(table)) - attempts:
                yield name, f"has rows of {min(strange)}, an attempt that is not among the trials"
        elif attempts is not None and len(attempts) != len(table):
            yield name, "has an attempt twice"


def _attempts(table: pa.Table) -> Iterable[str]:
    numbers = pc.cast(table["attempt"], pa.string())
    found: list[str] = pc.binary_join_element_wise(table["trial"], numbers, "/").to_pylist()
    return found


def _of_columns(table: pa.Table) -> Iterator[tuple[str, str]]:
    own = {*table.column_names}
    known = {"outcome": get_args(OutcomeKind), "of": OWNER}
    for name in known.keys() & own:
        if strange := [one for one in table[name].unique().to_pylist() if one not in known[name]]:
            yield name, f"{strange[0]!r}, which this httpbed does not know"
    for name in own.intersection(FIRST) if len(table) else ():
        if (least := pc.min(table[name]).as_py()) < 1:
            yield name, f"{least}; it counts from 1"
    for name in own.intersection(NUMBERS):
        if strange := [*_strange_numbers(name, table[name])]:
            yield name, f"{strange[0]}, which is no such number"
    dates = table["started"].unique().to_pylist() if "started" in own else []
    if strange := [one for one in dates if not Attempt.is_date(one)]:
        yield "started", f"{strange[0][:40]!r}, which is no date and time with a zone"


def _strange_numbers(name: str, column: pa.ChunkedArray) -> Iterator[float]:
    if pc.any(pc.is_nan(column)).as_py():
        yield math.nan
    ends = pc.min_max(column).as_py().values()
    yield from (one for one in ends if one is not None and not _is_usual(name, one))


def _is_usual(name: str, number: float) -> bool:
    return 0 <= number <= LONGEST_S if name in TIMES else math.isfinite(number)
