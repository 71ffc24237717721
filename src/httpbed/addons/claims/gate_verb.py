"""``httpbed gate``: fail if a campaign is worse than a baseline, or contradicts its claims."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.base import units
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
    from httpbed.addons.claims import gate_body as body  # noqa: PLC0415 - not for --help

    body.run(
        context,
        baseline=baseline,
        campaign=campaign,
        margin=margin,
        metric=metric,
        strict=strict,
        as_json=as_json,
    )
