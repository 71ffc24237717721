"""What ``httpbed gate`` does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import gate_report as gate
from httpbed.addons.claims import judging, regression
from httpbed.addons.claims.gate_verb import MARGIN
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.addons.claims.regression import GateVerdict, TreatmentChange
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli import campaign_folders
from httpbed.cli.echo import echo
from httpbed.experiment.metric import METRICS
from httpbed.report import terminal
from httpbed.results import findings, selection
from httpbed.results.selection import SelectedArm
from httpbed.store.results import Results


def run(
    context: click.Context,
    *,
    baseline: Path,
    campaign: Path,
    margin: float | None,
    metric: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Compare the campaign in DIR with a BASELINE campaign, and exit with 1 on a regression."""
    old, now = campaign_folders.read((baseline, campaign))
    _require_shared_treatments(old, now)
    judged = judging.judge(now) if _stated(now) else ()
    metric_name = metric or findings.default_metric(now)
    share = units.parse_share(MARGIN) if margin is None else margin
    if judged and margin is None and metric is None:
        changes = regression.that_complete_less(old, now, metric_name)
    else:
        changes = _changes(old, now, metric_name, share)
    selected = {one.directory: selection.selected_arms(one) for one in (old, now)}
    verdict = "refused" if any(selected.values()) else _verdict(judged, changes)
    if as_json:
        compared = gate.values(changes, metric_name, share) if changes else None
        echo(json.dumps(_values(now, verdict, judged, compared, selected), indent=1))
    else:
        out = terminal.console()
        if judged:
            claims.show(now, judged, out)
        if changes:
            gate.show(changes, metric_name, out)
            echo(gate.sentence(changes))
        for note in gate.notes(old, now):
            echo(f"note: {note}", err=True)
        echo(gate.refusal(selected) or gate.closing(verdict, judged, changes, strict=strict))
    failed = {"regression", "refused"} | ({"inconclusive"} if strict else set())
    context.exit(int(verdict in failed))


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


def _stated(results: Results) -> bool:
    return bool(results.stated_experiment.claims)


def _changes(old: Results, now: Results, metric: str, margin: float) -> tuple[TreatmentChange, ...]:
    if METRICS[metric].better == "neither":
        reason = f"neither direction of {metric} is worse"
        raise ConfigError([Mistake("--metric", reason, "choose another metric")])
    return regression.compare(old, now, metric, margin)


def _verdict(judged: Sequence[JudgedClaim], changes: Sequence[TreatmentChange]) -> GateVerdict:
    found = {one.main.verdict for one in judged}
    of_treatments = regression.verdict(changes) if changes else "pass"
    if found & {"contradicted", "no difference"} or of_treatments == "regression":
        return "regression"
    return "pass" if found <= {"reproduced"} and of_treatments == "pass" else "inconclusive"


def _values(
    now: Results,
    verdict: GateVerdict,
    judged: Sequence[JudgedClaim],
    compared: Mapping[str, Any] | None,
    selected: Mapping[Path, Sequence[SelectedArm]],
) -> Mapping[str, Any]:
    found = claims.values(now, judged)["claims"] if judged else []
    return {
        "schema": 1,
        "verdict": verdict,
        "claims": found,
        "comparison": compared,
        "refused_arms": gate.arm_values(selected),
    }
