"""``httpbed diff``: compare two campaigns, treatment by treatment."""

from __future__ import annotations

from pathlib import Path

import click

from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.one_of import OneOf
from httpbed.cli.verb import verb
from httpbed.experiment.metric import METRICS


@verb("diff")
@click.argument("one", metavar="A", type=CAMPAIGN)
@click.argument("other", metavar="B", type=CAMPAIGN)
@click.option(
    "--metric",
    type=OneOf(list(METRICS)),
    metavar="METRIC",
    help="The metric to compare; default: the experiment's, else request_time.",
)
@json_option
def command(*, one: Path, other: Path, metric: str | None, as_json: bool) -> None:
    """Compare campaign B with campaign A, treatment by treatment.

    Use it for two versions of a program, of httpbed or of an experiment, or for two machines. It
    lists what differs between the campaigns, and then the ratio of each treatment that both hold.
    Blocks in which both ran the same trial met the same losses and are compared in pairs. The exit
    code is 0 whatever the result; httpbed gate fails on a regression.
    """
    from httpbed.cli.bodies import diff as body  # noqa: PLC0415 - not for --help

    body.run(one=one, other=other, metric=metric, as_json=as_json)
