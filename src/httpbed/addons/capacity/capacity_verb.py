"""``httpbed capacity``: measure how many page loads run undisturbed side by side here."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from httpbed.addons.capacity.experiment import LEAST_LOADS
from httpbed.bed.machine.backend import Backend
from httpbed.cli import experiment_argument
from httpbed.cli.one_of import OneOf
from httpbed.cli.verb import verb
from httpbed.cli.whole_number import WholeNumber

DEFAULT_TURNS = 6


@verb("capacity")
@click.option(
    "--browser",
    metavar="NAME",
    default="chromium-headless-shell",
    show_default=True,
    help="The implementation that loads the page.",
)
@click.option(
    "--most",
    type=WholeNumber(2, 16),
    default=3,
    show_default=True,
    help="Largest number of loads side by side.",
)
@click.option(
    "--turns",
    type=WholeNumber(LEAST_LOADS, 100),
    default=DEFAULT_TURNS,
    show_default=True,
    help="Rounds for each number; more rounds make the intervals narrower.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the loads as campaigns in this new folder.",
)
@click.option("--link-backend", type=OneOf(get_args(Backend)), envvar="HTTPBED_LINK_BACKEND")
@experiment_argument.recipes_option
@experiment_argument.json_option
def command(
    *,
    browser: str,
    most: int,
    turns: int,
    keep: Path | None,
    link_backend: str | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Measure how many page loads may run side by side on this machine.

    Use it once, on the quiet machine, before you give --jobs a number for page loads: httpbed run
    then notes if that number is too high. It loads the same page one, two and more at a time, in
    turns. A number is good if no metric is worse than alone by more than a twentieth, and no load
    is invalid because the machine was busy. It takes about five minutes on two cores.
    """
    from httpbed.addons.capacity import capacity_body as body  # noqa: PLC0415 - not for --help

    body.run(
        browser=browser,
        most=most,
        turns=turns,
        keep=keep,
        link_backend=link_backend,
        recipe_folders=recipe_folders,
        as_json=as_json,
    )
