"""Validity: each check over the trials that count, and each invalid attempt."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.analysis.sample import last_attempts
from httpbed.experiment.check import CHECK_BY_ID
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
        descriptor = CHECK_BY_ID[self.check]
        return descriptor.group or descriptor.title(item=self.item)


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
    counted = {
        (row["trial"], row["attempt"])
        for row in last_attempts(results.trials)
        if row["outcome"] != "invalid"
    }
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in results.checks.to_pylist():
        if (row["trial"], row["attempt"]) in counted:
            groups[row["name"]].append(row)
    return tuple(map(_summary, groups.values()))


def invalid_attempts(results: Results) -> tuple[InvalidAttempt, ...]:
    """List every invalid attempt, in order of block and trial."""
    last = {row["trial"]: row["attempt"] for row in last_attempts(results.trials)}
    found = [
        InvalidAttempt(
            block=row["block"],
            trial=row["trial"],
            attempt=row["attempt"],
            levels={name: row[name] for name in results.experiment.factors},
            reason=row["reason"] or "no reason given",
            retried=row["attempt"] < last[row["trial"]],
        )
        for row in results.trials.to_pylist()
        if row["outcome"] == "invalid"
    ]
    return tuple(sorted(found, key=lambda one: (one.block, one.trial, one.attempt)))


def _summary(rows: list[dict[str, Any]]) -> CheckSummary:
    limits = {row["limit"] for row in rows}
    failed = [row for row in rows if row["passed"] is False]
    observed = [row for row in rows if row["passed"]]
    shown = failed or observed or rows
    most = max(shown, key=_measured)
    return CheckSummary(
        check=most["check"],
        item=most["item"],
        name=most["name"],
        of=most["of"],
        passed=len(observed),
        failed=len(failed),
        not_observed=len(rows) - len(observed) - len(failed),
        figure=_figure(shown, most),
        limit=limits.pop() if len(limits) == 1 else "differs by trial",
        measured=most["measured"],
        unit=most["unit"],
    )


def _measured(row: Mapping[str, Any]) -> float:
    return -math.inf if row["measured"] is None else float(row["measured"])


def _figure(rows: Iterable[Mapping[str, Any]], most: Mapping[str, Any]) -> str:
    figures = sorted({str(row["figure"]) for row in rows})
    return "; ".join(figures) if len(figures) <= FEW_FIGURES else str(most["figure"])
