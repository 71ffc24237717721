"""``httpbed gate``: fail if a campaign is worse than a baseline, or contradicts its claims."""

from __future__ import annotations

import json
from pathlib import Path

import click

from httpbed.base import units
from httpbed.cli.echo import echo
from httpbed.cli.options import CAMPAIGN, OneOf, json_option
from httpbed.cli.verb import verb
from httpbed.experiment.metric import METRICS

MARGIN = "3 %"


def _margin(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    del context, parameter
    return None if text is None else units.parse_share(text)


@verb("gate")
@click.argument("baseline", metavar="BASELINE", type=CAMPAIGN)
@click.argument("campaign", metavar="DIR", type=CAMPAIGN)
@click.option(
    "--margin",
    callback=_margin,
    metavar="SHARE",
    help=f"By how much a treatment may be worse than the baseline; default: {MARGIN}.",
)
@click.option(
    "--metric",
    type=OneOf(list(METRICS)),
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
    worse than the baseline's by more than the margin. Campaigns are refused if the invalid attempts
    of some programs exceed those of the others: their results may be selected. Exit code 0: pass,
    or inconclusive without --strict. 1: regression, or refused.
    """
    # Statistics take a second to import, which --help need not wait for.
    from httpbed.addons.claims import gate_report as report
    from httpbed.cli import campaign_folders
    from httpbed.report import terminal

    gate = report.decide(
        *campaign_folders.read((baseline, campaign)),
        metric=metric,
        margin=units.parse_share(MARGIN) if margin is None else margin,
        treatments=margin is not None or metric is not None,
    )
    if as_json:
        echo(json.dumps(report.values(gate), indent=1))
    else:
        report.show(gate, terminal.console())
        for note in report.notes(gate):
            echo(f"note: {note}", err=True)
        echo(report.closing(gate, strict=strict))
    failed = {"regression", "refused"} | ({"inconclusive"} if strict else set())
    context.exit(int(gate.verdict in failed))
