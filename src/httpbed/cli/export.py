"""``httpbed export``: observations as one table, trials as a dataset, or page loads as files."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.cli import export_kinds
from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.one_of import OneOf
from httpbed.cli.verb import verb


@verb("export")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CAMPAIGN)
@click.option(
    "--dataset",
    is_flag=True,
    help="Write one row per trial of all DIRs into the folder of -o, with a data dictionary.",
)
@click.option(
    "--format",
    "kind",
    type=OneOf([*export_kinds.TABLES, *export_kinds.LOADS]),
    help="csv, parquet: a table. har: each page load as HAR 1.2. cdp-json: its requests as in"
    " CDP.  [default: csv]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the table to this file; a dataset or page loads, into this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON lines.")
def command(
    *,
    directories: tuple[Path, ...],
    dataset: bool,
    kind: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print the campaign in DIR as a table with one row per observation.

    Use it to analyse the data with R, pandas or a spreadsheet. Columns: block, position, trial,
    attempt, outcome, one per factor, metric, item, value, unit, source. The item names the file or
    resource of the value. Invalid attempts are left out; trials that failed or timed out have rows
    for the values that were observed.

    In CSV, a text that begins with =, +, - or @ and is not a number gets a leading apostrophe, so
    that no spreadsheet runs it; non-printing characters become escapes. Parquet and JSON keep every
    text unchanged.

    With --dataset, the folder of -o gets trials.csv and trials.parquet with one row per trial of
    one or more campaigns: network, workload, programs, machine, outcome, metrics and checks.
    datapackage.json describes every column, CITATION.txt says how to cite them.

    With --format har or cdp-json, each page load becomes a file in the folder of -o,
    BLOCK-TRIAL.har or BLOCK-TRIAL.json.
    """
    from httpbed.cli.bodies import export as body  # noqa: PLC0415 - not for --help

    body.run(directories=directories, dataset=dataset, kind=kind, output=output, as_json=as_json)
