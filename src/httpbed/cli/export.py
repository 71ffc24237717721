"""``httpbed export``: the observations of a campaign as one tidy table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import IO

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from httpbed.model.errors import ConfigError, Mistake
from httpbed.store import query


@click.command("export")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format", "kind", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead.")
def command(*, directory: Path, kind: str, output: Path | None, as_json: bool) -> None:
    """Print the campaign in DIR with one row per observation.

    Use it to take the data to R, pandas or a spreadsheet. Columns: block, position, trial,
    attempt, outcome, one per factor, metric, item, value, unit, source; the item names which of
    several files a value is of. Attempts that were invalid are left out; trials that failed or
    timed out have rows for what was seen of them.
    """
    table = query.tidy(query.read(directory))
    if output is None:
        _write(table, sys.stdout.buffer, kind, as_json=as_json)
        return
    if not output.parent.is_dir():
        raise ConfigError([Mistake(str(output), "its folder does not exist", "make it first")])
    with output.open("wb") as file:
        _write(table, file, kind, as_json=as_json)


def _write(table: pa.Table, file: IO[bytes], kind: str, *, as_json: bool) -> None:
    if as_json:
        file.write("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode())
    elif kind == "csv":
        pa.csv.write_csv(table, file)
    else:
        pa.parquet.write_table(table, file)
    file.flush()
