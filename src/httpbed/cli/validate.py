"""``httpbed validate``: list every mistake in an experiment file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from httpbed.cli import experiment_argument
from httpbed.cli.echo import echo
from httpbed.experiment.errors import ConfigError


@click.command("validate")
@experiment_argument.file_argument
@experiment_argument.recipes_option
@experiment_argument.json_option
@click.pass_context
def command(
    context: click.Context, *, file: Path, recipe_folders: tuple[Path, ...], as_json: bool
) -> None:
    """Check the experiment in FILE and list all its mistakes.

    Use it while you write an experiment. It reads only the file and the recipes, never the machine.
    """
    try:
        loaded, _ = experiment_argument.load(file, recipe_folders)
    except ConfigError as error:
        if not as_json:
            raise
        echo(json.dumps({"valid": False, "mistakes": [vars(one) for one in error.mistakes]}))
        context.exit(2)
    design = loaded.experiment
    scales = {name: design.at_scale(name).trials() for name in design.scales}
    if as_json:
        notes = experiment_argument.notes(loaded)
        values = {"valid": True, "trials": len(loaded.trials), "scales": scales, "notes": notes}
        echo(json.dumps(values))
    else:
        at_scales = [f"{trials} at scale {name}" for name, trials in scales.items()]
        echo(f"{file}: no mistakes; {', '.join([f'{len(loaded.trials)} trials', *at_scales])}")
        experiment_argument.print_notes(loaded)
