"""``httpbed merge``: the tables of campaigns as one archive."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb


@verb("merge")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CAMPAIGN)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="ARCHIVE",
    help="The archive's folder, new or empty.",
)
@json_option
def command(*, directories: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Write the tables of the campaigns in DIR, without artifacts, as one archive.

    Use it to publish a campaign in a few hundred kilobytes, and to make one campaign of runs on
    several days or machines. httpbed report, claims, gate, export and status read an archive like
    any campaign. No run continues it, so keep the campaigns.

    The campaigns are of one experiment, scale and set of programs. Machines and seeds may differ.
    Each block comes from one campaign; comparisons within blocks stay within one machine.
    """
    from httpbed.cli.bodies import merge as body  # noqa: PLC0415 - not for --help

    body.run(directories=directories, output=output, as_json=as_json)
