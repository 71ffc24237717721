"""The verdict of a gate, on the terminal and as JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from httpbed.addons.claims import regression
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.addons.claims.regression import GateVerdict, TreatmentChange
from httpbed.base.errors import visible
from httpbed.report.phrasing import DASH, listed, title, treatment
from httpbed.report.terminal import Console
from httpbed.results import selection
from httpbed.results.selection import SelectedArm
from httpbed.store import resume
from httpbed.store.results import Results

OPEN = 1e4
"""No two measured times have this ratio. Trials that timed out rank far beyond their limit."""
COLOURS = {"pass": "green", "regression": "red", "inconclusive": "yellow"}


def show(changes: Sequence[TreatmentChange], metric: str, out: Console) -> None:
    """Print a line for each treatment."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for header in (
        "treatment",
        f"{title(metric)}, now / baseline",
        "90 % interval",
        "n",
        "verdict",
    ):
        table.add_column(header)
    for one in changes:
        is_known = math.isfinite(one.ratio)
        table.add_row(
            Text(visible(treatment(one.levels, tuple(one.levels)))),
            f"{one.ratio:.3f}" if is_known else DASH,
            _interval(one),
            f"{one.pairs} paired" if one.pairs else " and ".join(map(str, one.blocks)),
            Text(": ".join(filter(None, (one.verdict, one.reason))), COLOURS[one.verdict]),
        )
    out.print(table)


def _interval(one: TreatmentChange) -> str:
    """Write the interval; trials that timed out may leave an end open."""
    if not math.isfinite(one.high):
        return DASH
    low = "any" if one.low < 1 / OPEN else f"{one.low:.3f}"
    high = "any" if one.high > OPEN else f"{one.high:.3f}"
    return f"{low} .. {high}"


def sentence(changes: Sequence[TreatmentChange]) -> str:
    """Sum up the treatments in one line."""
    counts = {kind: sum(one.verdict == kind for one in changes) for kind in COLOURS}
    found = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{len(changes)} treatments: {found}"


def notes(baseline: Results, campaign: Results) -> Iterator[str]:
    """Name what differs between the campaigns besides the results."""
    for name, before, now in resume.differences(baseline.manifest, campaign.manifest):
        yield f"{name} was {before or 'not there'} and is now {now or 'gone'}"


def values(changes: Sequence[TreatmentChange], metric: str, margin: float) -> Mapping[str, Any]:
    """Return the comparison for :func:`json.dumps`."""
    return {
        "metric": metric,
        "margin": margin,
        "verdict": regression.verdict(changes),
        "treatments": [_values(one) for one in changes],
    }


def _values(one: TreatmentChange) -> Mapping[str, Any]:
    numbers = {"ratio": one.ratio, "low": one.low, "high": one.high}
    return {
        "levels": dict(one.levels),
        "verdict": one.verdict,
        "reason": one.reason,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "blocks": list(one.blocks),
        "pairs": one.pairs,
        "completed": [one.baseline.completed, one.now.completed],
    }


def refusal(selected: Mapping[Path, Sequence[SelectedArm]]) -> str:
    """Return the last line if results of a campaign may be selected; else empty."""
    arms = [
        f"{directory}: {selection.in_words(arm)}"
        for directory, own in selected.items()
        for arm in own
    ]
    remedy = "find what makes these attempts invalid (httpbed report), then run more blocks"
    return visible(f"gate: refused: {'; '.join(arms)}; {remedy}") if arms else ""


def arm_values(selected: Mapping[Path, Sequence[SelectedArm]]) -> list[Mapping[str, Any]]:
    """Return arms whose results may be selected, for :func:`json.dumps`."""
    return [
        {
            "directory": str(directory),
            "levels": dict(one.levels),
            "trials": one.trials,
            "with_invalid_attempts": one.repeated,
            "share_of_others": one.others,
        }
        for directory, own in selected.items()
        for one in own
    ]


def closing(
    verdict: GateVerdict,
    judged: Sequence[JudgedClaim],
    changes: Sequence[TreatmentChange],
    *,
    strict: bool,
) -> str:
    """Return the last line: the verdict, its cause, and what it means for the exit code."""
    if verdict == "inconclusive":
        code = "exit code 1, because of --strict" if strict else "exit code 0; --strict gives 1"
        return f"gate: inconclusive: the campaigns cannot exclude a regression ({code})"
    if verdict == "regression":
        return f"gate: regression: {listed(list(_causes(judged, changes)))}"
    return "gate: pass"


def _causes(judged: Sequence[JudgedClaim], changes: Sequence[TreatmentChange]) -> Iterator[str]:
    contradicted = [one.stated.id for one in judged if one.main.verdict == "contradicted"]
    if contradicted:
        claims = "claim" if len(contradicted) == 1 else "claims"
        yield f"{claims} {listed(contradicted)} contradicted"
    worse = [one for one in changes if one.verdict == "regression"]
    fewer = sum(one.reason == regression.COMPLETES_LESS for one in worse)
    if len(worse) > fewer:
        yield f"{len(worse) - fewer} of {len(changes)} treatments worse than the baseline"
    if fewer:
        yield f"{fewer} {'treatment completes' if fewer == 1 else 'treatments complete'} less often"
