"""``httpbed pages import``: turn measurements of other tools into observations.

And the export of page loads as HAR files, which is beside it in the command line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from httpbed.base import units
from httpbed.base.errors import Mistake, RejectedValueError, collected, require_none
from httpbed.cli.echo import echo
from httpbed.cli.exports import Export, ExportChoice
from httpbed.cli.options import PATH, json_option
from httpbed.cli.verb import verb
from httpbed.experiment.roles import HttpVersion

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.store.results import Results


def _export(campaigns: Sequence[Results], choice: ExportChoice) -> Iterator[str]:
    from httpbed.addons.pages import loads_export

    (results,) = campaigns
    yield from loads_export.write(results, choice)


EXPORT = Export(
    name="loads",
    help="har: each page load as HAR 1.2. cdp-json: its requests as in CDP.",
    what="a file per page load",
    formats=("har", "cdp-json"),
    write=_export,
)


@verb("import")
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="NAME=VALUE",
    help="A statement on how the files were recorded, to be audited: http_version=3,"
    ' rate="10 Mbit/s", rtt="50 ms", visit=cold; may be given several times.',
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    files: tuple[Path, ...],
    claims: tuple[str, ...],
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
    from httpbed.addons.pages.har import har_import
    from httpbed.addons.pages.har.har_audit import Claims

    mistakes = list[Mistake]()
    claimed = Claims()
    with collected(mistakes):
        claimed = Claims(**_values(claims))
    with collected(mistakes):
        imported = har_import.read(files, claimed)
    require_none(mistakes)
    if as_json:
        echo(json.dumps([har_import.as_json(load) for load in imported], indent=1))
    else:
        for line in har_import.lines(imported):
            echo(line)
    context.exit(1 if any(load.is_contradicted for load in imported) else 0)


def _one_of(known: Sequence[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in known:
            raise RejectedValueError(f"{value!r} is unknown", f"choose from {', '.join(known)}")
        return value

    return check


_CLAIMS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "http_version": ("http_version", _one_of(get_args(HttpVersion))),
    "rate": ("rate_bit_s", units.parse_rate),
    "rtt": ("rtt_s", units.parse_duration),
    "visit": ("visit", _one_of(("cold", "repeat view"))),
}
"""Name of a claim -> its field in an audit's claims, and its parser."""


def _values(words: Sequence[str]) -> dict[str, Any]:
    """Return the claims as the fields of an audit's claims."""
    values: dict[str, Any] = {}
    mistakes = []
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in _CLAIMS:
            remedy = f"write NAME=VALUE; NAME is one of {', '.join(_CLAIMS)}"
            mistakes.append(Mistake("--claim", f"{word!r} is not a known claim", remedy))
            continue
        field, parse = _CLAIMS[name]
        if field in values:
            mistakes.append(Mistake("--claim", f"{name} is claimed twice", "keep one of them"))
        try:
            values[field] = parse(text)
        except RejectedValueError as error:
            mistakes.append(Mistake(f"--claim {name}", error.reason, error.remedy))
    require_none(mistakes)
    return values
