"""Validity: each check over the trials that count, and each invalid attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from httpbed.experiment.check import CHECK_BY_ID
from httpbed.results import sample
from httpbed.store.results import Results

FEW_FIGURES = 3


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
    def kind(self) -> str:
        """The name that it shares with the same check at other places, and with its group."""
        descriptor = CHECK_BY_ID.get(self.check)
        if descriptor is None:  # of an addon that is not installed
            return self.check
        return descriptor.group or descriptor.title(item=self.item)

    @property
    def is_note(self) -> bool:
        """Whether it only explains other results, and is never observed."""
        descriptor = CHECK_BY_ID.get(self.check)
        return descriptor is not None and descriptor.is_note

    @property
    def is_unobserved_strain(self) -> bool:
        """Whether only a busy machine breaks it, and no trial observed it."""
        descriptor = CHECK_BY_ID.get(self.check)
        by_strain = descriptor is not None and descriptor.by_strain
        return by_strain and self.passed + self.failed == 0


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
    counted = [row for row in results.last_attempts if row["outcome"] != "invalid"]
    keys = pa.array([f"{row['trial']}/{row['attempt']}" for row in counted], pa.string())
    attempts = pc.cast(table["attempt"], pa.string())
    return pc.is_in(pc.binary_join_element_wise(table["trial"], attempts, "/"), keys)


def invalid_attempts(results: Results) -> tuple[InvalidAttempt, ...]:
    """List every invalid attempt, in order of block and trial."""
    last = {row["trial"]: row["attempt"] for row in results.last_attempts}
    invalid = [
        InvalidAttempt(
            block=row["block"],
            trial=row["trial"],
            attempt=row["attempt"],
            levels=results.levels(row),
            reason=row["reason"] or "no reason given",
            retried=row["attempt"] < last[row["trial"]],
        )
        for row in sample.invalid_rows(results)
    ]
    return tuple(
        sorted(invalid, key=lambda attempt: (attempt.block, attempt.trial, attempt.attempt))
    )


def broken_checks(results: Results) -> dict[tuple[str, int], str]:
    """Return the first broken check of the bed by trial and attempt: its name, or its figure."""
    checks = results.checks
    broken = pc.and_(pc.equal(checks["of"], "bed"), pc.equal(checks["passed"], False))
    figures: dict[tuple[str, int], str] = {}
    for row in checks.filter(broken).to_pylist():
        known = CHECK_BY_ID.get(row["check"])
        says = row["figure"] if known and known.is_explicit else row["name"]
        figures.setdefault((row["trial"], row["attempt"]), says)
    return figures


def why_invalid(results: Results) -> Counter[str]:
    """Count why the bed failed in trials without a valid attempt, by the last attempt of each."""
    broken = broken_checks(results)
    return Counter(
        broken.get((row["trial"], row["attempt"]), row["reason"] or "no reason given")
        for row in results.last_attempts
        if row["outcome"] == "invalid"
    )


def lack_for_strain(results: Results) -> bool:
    """Whether a busy machine is among the reasons why trials lack a valid attempt."""
    lacking = {
        (row["trial"], row["attempt"])
        for row in results.last_attempts
        if row["outcome"] == "invalid"
    }
    broken = results.checks.filter(pc.equal(results.checks["passed"], False))
    columns = zip(
        *(broken[name].to_pylist() for name in ("trial", "attempt", "check")), strict=True
    )
    return any(
        (trial, attempt) in lacking and (known := CHECK_BY_ID.get(check)) and known.by_strain
        for trial, attempt, check in columns
    )


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
