"""``httpbed import``: turn measurements of other tools into observations."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.cli import export_kinds
from httpbed.cli.json_option import json_option
from httpbed.cli.one_of import OneOf
from httpbed.cli.verb import verb_group

AUDIT, OBSERVATIONS = "audit.json", "observations"


@verb_group("import")
def command() -> None:
    """Turn measurements of other tools into observations.

    Use it to compare published or own measurements with a campaign's, and to test whether their
    labels are true.
    """


@command.command("har")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="NAME=VALUE",
    help="A statement on how the files were recorded, to be audited: http_version=3,"
    ' rate="10 Mbit/s", rtt="50 ms", visit=cold; may be given several times.',
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=f"Also write {OBSERVATIONS}.csv and {AUDIT} into this folder.",
)
@click.option(
    "--format",
    "kind",
    type=OneOf(export_kinds.TABLES),
    default="csv",
    show_default=True,
    help=f"Format of the {OBSERVATIONS}.",
)
@json_option
@click.pass_context
def har(
    context: click.Context,
    *,
    files: tuple[Path, ...],
    claims: tuple[str, ...],
    output: Path | None,
    kind: str,
    as_json: bool,
) -> None:
    """Read HAR FILES of any tool; print the page metrics and the audit of each load.

    Use it on files of Chrome, Firefox, WebPageTest, chrome-har-capturer or httpbed. For each claim
    the audit reports whether a file supports it, contradicts it, or allows no verdict. It checks
    HTTP versions, responses faster than a round trip, periods above the rate, and cache hits.

    Exit codes: 0 nothing is contradicted; 1 something is; 2 usage, or a file with mistakes.
    """
    from httpbed.addons.har import import_body as body  # noqa: PLC0415 - not for --help

    body.run(context, files=files, claims=claims, output=output, kind=kind, as_json=as_json)
