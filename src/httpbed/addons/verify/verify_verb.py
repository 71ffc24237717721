"""``httpbed verify``: compare a campaign's files with their digests, and its tables with both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from httpbed.base.errors import visible
from httpbed.cli.options import CAMPAIGN, json_option
from httpbed.cli.verb import verb
from httpbed.store import campaign as campaigns
from httpbed.store import layout

if TYPE_CHECKING:
    from httpbed.addons.verify.verification import Verification


@verb("verify")
@click.argument("directory", metavar="DIR", type=CAMPAIGN)
@json_option
@click.pass_context
def command(context: click.Context, *, directory: Path, as_json: bool) -> None:
    """Compare every file of the campaign in DIR with its SHA-256, written by the run.

    Use it after a power cut, after copying a campaign, and before publishing its figures. It names
    every file that is missing, truncated, changed or added: the campaign's own files, every
    attempt's, and their artifacts. Trials without an attempt are no fault. The tables are made from
    the attempts again, and compared. Reports and certificates in DIR have no digest; a note names
    them.

    Digests reveal damage and edits. They do not reveal a person who changes a value and computes
    all digests again. Sign an archive against that: its manifest covers its tables.

    Exit codes: 0 all files match; 1 some differ; 2 DIR is not a campaign.
    """
    from httpbed.addons.verify import verification

    result = verification.verify(campaigns.open_existing(directory))
    if as_json:
        click.echo(json.dumps(_values(result)))
    else:
        for line in _lines(result, directory):
            click.echo(visible(line))
    context.exit(1 if result.damaged else 0)


def _lines(verification: Verification, directory: Path) -> Iterator[str]:
    yield from (f"{one.place}: {reason}" for one in verification.damaged for reason in one.reasons)
    yield from (f"note: {note}" for note in verification.notes)
    if verification.damaged:
        is_run_again = (directory / layout.TRIALS).is_dir()  # an archive has tables alone
        yield "remedy: restore these files from a copy" + (
            "; or move an attempt's folder out of the campaign, and httpbed run repeats its trial"
            if is_run_again
            else ""
        )
    whole = f"{verification.attempts} attempt{'s' * (verification.attempts != 1)} as written"
    rest = "" if verification.planned is None else _rest(verification)
    yield f"{directory}: {whole}{rest}; {len(verification.damaged) or 'nothing'} damaged"


def _rest(verification: Verification) -> str:
    return f", {verification.without_attempt} of {verification.planned} trials without one"


def _values(verification: Verification) -> dict[str, object]:
    return {
        "schema": 1,
        "whole": not verification.damaged,
        "planned": verification.planned,
        "attempts": verification.attempts,
        "trials_without_attempt": verification.without_attempt,
        "damaged": layout.damage_values(verification.damaged),
        "notes": list(verification.notes),
    }
