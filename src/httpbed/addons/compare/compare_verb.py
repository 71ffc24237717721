"""``httpbed compare``: a comparison in one line, which keeps its experiment file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from httpbed.addons.compare import comparison
from httpbed.addons.compare.options import OPTIONS, CommandLine
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine import backend
from httpbed.campaign.settings import Parallelism
from httpbed.cli import experiment_argument, options, run
from httpbed.cli.echo import echo
from httpbed.cli.experiment_argument import jobs_option
from httpbed.cli.verb import verb


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of ``OPTIONS``."""
    for option in reversed(OPTIONS):
        default = f"  [default: {option.default}]" if option.default else ""
        function = click.option(option.flag, metavar=option.example, help=option.help + default)(
            function
        )
    return function


@verb("compare")
@click.argument(
    "clients", nargs=-1, required=True, metavar="CLIENT...", shell_complete=options.complete_clients
)
@_options
@click.option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="ROLE.NAME=VALUE,...",
    help="A setting of the programs in a role, such as server.http3_stream_buffer_size=64k,1m.",
)
@click.option("--replicates", metavar="N", default="6", show_default=True, help="Number of blocks.")
@click.option(
    "--seed", metavar="N", default="1", show_default=True, help="Seed of everything random."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The campaign's folder; default: compare- and a digest of the options.",
)
@jobs_option("Trials side by side, as for httpbed run.")
@experiment_argument.clock_option
@experiment_argument.keep_option
@experiment_argument.against_option
@click.option("--dry-run", is_flag=True, help="Print the experiment file and run nothing.")
@experiment_argument.recipes_option
@options.json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    clients: tuple[str, ...],
    knobs: tuple[str, ...],
    replicates: str,
    seed: str,
    output: Path | None,
    jobs: Parallelism,
    clock: Clock | None,
    keep: frozenset[str],
    against: tuple[str, str] | None,
    dry_run: bool,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
    **values: str | None,
) -> None:
    """Compare programs, versions, congestion controls and networks in one line.

    A CLIENT is a program with an HTTP version: curl:h1, curl:h2, quiche:h3; without a version, all
    that the program has. An option may have several values, separated by commas; all of them run.
    The same line resumes an interrupted comparison.

    Use it for a quick answer, and with --against to compare two builds of your program. The
    campaign's folder contains the experiment file: to go further, copy it, edit it, and use httpbed
    run.
    """
    if dry_run and as_json:
        reason = "has no meaning with --dry-run, which prints the experiment file"
        raise ConfigError([Mistake("--json", reason, "leave one of them out")])
    catalog = experiment_argument.catalog(recipe_folders)
    if against:
        catalog = catalog.with_second_build(*against)
    words = {name.replace("_", "-"): value for name, value in values.items()}
    folders = [word for folder in recipe_folders for word in ("--recipes", str(folder))]
    further = (*folders, *experiment_argument.program_words())
    line = CommandLine(clients, words, knobs, replicates, seed, further, clock or "real", against)
    compared = comparison.comparison(line, catalog)
    loaded = compared.loaded
    for one in compared.skipped:
        echo(f"not run: {one}", err=True)
    if dry_run:
        experiment_argument.print_gaps(loaded, catalog, keep)
        echo(loaded.text, nl=False)
        return
    chosen = run.settings(backend.choose(None), jobs=jobs, keep=keep)
    directory = output or Path(loaded.experiment.name)
    code = run.carry_out(loaded, catalog, directory, chosen, as_json=as_json)
    echo(f"experiment file: {directory / 'experiment.toml'}", err=True)
    context.exit(code)
