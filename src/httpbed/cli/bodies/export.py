"""What ``httpbed export`` does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from httpbed.addons.dataset import dataset_export as export_dataset
from httpbed.addons.har import loads_export as export_loads
from httpbed.base import whole_file
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli import campaign_folders, export_kinds, output_file, table_files
from httpbed.cli.echo import echo
from httpbed.store import query
from httpbed.store.results import Results


def run(
    *,
    directories: tuple[Path, ...],
    dataset: bool,
    kind: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print the campaign in DIR as a table with one row per observation."""
    if dataset:
        folder = _dataset_folder(output, kind, as_json=as_json)
        echo(export_dataset.write(_read(directories), folder), err=True)
        return
    (results,) = _read([_only(directories)])
    if kind in export_kinds.LOADS:
        _loads(results, kind, output, as_json=as_json)
        return
    table, form = query.tidy(results), table_files.JSON if as_json else kind or "csv"
    if output is None:
        table_files.write(table, sys.stdout.buffer, form)
        return
    output_file.require(output, table_files.FILES[form])
    whole_file.write(output, table_files.content(table, form))


def _read(directories: Sequence[Path]) -> list[Results]:
    campaigns = campaign_folders.read(directories)
    campaign_folders.note_damage(campaigns)
    return campaigns


def _only(directories: tuple[Path, ...]) -> Path:
    if len(directories) > 1:
        reason = f"{len(directories)} campaigns do not fit into one table of observations"
        raise ConfigError([Mistake("DIR", reason, "name one, or add --dataset -o FOLDER")])
    return directories[0]


def _dataset_folder(output: Path | None, kind: str | None, *, as_json: bool) -> Path:
    both = "--dataset always writes CSV and Parquet"
    mistakes = [Mistake(f"--format {kind}", both, "omit it")] if kind else []
    if as_json:
        mistakes.append(Mistake("--json", both, "omit it"))
    if output is None:
        reason = "is missing: --dataset writes several files into a folder"
        mistakes.append(Mistake("-o", reason, "add -o FOLDER"))
    if mistakes or output is None:
        raise ConfigError(mistakes)
    return output


def _loads(results: Results, kind: str, output: Path | None, *, as_json: bool) -> None:
    if as_json:
        reason = f"prints a table, but --format {kind} writes a file per page load"
        raise ConfigError([Mistake("--json", reason, "omit one of the two")])
    if output is None:
        reason = f"is missing: --format {kind} writes a file per page load into a folder"
        raise ConfigError([Mistake("-o", reason, "add -o DIR")])
    output_file.require_folder(output)
    for line in export_loads.write(results, kind, output):
        echo(line, err=True)
