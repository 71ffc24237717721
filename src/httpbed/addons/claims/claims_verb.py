"""``httpbed claims``: the verdicts on the claims of campaigns."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb


@verb("claims")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CAMPAIGN)
@click.option(
    "--experiment",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Judge the claims of this file, such as ones that were written after the run.",
)
@json_option
def command(*, directories: tuple[Path, ...], file: Path | None, as_json: bool) -> None:
    """Judge the claims of the campaigns in DIR.

    Use it to see whether the results support what the experiment, or a publication, claims.

    Each verdict is reproduced, contradicted or open: the interval of the estimate lies inside the
    claim's region, outside it, or across its edge. It may also be no difference, or not run. A
    claim with control arms is judged in each of them. A claim about several experiments needs a
    campaign of each. It reads only the campaigns, and runs on any operating system.
    """
    from httpbed.addons.claims import claims_body as body  # noqa: PLC0415 - not for --help

    body.run(directories=directories, file=file, as_json=as_json)
