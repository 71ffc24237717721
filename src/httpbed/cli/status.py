"""``httpbed status``: show how far a campaign is."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.addons.live.serve_option import serve_option
from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb


@verb("status")
@click.argument("directories", metavar="DIR...", type=CAMPAIGN, nargs=-1, required=True)
@click.option(
    "--watch", "watches", is_flag=True, help="Show it again after each change, until the run ends."
)
@serve_option
@json_option
def command(
    *, directories: tuple[Path, ...], watches: bool, port: int | None, as_json: bool
) -> None:
    """Show how far campaigns are, why trials failed, and the estimates so far.

    Use it during a run, from another terminal, or to see whether a campaign is complete. It names
    attempts whose trial.json, observations or hand-overs differ from their digests; they count as
    missing. During a run it works at idle priority. With --watch it uses at most 1 % of a core, and
    --json prints a line for each change.
    """
    from httpbed.cli.bodies import status as body  # noqa: PLC0415 - not for --help

    body.run(directories=directories, watches=watches, port=port, as_json=as_json)
