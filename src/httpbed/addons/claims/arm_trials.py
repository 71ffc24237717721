"""How the trials behind a verdict ended, and what that means for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from httpbed.addons.claims.judging import ArmJudgement
from httpbed.addons.claims.verdict import VERDICTS
from httpbed.experiment.check import CHECKS
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.results import sample as samples
from httpbed.store.results import Results

ENDINGS = ("failed", "timed out", "unsupported")
MAX_REASON = 100
"""Characters of a reason."""
EXPLICIT = frozenset(one.id for one in CHECKS if one.is_explicit)
"""Checks whose figure says by itself what is wrong."""


@dataclass(frozen=True)
class ArmTrials:
    """How the trials of some treatments ended."""

    planned: int
    outcomes: Counter[str]
    invalid_attempts: int
    """Attempts that were invalid, repeated or not."""
    reasons: Mapping[str, Counter[str]] = field(default_factory=dict)
    """How often each reason was given, by outcome; of invalid attempts the check that failed."""


class ArmTrialsReader:
    """Counts the trials of treatments in one campaign."""

    def __init__(self, results: Results) -> None:
        self._last = samples.by_treatment(results, results.last_attempts)
        self._invalid = samples.by_treatment(results, samples.invalid_rows(results))
        self._broken = _broken_checks(results)
        self._blocks = samples.planned_blocks(results)
        self._known = {treatment_key(one) for one in results.experiment.treatments()}

    def of_treatments(self, treatments: frozenset[TreatmentKey]) -> ArmTrials:
        """Return how the trials of some treatments ended."""
        used = treatments & self._known
        last = [row for key in used for row in self._last.get(key, ())]
        invalid = [row for key in used for row in self._invalid.get(key, ())]
        return ArmTrials(
            planned=sum(self._blocks.get(key, 0) for key in used),
            outcomes=Counter(row["outcome"] for row in last),
            invalid_attempts=len(invalid),
            reasons={
                "invalid": Counter(map(self._why_invalid, invalid)),
                **{kind: Counter(_reasons(last, kind)) for kind in ENDINGS},
            },
        )

    def _why_invalid(self, row: Mapping[str, Any]) -> str:
        """Return the first broken check of an attempt; the attempt's reason if it has no check."""
        return self._broken.get((row["trial"], row["attempt"]), row["reason"] or "no reason given")


def _broken_checks(results: Results) -> dict[tuple[str, int], str]:
    """Return the first broken check of the bed by trial and attempt: its name, or its figure."""
    checks = results.checks
    broken = pc.and_(pc.equal(checks["of"], "bed"), pc.equal(checks["passed"], False))
    found: dict[tuple[str, int], str] = {}
    for row in checks.filter(broken).to_pylist():
        says = row["figure"] if row["check"] in EXPLICIT else row["name"]
        found.setdefault((row["trial"], row["attempt"]), says)
    return found


def warnings(arm: ArmJudgement, trials: ArmTrials) -> Iterator[str]:
    """Yield what limits a verdict, in words."""
    estimate = arm.estimate
    if estimate and estimate.judged_cells < estimate.cells:
        missing = estimate.cells - estimate.judged_cells
        yield (
            f"{missing} of {estimate.cells} cells count as missing, because this campaign has too"
            " few values for them: the interval allows any value there"
        )
    yield from endings(trials)
    if estimate and estimate.is_constant:
        yield "all blocks of a cell have the same value"
    if estimate and estimate.coverage < 0.95 - 1e-9:
        yield f"with so few blocks the interval covers {estimate.coverage:.2%}, not 95 %"


def endings(trials: ArmTrials) -> Iterator[str]:
    """Yield how trials ended that did not complete, and the invalid attempts."""
    for kind in ENDINGS:
        if count := trials.outcomes[kind]:
            yield f"{count} of {trials.planned} trials {_verb(kind, count)}{_why(trials, kind)}"
    why = _why(trials, "invalid")
    if waiting := trials.planned - trials.outcomes.total():
        yield f"{waiting} of {trials.planned} trials have not run"
    if invalid := trials.outcomes["invalid"]:
        yield f"{invalid} of {trials.planned} trials have no valid attempt{why}"
    elif trials.invalid_attempts == 1:
        yield f"1 invalid attempt was repeated{why}"
    elif trials.invalid_attempts:
        yield f"{trials.invalid_attempts} invalid attempts were repeated{why}"


def _why(trials: ArmTrials, kind: str) -> str:
    """Name the commonest reason, and how many others there are."""
    reasons = trials.reasons.get(kind) or Counter[str]()
    if not reasons:
        return ""
    (first, _), *others = reasons.most_common()
    more = f", and {len(others)} other reason{'s' * (len(others) > 1)}" if others else ""
    return f": {first[:MAX_REASON]}{more}"


def _reasons(rows: Iterable[Mapping[str, Any]], kind: str) -> Iterator[str]:
    return (row["reason"] for row in rows if row["outcome"] == kind and row["reason"])


def _verb(kind: str, count: int) -> str:
    if kind == "unsupported":
        return "is unsupported" if count == 1 else "are unsupported"
    return kind


def counted(verdicts: Sequence[str]) -> str:
    """Count verdicts: ``7 reproduced, 2 contradicted``."""
    numbers = Counter(verdicts)
    return ", ".join(f"{numbers[one]} {one}" for one in VERDICTS if numbers[one])
