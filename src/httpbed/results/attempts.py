"""The attempts that count: which of them are typical, their checks, and pauses between them.

Comparisons are made within a block because its trials share the state of the machine. A pause of an
hour or more, because a run broke off or a block grew, weakens that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from httpbed.experiment.check import CheckDescriptor, all_checks
from httpbed.store.results import Results

AttemptRow = Mapping[str, Any]
MIN_PAUSE_S = 3600.0
FEW_FIGURES = 3


def valid(results: Results) -> list[dict[str, Any]]:
    """Return the rows of the attempts that count and whose bed held, by block and position."""
    rows = [row for row in results.last_attempts if row["outcome"] != "invalid"]
    return sorted(rows, key=lambda row: (row["block"], row["position"]))


def invalid(results: Results) -> list[dict[str, Any]]:
    """Return the rows of the attempts that the bed made invalid, repeated ones included."""
    rows = results.trials.filter(pc.equal(results.trials["outcome"], "invalid"))
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


def typical(
    rows: Sequence[AttemptRow], values: Mapping[tuple[str, int], float]
) -> list[AttemptRow]:
    """Order rows by the distance of their value to the median; rows without a value come last."""
    known = [value for row in rows if (value := value_of(row, values)) is not None]
    middle = float(np.median(known)) if known else 0.0

    def distance(row: AttemptRow) -> tuple[float, int]:
        value = value_of(row, values)
        return (float("inf") if value is None else abs(value - middle), row["block"])

    return sorted(rows, key=distance)


def value_of(row: AttemptRow, values: Mapping[tuple[str, int], float]) -> float | None:
    """Return an attempt's value among those by trial and attempt; None if it has none."""
    return values.get((row["trial"], row["attempt"]))


def pauses_s(results: Results) -> dict[int, float]:
    """Return the longest pause between trials of a block, of each block that has a long one."""
    times = defaultdict[int, list[tuple[datetime, datetime]]](list)
    for row in valid(results):
        began = datetime.fromisoformat(row["started"])
        times[row["block"]].append((began, began + timedelta(seconds=row["wall_s"])))
    found = {block: _longest_s(sorted(spans)) for block, spans in sorted(times.items())}
    return {block: pause for block, pause in found.items() if pause >= MIN_PAUSE_S}


def _longest_s(spans: list[tuple[datetime, datetime]]) -> float:
    pauses = (after[0] - before[1] for before, after in pairwise(spans))
    return max((pause.total_seconds() for pause in pauses), default=0.0)


# Validity: each check over the trials that count, and each invalid attempt.


@dataclass(frozen=True)
class CheckSummary:
    """One validity check over all trials whose outcome is data."""

    check: str
    """Its id."""
    item: str
    name: str
    of: str
    """``bed`` or ``subject``."""
    passed: int
    failed: int
    not_observed: int
    figure: str
    """The observed values, of failed checks if there are any: all if they are few, else the
    largest."""
    limit: str
    """The limit, or that it differs by trial; empty without a limit."""
    measured: float | None
    """The largest value in those checks, in ``unit``; None if they measured nothing."""
    unit: str

    @property
    def total(self) -> int:
        """Number of trials that have this check."""
        return self.passed + self.failed + self.not_observed

    @property
    def descriptor(self) -> CheckDescriptor | None:
        """Its descriptor; None if the addon that has it is not installed."""
        return all_checks().get(self.check)

    @property
    def kind(self) -> str:
        """The name that it shares with the same check at other places, and with its group."""
        known = self.descriptor
        return (known.group or known.title(item=self.item)) if known else self.check

    @property
    def is_unobserved_strain(self) -> bool:
        """Whether only a busy machine breaks it, and no trial observed it."""
        known = self.descriptor
        return known is not None and known.by_strain and self.passed + self.failed == 0


@dataclass(frozen=True)
class InvalidAttempt:
    """An attempt that the bed made invalid."""

    block: int
    trial: str
    attempt: int
    levels: Mapping[str, str]
    reason: str
    retried: bool
    """Whether a later attempt at the same trial exists."""


