"""``httpbed demo``: the shipped comparison, from nothing to a report."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import get_args

import click

from httpbed.base.clock import Clock
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions
from httpbed.cli import clock_choice, experiment_argument, run
from httpbed.cli.clock_choice import ClockWord
from httpbed.cli.options import PATH, json_option
from httpbed.cli.verb import verb
from httpbed.programs import catalog as catalogs


@verb("demo")
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("demo"),
    show_default=True,
    metavar="DIR",
    help="The campaign's folder.",
)
@experiment_argument.choosing_clock_option(
    get_args(ClockWord),
    "The clock of the trials; default: auto, which is virtual if the machine is busy when the"
    " campaign begins.",
)
@json_option
@click.pass_context
def command(
    context: click.Context, *, output: Path, clock: ClockWord | None, as_json: bool
) -> None:
    """Compare HTTP versions and congestion controls in a minute.

    Use it to see what httpbed does, and whether it works on this machine: 300 kB by curl over
    50 Mbit/s and 40 ms each way, without loss and with 4 %. The report answers three questions:
    what a handshake costs, what changes nothing, and what decides when packets are lost.
    """
    text = (resources.files("httpbed.cli") / "demo.toml").read_text(encoding="utf-8")
    catalog = catalogs.load()
    chosen = run.settings()

    def load(clock: Clock | None) -> LoadedExperiment:
        return preparation.load(text, catalog, options=DesignOptions(clock=clock))

    loaded, chosen = clock_choice.loaded_by(clock, load, catalog, output, chosen)
    code = run.carry_out(loaded, catalog, output, chosen, as_json=as_json, answers_early=True)
    context.exit(code)
