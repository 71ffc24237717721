"""The verdict of a gate, on the terminal and as JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import judging, regression
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.addons.claims.regression import GateVerdict, TreatmentChange
from httpbed.base.errors import ConfigError, Mistake, visible
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import DASH, listed, title, treatment
from httpbed.report.terminal import Console
from httpbed.results import findings, selection
from httpbed.results.selection import SelectedArm
from httpbed.store import resume
from httpbed.store.results import Results

OPEN = 1e4
"""No two measured times have this ratio. Trials that timed out rank far beyond their limit."""
COLOURS = {"pass": "green", "regression": "red", "inconclusive": "yellow"}


@dataclass(frozen=True)
class Gate:
    """A campaign against its baseline."""

    baseline: Results
    campaign: Results
    metric: str
    margin: float
    judged: Sequence[JudgedClaim]
    changes: Sequence[TreatmentChange]
    selected: Mapping[Path, Sequence[SelectedArm]]
    """By campaign: arms whose results may be selected."""

    @property
    def verdict(self) -> GateVerdict:
        """Whether the campaign is worse, or contradicts its claims."""
        if any(self.selected.values()):
            return "refused"
        of_claims = {one.main.verdict for one in self.judged}
        of_treatments = regression.verdict(self.changes) if self.changes else "pass"
        if of_claims & {"contradicted", "no difference"} or of_treatments == "regression":
            return "regression"
        is_pass = of_claims <= {"reproduced"} and of_treatments == "pass"
        return "pass" if is_pass else "inconclusive"


def decide(
    baseline: Results, campaign: Results, *, metric: str | None, margin: float, treatments: bool
) -> Gate:
    """Judge the campaign's claims, and compare its treatments with the baseline's.

    Without ``treatments``, a campaign with claims is compared only by how often it completes.

    Raises:
        ConfigError: They share no treatment, or neither direction of the metric is worse.
    """
    _require_shared_treatments(baseline, campaign)
    judged = judging.judge(campaign) if campaign.stated_experiment.claims else ()
    name = metric or findings.default_metric(campaign)
    if judged and not treatments:
        changes = regression.that_complete_less(baseline, campaign, name)
    elif METRICS[name].better == "neither":
        reason = f"neither direction of {name} is worse"
        raise ConfigError([Mistake("--metric", reason, "choose another metric")])
    else:
        changes = regression.compare(baseline, campaign, name, margin)
    selected = {one.directory: selection.selected_arms(one) for one in (baseline, campaign)}
    return Gate(baseline, campaign, name, margin, judged, changes, selected)


def _require_shared_treatments(old: Results, now: Results) -> None:
    """Refuse a baseline of another experiment, even if only claims are judged."""
    treatments, others = (
        {frozenset(zip(one.experiment.factors, levels, strict=True)) for levels in one.blocks}
        for one in (old, now)
    )
    if not treatments & others:
        reason = f"shares no treatment with {old.directory}"
        remedy = "compare two campaigns of the same experiment"
        raise ConfigError([Mistake(str(now.directory), reason, remedy)])


def show(gate: Gate, out: Console) -> None:
    """Print the claims, and a line for each treatment."""
    if gate.judged:
        claims.show(gate.campaign, gate.judged, out)
    if gate.changes:
        out.print(_table(gate.changes, gate.metric))
        out.print(Text(_sentence(gate.changes)))


def _table(changes: Sequence[TreatmentChange], metric: str) -> Table:
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
    return table


def _interval(one: TreatmentChange) -> str:
    """Write the interval; trials that timed out may leave an end open."""
    if not math.isfinite(one.high):
        return DASH
    low = "any" if one.low < 1 / OPEN else f"{one.low:.3f}"
    high = "any" if one.high > OPEN else f"{one.high:.3f}"
    return f"{low} .. {high}"


def _sentence(changes: Sequence[TreatmentChange]) -> str:
    """Sum up the treatments in one line."""
    counts = {kind: sum(one.verdict == kind for one in changes) for kind in COLOURS}
    found = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{len(changes)} treatments: {found}"


def notes(gate: Gate) -> Iterator[str]:
    """Name what differs between the campaigns besides the results."""
    manifests = gate.baseline.manifest, gate.campaign.manifest
    for name, before, now in resume.differences(*manifests):
        yield f"{name} was {before or 'not there'} and is now {now or 'gone'}"


def values(gate: Gate) -> Mapping[str, Any]:
    """Return the gate for :func:`json.dumps`."""
    compared = {
        "metric": gate.metric,
        "margin": gate.margin,
        "verdict": regression.verdict(gate.changes),
        "treatments": list(map(_values, gate.changes)),
    }
    return {
        "schema": 1,
        "verdict": gate.verdict,
        "claims": claims.values(gate.campaign, gate.judged)["claims"] if gate.judged else [],
        "comparison": compared if gate.changes else None,
        "refused_arms": list(_arm_values(gate)),
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


def _arm_values(gate: Gate) -> Iterator[Mapping[str, Any]]:
    """Yield the arms whose results may be selected."""
    for directory, arms in gate.selected.items():
        for arm in arms:
            yield {
                "directory": str(directory),
                "levels": dict(arm.levels),
                "trials": arm.trials,
                "with_invalid_attempts": arm.repeated,
                "share_of_others": arm.others,
            }


def closing(gate: Gate, *, strict: bool) -> str:
    """Return the last line: the verdict, its cause, and what it means for the exit code."""
    match gate.verdict:
        case "refused":
            arms = [
                f"{directory}: {selection.in_words(arm)}"
                for directory, own in gate.selected.items()
                for arm in own
            ]
            remedy = "find what makes these attempts invalid (httpbed report), then run more blocks"
            return visible(f"gate: refused: {'; '.join(arms)}; {remedy}")
        case "inconclusive":
            code = "exit code 1, because of --strict" if strict else "exit code 0; --strict gives 1"
            return f"gate: inconclusive: the campaigns cannot exclude a regression ({code})"
        case "regression":
            return f"gate: regression: {listed(list(_causes(gate)))}"
    return "gate: pass"


def _causes(gate: Gate) -> Iterator[str]:
    contradicted = [one.stated.id for one in gate.judged if one.main.verdict == "contradicted"]
    if contradicted:
        noun = "claim" if len(contradicted) == 1 else "claims"
        yield f"{noun} {listed(contradicted)} contradicted"
    worse = [one for one in gate.changes if one.verdict == "regression"]
    fewer = sum(one.reason == regression.COMPLETES_LESS for one in worse)
    if len(worse) > fewer:
        yield f"{len(worse) - fewer} of {len(gate.changes)} treatments worse than the baseline"
    if fewer:
        yield f"{fewer} {'treatment completes' if fewer == 1 else 'treatments complete'} less often"
