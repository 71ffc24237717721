"""``httpbed claims``: the verdicts on the claims of campaigns."""

from __future__ import annotations

import json
from pathlib import Path

import click

from httpbed.cli.echo import echo
from httpbed.cli.options import CAMPAIGN, json_option
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
    # Reading and judging take half a second to import, which --help need not wait for.
    from httpbed.addons.claims import claims_report as claims  # noqa: PLC0415
    from httpbed.addons.claims import judging, later_claims  # noqa: PLC0415
    from httpbed.cli import campaign_folders  # noqa: PLC0415
    from httpbed.report import terminal  # noqa: PLC0415

    campaigns = campaign_folders.read(directories)
    found = [
        (results, judging.judge(results, stated, others), others)
        for results, stated in later_claims.claims_of_each(campaigns, file)
        for others in [[one for one in campaigns if one is not results]]
    ]
    if as_json:
        values = [claims.values(*one) for one in found]
        echo(json.dumps({"schema": 1, "campaigns": values}, indent=1))
        return
    out = terminal.console()
    for results, judged, others in found:
        if len(campaigns) > 1:
            echo(f"{results.directory}:")
        claims.show(results, judged, out, others)
