"""``httpbed schema``: print the JSON Schema of an experiment file, for editors."""

from __future__ import annotations

import json

import click

from httpbed.cli.echo import echo
from httpbed.cli.verb import verb
from httpbed.experiment.schema import experiment_schema


@verb("schema")
@click.option("--json", "as_json", is_flag=True, help="Print it in one line.")
def command(*, as_json: bool) -> None:
    """Print the JSON Schema of an experiment file.

    Use it so that your editor completes and checks experiment files.
    """
    echo(json.dumps(experiment_schema(), indent=None if as_json else 1))
