"""``httpbed verify``: compare a campaign's files with their digests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb
from httpbed.experiment.errors import visible
from httpbed.store import campaign as campaigns
from httpbed.store import damage

if TYPE_CHECKING:
    from httpbed.store.verification import Verification


@verb("verify")
@click.argument("directory", metavar="DIR", type=CAMPAIGN)
@json_option
@click.pass_context
def command(context: click.Context, *, directory: Path, as_json: bool) -> None:
    """Compare every file of the campaign in DIR with its SHA-256, written by the run.

    Use it after a power cut, after copying a campaign, and before publishing its figures. It names
    every file that is missing, truncated, changed or added: the campaign's own files, every
    attempt's, and their artifacts. Trials without an attempt are no fault. Tables are not compared
    where attempts are there: the next verb that needs them makes them again.

    Digests reveal damage and edits. They do not reveal a person who changes a value and computes
    all digests again.

    Exit codes: 0 all files match; 1 some differ; 2 DIR is not a campaign.
    """
    from httpbed.store import verification  # noqa: PLC0415 - pyarrow: not for --help

    result = verification.verify(campaigns.open_existing(directory))
    if as_json:
        click.echo(json.dumps(_values(result)))
    else:
        for line in _lines(result, directory):
            click.echo(visible(line))
    context.exit(1 if result.damaged else 0)


def _lines(found: Verification, directory: Path) -> Iterator[str]:
    yield from (f"{one.place}: {reason}" for one in found.damaged for reason in one.reasons)
    yield from (f"note: {one}" for one in found.notes)
    if found.damaged:
        yield (
            "remedy: restore these files from a copy; or move an attempt's folder out of the"
            " campaign, and httpbed run repeats its trial"
        )
    whole = f"{found.attempts} attempt{'s' * (found.attempts != 1)} as written"
    rest = "" if found.planned is None else _rest(found)
    yield f"{directory}: {whole}{rest}; {len(found.damaged) or 'nothing'} damaged"


def _rest(found: Verification) -> str:
    return f", {found.without_attempt} of {found.planned} trials without one"


def _values(found: Verification) -> dict[str, object]:
    return {
        "schema": 1,
        "whole": not found.damaged,
        "planned": found.planned,
        "attempts": found.attempts,
        "trials_without_attempt": found.without_attempt,
        "damaged": damage.values(found.damaged),
        "notes": list(found.notes),
    }
