"""``httpbed export``: a campaign's observations as one table, or its page loads as files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from httpbed.cli import export_loads, output_file, table_files
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.store import damage, query
from httpbed.store.results import Results


@click.command("export")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice([*table_files.KINDS, *export_loads.KINDS]),
    default="csv",
    show_default=True,
    help="csv, parquet: a table. har: each page load as HAR 1.2. cdp-json: its requests as in CDP.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the table to this file, or page loads into this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON lines.")
def command(*, directory: Path, kind: str, output: Path | None, as_json: bool) -> None:
    """Print the campaign in DIR as a table with one row per observation.

    Use it to analyse the data with R, pandas or a spreadsheet. Columns: block, position, trial,
    attempt, outcome, one per factor, metric, item, value, unit, source. The item names the file or
    resource of the value. Invalid attempts are left out; trials that failed or timed out have rows
    for the values that were observed.

    In CSV, a text that begins with =, +, - or @ and is not a number gets a leading apostrophe, so
    that no spreadsheet runs it; non-printing characters become escapes. Parquet and JSON keep every
    text unchanged.

    With --format har or cdp-json, each page load becomes a file in the folder of -o,
    BLOCK-TRIAL.har or BLOCK-TRIAL.json.
    """
    results = query.read(directory)
    for line in damage.lines(results.damaged, directory):
        click.echo(f"note: {line}", err=True)
    if kind in export_loads.KINDS:
        _loads(results, kind, output, as_json=as_json)
        return
    table, form = query.tidy(results), table_files.JSON if as_json else kind
    if output is None:
        table_files.write(table, sys.stdout.buffer, form)
        return
    output_file.require(output, table_files.FILES[form], directory)
    with output.open("wb") as file:
        table_files.write(table, file, form)


def _loads(results: Results, kind: str, output: Path | None, *, as_json: bool) -> None:
    if as_json:
        reason = f"prints a table, but --format {kind} writes a file per page load"
        raise ConfigError([Mistake("--json", reason, "omit one of the two")])
    if output is None:
        reason = f"is missing: --format {kind} writes a file per page load into a folder"
        raise ConfigError([Mistake("-o", reason, "add -o DIR")])
    output_file.require_folder(output, results.directory)
    for line in export_loads.write(results, kind, output):
        click.echo(line, err=True)
