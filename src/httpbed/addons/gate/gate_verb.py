"""``httpbed gate``: fail if a campaign is worse than a baseline, or contradicts its claims."""

from __future__ import annotations

import json
from pathlib import Path

import click

from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.echo import echo
from httpbed.cli.options import (
    CAMPAIGN,
    OneOf,
    change_format_option,
    chosen_format,
    json_option,
    share,
)
from httpbed.cli.verb import verb
from httpbed.experiment.metric import METRICS

MARGIN = "3 %"
MAX_FOLDERS = 2


@verb("gate")
@click.argument("folders", metavar="[BASELINE] DIR", nargs=-1, required=True, type=CAMPAIGN)
@click.option(
    "--margin",
    callback=share,
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
@change_format_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    folders: tuple[Path, ...],
    margin: float | None,
    metric: str | None,
    strict: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Compare the campaign in DIR with a BASELINE campaign, and exit with 1 on a regression.

    Use it to keep a change that slows an HTTP stack out of a branch: run the same experiment before
    and after the change, on the same machine. With DIR alone, the two builds of httpbed compare
    --against are compared, or its claims are judged.

    A treatment that completes less often is a regression. If the experiment in DIR has claims, so
    is a contradicted claim. Without claims, or with --margin or --metric, so is a treatment that is
    worse than the baseline's by more than the margin. Campaigns are refused if the invalid attempts
    of some programs exceed those of the others: their results may be selected. Exit code 0: pass,
    or inconclusive without --strict. 1: regression, or refused.
    """
    # Statistics take a second to import, which --help need not wait for.
    from httpbed.addons.gate import gate_report as report
    from httpbed.cli import campaign_folders
    from httpbed.report import terminal

    form = chosen_format(form, as_json=as_json)
    if len(folders) > MAX_FOLDERS:
        reason = "follows a baseline and a campaign, and there is nothing else to compare"
        raise ConfigError([Mistake(str(folders[2]), reason, "name one or two folders")])
    gate = report.decide(
        campaign_folders.read(folders),
        metric=metric,
        margin=units.parse_share(MARGIN) if margin is None else margin,
        treatments=margin is not None or metric is not None,
    )
    if form == "json":
        echo(json.dumps(report.values(gate), indent=1))
    elif form == "markdown":
        echo(report.in_markdown(gate, strict=strict), nl=False)
    else:
        report.show(gate, terminal.console())
        for note in report.notes(gate):
            echo(f"note: {note}", err=True)
        echo(report.closing(gate, strict=strict))
    failed = {"regression", "refused"} | ({"inconclusive"} if strict else set())
    context.exit(int(gate.verdict in failed))
