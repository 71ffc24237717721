"""``httpbed pages import``: turn measurements of other tools into observations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from httpbed.cli.exports import TABLES, Export, ExportChoice
from httpbed.cli.options import OneOf, json_option
from httpbed.cli.verb import verb

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.store.results import Results

AUDIT, OBSERVATIONS = "audit.json", "observations"


def _write(campaigns: Sequence[Results], choice: ExportChoice) -> Iterator[str]:
    from httpbed.addons.pages.har import loads_export

    (results,) = campaigns
    yield from loads_export.write(results, choice)


EXPORT = Export(
    name="loads",
    help="har: each page load as HAR 1.2. cdp-json: its requests as in CDP.",
    what="a file per page load",
    formats=("har", "cdp-json"),
    switches={"bodies": "Keep the bodies of the page in HAR files."},
    write=_write,
)


@verb("import")
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
    type=OneOf(TABLES),
    default="csv",
    show_default=True,
    help=f"Format of the {OBSERVATIONS}.",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    files: tuple[Path, ...],
    claims: tuple[str, ...],
    output: Path | None,
    kind: str,
    as_json: bool,
) -> None:
    """Read HAR FILES of any tool; print the page metrics and the audit of each load.

    Use it to compare published or own measurements with a campaign's, and to test whether their
    labels are true, on files of Chrome, Firefox, WebPageTest, chrome-har-capturer or httpbed. For
    each claim the audit reports whether a file supports it, contradicts it, or allows no
    verdict. It checks HTTP versions, responses faster than a round trip, periods above the
    rate, and cache hits.

    Exit codes: 0 nothing is contradicted; 1 something is; 2 usage, or a file with mistakes.
    """
    from httpbed.addons.pages.har import har_import as body

    body.run(context, files=files, claims=claims, output=output, kind=kind, as_json=as_json)
