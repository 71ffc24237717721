"""``httpbed doctor audit``: do trials side by side give the numbers of trials one at a time?"""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.campaign.parallelism import Parallelism
from httpbed.cli import experiment_argument
from httpbed.cli.experiment_argument import jobs_option
from httpbed.cli.options import json_option
from httpbed.cli.verb import verb
from httpbed.experiment.factorial import ScaleName


@verb("audit")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@experiment_argument.scale_option
@jobs_option("Trials side by side: a number, or auto.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the three runs as campaigns in this new folder.",
)
@experiment_argument.link_backend_option
@experiment_argument.recipes_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    file: Path | None,
    scale: ScaleName | None,
    jobs: Parallelism,
    output: Path | None,
    link_backend: str | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Test whether trials side by side give the numbers of trials one at a time.

    Use it before you rely on --jobs, once on each machine, or with the FILE of your experiment. It
    runs the same trials three times: side by side, one at a time, and side by side again. It
    compares each treatment's values, both runs side by side with each other, and the verdicts on
    claims. Without FILE it runs 70 downloads three times, in about three minutes on two cores; one
    of its claims is a difference that it must find.

    Exit codes: 0 side by side is as good as one at a time; 1 it is not, or nothing is settled; 2
    usage; 3 this machine cannot.
    """
    from httpbed.addons.audit import audit_body as body

    body.run(
        context,
        file=file,
        scale=scale,
        jobs=jobs,
        output=output,
        link_backend=link_backend,
        recipe_folders=recipe_folders,
        as_json=as_json,
    )
