"""Validity: each check over the trials that count, and each invalid attempt."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.analysis.sample import last_attempts
from httpbed.store.results import Results

# A number that is not part of a name: 84 in "p99 84 us", not 99.
_NUMBER = re.compile(
    r"(?<![\w.-])(?P<number>-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)\s*(?P<unit>[a-zµ%]+)?"
)
FEW_FIGURES = 3
_SCALES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01}


@dataclass(frozen=True)
class CheckSummary:
    """One validity check over all trials whose outcome is data."""

    name: str
    of: str
    """``bed`` or ``subject``."""
    passed: int
    failed: int
    not_observed: int
    figure: str
    """What was seen, in failed checks if there are any: all figures where they are few, else
    the one with the largest number."""
    limit: str
    """What was asked, or that it differs by trial; empty where nothing was."""

    @property
    def total(self) -> int:
        """Number of trials that have this check."""
        return self.passed + self.failed + self.not_observed


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
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in results.checks.to_pylist():
        if (row["trial"], row["attempt"]) in counted:
            groups[row["name"], row["of"]].append(row)
    return tuple(_summary(name, of, rows) for (name, of), rows in groups.items())


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


def size_of(figure: str) -> float:
    """Return the first number of a check's figure, in base units; minus infinity without one."""
    match = _NUMBER.search(figure)
    if match is None:
        return float("-inf")
    return float(match["number"].replace(",", "")) * _SCALES.get(match["unit"] or "", 1.0)


def _summary(name: str, of: str, rows: list[dict[str, Any]]) -> CheckSummary:
    limits = {row["limit"] for row in rows}
    failed = [row for row in rows if row["passed"] is False]
    observed = [row for row in rows if row["passed"]]
    return CheckSummary(
        name=name,
        of=of,
        passed=len(observed),
        failed=len(failed),
        not_observed=len(rows) - len(observed) - len(failed),
        figure=_figure(failed or observed or rows),
        limit=limits.pop() if len(limits) == 1 else "differs by trial",
    )


def _figure(rows: Iterable[Mapping[str, Any]]) -> str:
    figures = sorted({str(row["figure"]) for row in rows})
    return "; ".join(figures) if len(figures) <= FEW_FIGURES else max(figures, key=size_of)
