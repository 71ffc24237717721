"""``httpbed demo``: the shipped comparison, from nothing to a report."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from httpbed.campaign import preparation
from httpbed.cli import experiment_argument, run
from httpbed.host import backend
from httpbed.programs import catalog as catalogs


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    metavar="DIR",
    help="The campaign's folder.",
)
@experiment_argument.json_option
@click.pass_context
def command(context: click.Context, *, output: Path, as_json: bool) -> None:
    """Compare HTTP/1.1, HTTP/2 and HTTP/3 in two minutes.

    Use it to see what httpbed does, and whether it works on this machine: 1 MB by curl from
    nginx over 10 Mbit/s and 25 ms each way, clean and with 2 % loss.
    """
    text = (resources.files("httpbed.cli") / "demo.toml").read_text(encoding="utf-8")
    catalog = catalogs.load()
    loaded = preparation.load(text, catalog)
    options = run.Options(jobs=1, capture=False, backend=backend.choose(None))
    context.exit(run.carry_out(loaded, catalog, output, options, as_json=as_json))
