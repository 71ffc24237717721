"""``httpbed export``: the observations of a campaign as one tidy table, or its loads as files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from httpbed.cli import export_loads, tables
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.store import damage, query
from httpbed.store.results import Results


@click.command("export")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice([*tables.KINDS, *export_loads.KINDS]),
    default="csv",
    show_default=True,
    help="A table; or loads of pages: as HAR 1.2, or each request as CDP tells it.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file instead; of loads, into this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead.")
def command(*, directory: Path, kind: str, output: Path | None, as_json: bool) -> None:
    """Print the campaign in DIR with one row per observation.

    Use it to take the data to R, pandas or a spreadsheet. Columns: block, position, trial,
    attempt, outcome, one per factor, metric, item, value, unit, source; the item names which of
    several files a value is of. Attempts that were invalid are left out; trials that failed or
    timed out have rows for what was seen of them.

    In CSV a text that begins with =, +, - or @ and is no number gets an apostrophe in front, so
    that no spreadsheet runs it, and characters that do not print become escapes. Parquet and JSON
    hold every text as it is.

    With --format har or cdp-json every load of a page becomes a file in the folder of -o,
    BLOCK-TRIAL.har or BLOCK-TRIAL.json.
    """
    results = query.read(directory)
    for line in damage.lines(results.damaged, directory):
        click.echo(f"note: {line}", err=True)
    if kind in export_loads.KINDS:
        _loads(results, kind, output, as_json=as_json)
        return
    table, form = query.tidy(results), tables.JSON if as_json else kind
    if output is None:
        tables.write(table, sys.stdout.buffer, form)
        return
    if not output.parent.is_dir():
        raise ConfigError([Mistake(str(output), "its folder does not exist", "make it first")])
    with output.open("wb") as file:
        tables.write(table, file, form)


def _loads(results: Results, kind: str, output: Path | None, *, as_json: bool) -> None:
    if as_json:
        reason = f"is not for loads, which --format {kind} writes into files"
        raise ConfigError([Mistake("--json", reason, "leave one of the two out")])
    if output is None:
        reason = f"is needed with --format {kind}: a folder, into which each load is written"
        raise ConfigError([Mistake("-o", reason)])
    for line in export_loads.write(results, kind, output):
        click.echo(line, err=True)