def check_summaries(results: Results) -> tuple[CheckSummary, ...]:
    """Summarise each check, in the order in which trials list them."""
    rows = results.checks.filter(_of_counted_trials(results, results.checks))
    names = rows["name"].unique()
    return tuple(_summary(rows.filter(pc.equal(rows["name"], name))) for name in names)


def _of_counted_trials(results: Results, table: pa.Table) -> pa.ChunkedArray:
    """Return for each row whether its attempt is the last of a trial, and valid."""
    keys = [f"{row['trial']}/{row['attempt']}" for row in valid(results)]
    attempts = pc.cast(table["attempt"], pa.string())
    return pc.is_in(
        pc.binary_join_element_wise(table["trial"], attempts, "/"), pa.array(keys, pa.string())
    )


def invalid_attempts(results: Results) -> tuple[InvalidAttempt, ...]:
    """List every invalid attempt, in order of block and trial."""
    last = {row["trial"]: row["attempt"] for row in results.last_attempts}
    found = [
        InvalidAttempt(
            block=row["block"],
            trial=row["trial"],
            attempt=row["attempt"],
            levels=results.levels(row),
            reason=row["reason"] or "no reason given",
            retried=row["attempt"] < last[row["trial"]],
        )
        for row in invalid(results)
    ]
    return tuple(sorted(found, key=lambda attempt: (attempt.block, attempt.trial, attempt.attempt)))


def broken_checks(results: Results) -> dict[tuple[str, int], str]:
    """Return the first broken check of the bed by trial and attempt: its name, or its figure."""
    checks = results.checks
    broken = pc.and_(pc.equal(checks["of"], "bed"), pc.equal(checks["passed"], False))
    figures: dict[tuple[str, int], str] = {}
    for row in checks.filter(broken).to_pylist():
        known = all_checks().get(row["check"])
        says = row["figure"] if known and known.is_explicit else row["name"]
        figures.setdefault((row["trial"], row["attempt"]), says)
    return figures


def why_invalid(results: Results) -> Counter[str]:
    """Count why the bed failed in trials without a valid attempt, by the last attempt of each."""
    broken = broken_checks(results)
    return Counter(broken.get(key, reason) for key, reason in _lacking(results).items())


def lack_for_strain(results: Results) -> bool:
    """Whether a busy machine is among the reasons why trials lack a valid attempt."""
    lacking = _lacking(results)
    broken = results.checks.filter(pc.equal(results.checks["passed"], False))
    columns = zip(
        *(broken[name].to_pylist() for name in ("trial", "attempt", "check")), strict=True
    )
    return any(
        (trial, attempt) in lacking and (known := all_checks().get(check)) and known.by_strain
        for trial, attempt, check in columns
    )


def _lacking(results: Results) -> dict[tuple[str, int], str]:
    """Return the reasons of the last attempts at trials without a valid one."""
    return {
        (row["trial"], row["attempt"]): row["reason"] or "no reason given"
        for row in results.last_attempts
        if row["outcome"] == "invalid"
    }


def _summary(rows: pa.Table) -> CheckSummary:
    limits = rows["limit"].unique()
    failed = rows.filter(pc.equal(rows["passed"], False))
    observed = rows.filter(rows["passed"])
    shown = next((one for one in (failed, observed) if len(one)), rows)
    most = _largest(shown)
    return CheckSummary(
        check=most["check"],
        item=most["item"],
        name=most["name"],
        of=most["of"],
        passed=len(observed),
        failed=len(failed),
        not_observed=len(rows) - len(observed) - len(failed),
        figure=_figure(shown, most),
        limit=str(limits[0]) if len(limits) == 1 else "differs by trial",
        measured=most["measured"],
        unit=most["unit"],
    )


def _largest(rows: pa.Table) -> dict[str, Any]:
    """Return the first row with the largest value; the first one if none measured anything."""
    largest = pc.max(rows["measured"])
    place = pc.index(rows["measured"], largest).as_py() if largest.is_valid else 0
    (row,) = rows.slice(place, 1).to_pylist()
    return dict(row)


def _figure(rows: pa.Table, most: Mapping[str, Any]) -> str:
    figures = rows["figure"].unique()
    return "; ".join(sorted(figures.to_pylist())) if len(figures) <= FEW_FIGURES else most["figure"]
