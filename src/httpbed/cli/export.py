"""``httpbed export``: campaigns as a table, as an archive, or in the form of an addon."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.base.units import format_count
from httpbed.cli import options
from httpbed.cli.echo import echo
from httpbed.cli.exports import EXPORTS, TABLES, Export, ExportChoice
from httpbed.cli.options import CAMPAIGN, OneOf
from httpbed.cli.verb import verb

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.store.archive import Merged
    from httpbed.store.results import Results


def _further_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose what addons write."""
    provided = EXPORTS.provided()
    for export_kind in provided:
        if not export_kind.formats:
            function = click.option(export_kind.given, is_flag=True, help=export_kind.help)(
                function
            )
    formats = [name for export_kind in provided for name in export_kind.formats]
    words = "".join(f" {export_kind.help}" for export_kind in provided if export_kind.formats)
    return click.option(
        "--format",
        "kind",
        type=OneOf([*TABLES, *formats]),
        help=f"csv, parquet: a table.{words}  [default: csv]",
    )(function)


@verb("export")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CAMPAIGN)
@click.option(
    "--archive",
    is_flag=True,
    help="Write the tables of all DIRs, without artifacts, as one small campaign into the folder of"
    " -o.",
)
@_further_options
@options.output_option(
    "Write the table, or the one file of a format, to this file; everything else, into this"
    " folder.",
    metavar=None,
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON lines.")
def command(
    *,
    directories: tuple[Path, ...],
    archive: bool,
    kind: str | None,
    output: Path | None,
    as_json: bool,
    **chosen: bool,
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
    datapackage.json describes every column, and says how to cite them.

    With --archive, the folder of -o becomes a campaign without artifacts: to publish one in a few
    hundred kilobytes, or to make one campaign of runs on several days or machines. httpbed report,
    claims, gate and export read it like any campaign; no run continues it, so keep the
    campaigns. They are of one experiment, scale and set of programs; machines and seeds may differ.
    Each block comes from one campaign, so comparisons within blocks stay within one machine.

    With --format har or cdp-json, each page load becomes a file in the folder of -o,
    BLOCK-TRIAL.har or BLOCK-TRIAL.json. A HAR file has the bodies of the page, so that it can be
    replayed.

    With --format bmf or benchmark-action, the median of each treatment becomes a benchmark in the
    JSON of Bencher or github-action-benchmark.
    """
    provided = EXPORTS.provided()
    if archive:
        others = [f"--{name}" for name, on in chosen.items() if on] + ["--format"] * bool(kind)
        _archive(directories, output, others, as_json=as_json)
        return
    form = next(
        (export for export in provided if chosen.get(export.name) or kind in export.formats), None
    )
    if form:
        _added(form, directories, ExportChoice(kind or "", output), as_json=as_json)
    else:
        _table(directories, kind, output, as_json=as_json)


def _table(
    directories: tuple[Path, ...], kind: str | None, output: Path | None, *, as_json: bool
) -> None:
    from httpbed.base import disk
    from httpbed.cli import output_file, table_files
    from httpbed.store import query

    form, mistakes = table_files.JSON if as_json else kind or "csv", [*_several(directories)]
    if as_json and kind:
        mistakes.append(Mistake("--json", f"contradicts --format {kind}", "give one of them"))
    if output is not None:
        with collected(mistakes):
            output_file.require(output, table_files.FILES[form])
    (results,) = _read(directories, mistakes)
    table = query.tidy(results)
    if output is None:
        table_files.write(table, sys.stdout.buffer, form)
        return
    disk.write_output(output, table_files.content(table, form))


def _read(directories: Sequence[Path], mistakes: list[Mistake]) -> list[Results]:
    """Read campaigns, unless something is wrong with the command line.

    :raises ConfigError: with these mistakes and those of the campaigns.
    """
    from httpbed.store import layout

    with collected(mistakes):
        campaigns = options.read_campaigns(directories)
    require_none(mistakes)
    for results in campaigns:
        for line in layout.damage_lines(results.damaged, results.directory):
            echo(f"note: {line}", err=True)
    lost = [
        results.directory
        for results in campaigns
        if results.damaged and not results.trials.num_rows
    ]
    for directory in lost:
        echo(f"{directory}: nothing to export, because every attempt is damaged", err=True)
    if lost:
        raise click.exceptions.Exit(1)
    return campaigns


def _several(directories: Sequence[Path]) -> Iterator[Mistake]:
    """Yield the mistake of several campaigns where one is written."""
    if len(directories) > 1:
        reason = f"{len(directories)} campaigns do not fit into one table of observations"
        yield Mistake("DIR", reason, "name one, or add --dataset -o FOLDER")


def _added(
    export: Export, directories: tuple[Path, ...], choice: ExportChoice, *, as_json: bool
) -> None:
    """Write campaigns in the form of an addon."""
    given = f"--format {choice.kind}" if export.formats else export.given
    mistakes = []
    if choice.kind and not export.formats:
        reason = f"{given} always writes {export.what}"
        mistakes.append(Mistake(f"--format {choice.kind}", reason, "omit it"))
    if as_json:
        mistakes.append(
            Mistake("--json", f"prints a table, but {given} writes {export.what}", "omit it")
        )
    if choice.output is None and not export.is_one_file:
        reason = f"is missing: {given} writes {export.what} into a folder"
        mistakes.append(Mistake("-o", reason, "add -o FOLDER"))
    if not export.takes_several:
        mistakes += _several(directories)
    from httpbed.cli import output_file

    if choice.output is not None:
        with collected(mistakes):
            if export.is_one_file:
                output_file.require(choice.output, export.is_one_file)
            else:
                output_file.require_folder(choice.output)
    campaigns = _read(directories, mistakes)
    for line in export.write(campaigns, choice):
        echo(line, err=True)


def _archive(
    directories: tuple[Path, ...], output: Path | None, others: Sequence[str], *, as_json: bool
) -> None:
    """Write campaigns as one; ``others`` are options that choose another form."""
    from httpbed.report.phrasing import listed
    from httpbed.store import archive, campaign_folder
    from httpbed.store import campaign as campaigns

    mistakes = [Mistake(name, "--archive writes a campaign", "omit it") for name in others]
    if output is None:
        reason = "is missing: --archive writes a campaign into a folder"
        mistakes.append(Mistake("-o", reason, "add -o FOLDER, new or empty"))
    mistakes += options.named_twice(directories)
    if mistakes or output is None:
        for directory in dict.fromkeys(directories):
            with collected(mistakes):
                campaigns.open_existing(directory)
        raise ConfigError([*mistakes, *(campaign_folder.not_new(output) if output else [])])
    merged = archive.merge(directories, output)
    if as_json:
        echo(json.dumps(_archive_values(merged, output)))
        return
    echo(
        f"{output}: {merged.finished} of {len(merged.design)} trials in"
        f" {format_count(len(merged.blocks), 'block')}"
    )
    for directory in directories:
        own = [str(ours) for ours, (one, _) in merged.blocks.items() if one.place == str(directory)]
        blocks = f"block{'s' * (len(own) != 1)} {listed(own)}" if own else "nothing"
        echo(f"  {directory}: {blocks}")


def _archive_values(merged: Merged, output: Path) -> dict[str, object]:
    return {
        "schema": 1,
        "archive": str(output),
        "planned": len(merged.design),
        "finished": merged.finished,
        "blocks": {
            str(ours): {"campaign": one.place, "block": theirs}
            for ours, (one, theirs) in merged.blocks.items()
        },
    }
