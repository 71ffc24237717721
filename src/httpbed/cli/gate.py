"""``httpbed gate``: fail if a campaign is worse than a baseline, or contradicts its claims."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from httpbed.analysis import findings
from httpbed.analysis.claims import judging, regression
from httpbed.analysis.claims.judging import JudgedClaim
from httpbed.analysis.claims.regression import GateVerdict, TreatmentChange
from httpbed.cli import campaign_folders
from httpbed.cli.echo import echo
from httpbed.cli.experiment_argument import json_option
from httpbed.experiment import units
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.metric import METRICS
from httpbed.report import claims, gate, terminal
from httpbed.store import sender_records
from httpbed.store.results import Results

MARGIN = "3 %"


def _margin(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    del context, parameter
    try:
        return None if text is None else units.parse_share(text)
    except ValueError as error:
        raise ConfigError([Mistake("--margin", str(error))]) from None


@click.command("gate")
@click.argument("baseline", metavar="BASELINE", type=click.Path(path_type=Path))
@click.argument("campaign", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--margin",
    callback=_margin,
    metavar="SHARE",
    help=f"By how much a treatment may be worse than the baseline; default: {MARGIN}.",
)
@click.option(
    "--metric",
    type=click.Choice(list(METRICS)),
    metavar="METRIC",
    help="The metric to compare; default: the experiment's, else request_time.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if the verdict is inconclusive.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    baseline: Path,
    campaign: Path,
    margin: float | None,
    metric: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Compare the campaign in DIR with a BASELINE campaign, and exit with 1 on a regression.

    Use it to keep a change that slows an HTTP stack out of a branch: run the same experiment before
    and after the change, on the same machine.

    A treatment that completes less often is a regression. If the experiment in DIR has claims, so
    is a contradicted claim. Without claims, or with --margin or --metric, so is a treatment that is
    worse than the baseline's by more than the margin. Exit code 0: pass, or inconclusive without
    --strict. 1: regression.
    """
    old, now = campaign_folders.read((baseline, campaign))
    now = replace(now, manifest=sender_records.refreshed(now.manifest))
    _require_shared_treatments(old, now)
    judged = judging.judge(now) if _stated(now) else ()
    metric_name = metric or findings.default_metric(now)
    share = units.parse_share(MARGIN) if margin is None else margin
    if judged and margin is None and metric is None:
        changes = regression.that_complete_less(old, now, metric_name)
    else:
        changes = _changes(old, now, metric_name, share)
    verdict = _verdict(judged, changes)
    if as_json:
        compared = gate.values(changes, metric_name, share) if changes else None
        echo(json.dumps(_values(now, verdict, judged, compared), indent=1))
    else:
        out = terminal.console()
        if judged:
            claims.show(now, judged, out)
        if changes:
            gate.show(changes, metric_name, out)
            echo(gate.sentence(changes))
        for note in gate.notes(old, now):
            echo(f"note: {note}", err=True)
        echo(gate.closing(verdict, judged, changes, strict=strict))
    context.exit(int(verdict == "regression" or (strict and verdict == "inconclusive")))


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
    if "contradicted" in found or of_treatments == "regression":
        return "regression"
    return "pass" if found <= {"reproduced"} and of_treatments == "pass" else "inconclusive"


def _values(
    now: Results,
    verdict: GateVerdict,
    judged: Sequence[JudgedClaim],
    compared: Mapping[str, Any] | None,
) -> Mapping[str, Any]:
    found = claims.values(now, judged)["claims"] if judged else []
    return {"schema": 1, "verdict": verdict, "claims": found, "comparison": compared}
