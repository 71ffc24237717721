"""``httpbed advise``: what was best in the measured conditions that are nearest to a question."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb


@verb("advise")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CAMPAIGN)
@click.option("--rate", metavar="10mbit", help="Smallest rate on the path to the client.")
@click.option("--delay", metavar="25ms", help="One-way delay between client and server.")
@click.option("--loss", metavar="2%", help="Share of the packets to the client that are lost.")
@click.option("--size", metavar="1MB", help="Size of the file that is fetched.")
@click.option("--page", metavar="NAME", help="The page that is loaded, instead of --size.")
@click.option(
    "--metric",
    metavar="NAME",
    help="What decides.  [default: request_time, of pages page_load_time]",
)
@json_option
def command(
    *,
    directories: tuple[Path, ...],
    page: str | None,
    metric: str | None,
    as_json: bool,
    **quantities: str | None,
) -> None:
    """Say what was best in the measured conditions of the campaigns in DIR that are nearest.

    Use it to choose an HTTP version, a congestion control and a proxy for your network.

    The answer comes from finished trials only: httpbed advise computes no model. It gives each
    measured treatment with its value, interval and ratio to the best, and says how the measured
    conditions differ from yours. It says "not measured" if no conditions are near, and "not
    settled" if the intervals permit several to be the best.
    """
    from httpbed.addons.advise import advise_body as body  # noqa: PLC0415 - not for --help

    body.run(directories=directories, page=page, metric=metric, as_json=as_json, **quantities)
