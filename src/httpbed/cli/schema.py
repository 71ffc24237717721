"""``httpbed schema``: the JSON Schema of an experiment file, for editors."""

from __future__ import annotations

import json

import click

from httpbed.cli.echo import echo
from httpbed.experiment.schema import experiment_schema


@click.command("schema")
@click.option("--json", "as_json", is_flag=True, help="The schema is JSON in any case.")
def command(*, as_json: bool) -> None:
    """Print the JSON Schema of an experiment file.

    Use it to have an editor complete and check experiment files as you write them.
    """
    echo(json.dumps(experiment_schema(), indent=None if as_json else 1))
