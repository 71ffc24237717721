"""``httpbed verify``: compare a campaign's files with their digests, and its tables with both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from httpbed.base.errors import ConfigError, Mistake, visible
from httpbed.cli.options import CAMPAIGN, NamedPath, json_option
from httpbed.cli.verb import verb
from httpbed.store import campaign as campaigns
from httpbed.store import damage

if TYPE_CHECKING:
    from httpbed.addons.verify.verification import Signature, Verification
    from httpbed.store.campaign import Campaign


@verb("verify")
@click.argument("directory", metavar="DIR", type=CAMPAIGN)
@click.option(
    "--signers",
    type=NamedPath(exists=True, dir_okay=False),
    metavar="FILE",
    help="Demand a signature of an archive by one of these signers (ssh-keygen's allowed signers).",
)
@json_option
@click.pass_context
def command(
    context: click.Context, *, directory: Path, signers: Path | None, as_json: bool
) -> None:
    """Compare every file of the campaign in DIR with its SHA-256, written by the run.

    Use it after a power cut, after copying a campaign, and before publishing its figures. It names
    every file that is missing, truncated, changed or added: the campaign's own files, every
    attempt's, and their artifacts. Trials without an attempt are no fault. The tables are made from
    the attempts again, and compared. Reports and certificates in DIR have no digest; a note names
    them.

    Digests reveal damage and edits. They do not reveal a person who changes a value and computes
    all digests again. An archive, which has tables alone, can be signed: ssh-keygen -Y sign -n
    httpbed -f KEY DIR/manifest.json.

    Exit codes: 0 all files match; 1 some differ, or the signature is bad or, with --signers, none
    of theirs; 2 DIR is not a campaign; 3 ssh-keygen is needed and missing.
    """
    from httpbed.addons.verify import verification

    campaign = campaigns.open_existing(directory)
    result = verification.verify(campaign)
    signed = None if result.damaged else _signature(campaign, signers)
    if as_json:
        click.echo(json.dumps(_values(result) | {"signature": vars(signed) if signed else None}))
    else:
        for line in [*_lines(result, directory), *(_of_signature(signed) if signed else ())]:
            click.echo(visible(line))
    accepted = {"good"} if signers else {"good", "unknown signer", "none"}
    context.exit(1 if result.damaged or (signed and signed.verdict not in accepted) else 0)


def _signature(campaign: Campaign, signers: Path | None) -> Signature | None:
    """Check an archive's signature; None for a campaign, whose attempts no signature covers."""
    from httpbed.addons.verify import verification

    if campaign.is_archive:
        return verification.check_signature(campaign, signers)
    if signers:
        reason = "is a campaign with its attempts, which no signature covers"
        remedy = "make an archive with httpbed export --archive, and sign that"
        raise ConfigError([Mistake(str(campaign.directory), reason, remedy)])
    return None


def _of_signature(signature: Signature) -> Iterator[str]:
    match signature.verdict:
        case "none":
            yield "unsigned tables: nobody vouches that they are those of the attempts"
        case "good":
            yield f"signed by {signature.signer}"
        case "unknown signer":
            yield f"signed by a key that no allowed signer has: {signature.signer}; see --signers"
        case "bad":
            yield f"the signature is bad: {signature.reason}"


def _lines(verification: Verification, directory: Path) -> Iterator[str]:
    yield from (f"{one.place}: {reason}" for one in verification.damaged for reason in one.reasons)
    yield from (f"note: {note}" for note in verification.notes)
    if verification.damaged:
        yield (
            "remedy: restore these files from a copy; or move an attempt's folder out of the"
            " campaign, and httpbed run repeats its trial"
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
        "damaged": damage.values(verification.damaged),
        "notes": list(verification.notes),
    }
