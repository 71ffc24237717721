"""``httpbed report``: what a campaign says, as a table, a page and figures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from httpbed.analysis.findings import find
from httpbed.cli.echo import echo
from httpbed.experiment.errors import ConfigError, Mistake, visible
from httpbed.experiment.metric import METRICS
from httpbed.report import one_trial, publish, terminal
from httpbed.store import damage, query, sender_records
from httpbed.store.results import Results


@click.command("report")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the page goes; by default report.html in DIR.",
)
@click.option(
    "--metric",
    type=click.Choice(list(METRICS)),
    metavar="METRIC",
    help="What is compared; by default what the experiment says, else request_time.",
)
@click.option(
    "--base",
    "bases",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="With which treatment the others are compared; may be given for several factors.",
)
@click.option(
    "--trial",
    metavar="BLOCK/TRIAL",
    help="Of one trial only: its page load, or deliveries and each hand-over, with figures.",
)
def command(
    *,
    directory: Path,
    as_json: bool,
    output: Path | None,
    metric: str | None,
    bases: tuple[str, ...],
    trial: str | None,
) -> None:
    """Print what the campaign in DIR found, and write its page and figures.

    Use it to look at a campaign again, at one that is not finished, or at another of its
    metrics. It reads the campaign only, and needs no Linux.

    Use --trial where a figure of all trials raises a question about one of them: BLOCK/TRIAL is its
    folder in trials. It shows page loads, and what trials of experiments with a hand-over keep.
    """
    if output is not None and not output.parent.is_dir():
        raise ConfigError([Mistake(str(output), "its folder does not exist", "make it first")])
    results = query.read(directory)
    if trial is not None:
        _one_trial(results, trial, as_json=as_json)
        return
    results = replace(results, manifest=sender_records.refreshed(results.manifest))
    findings = find(results, metric, dict(_pairs(bases)))
    path = publish.report(results, findings, output)
    if as_json:
        echo(json.dumps(publish.summary(results, path, findings), indent=1))
    else:
        publish.show(results, path, findings)


def _one_trial(results: Results, said: str, *, as_json: bool) -> None:
    for line in damage.lines(results.damaged, results.directory):
        echo(f"note: {line}", err=True)
    found = one_trial.find(results, said)
    for one in results.artifacts.damaged:
        echo(f"note: left out: {visible(str(one))}", err=True)
    paths = publish.one(results, found)
    if as_json:
        echo(json.dumps(one_trial.values(found, paths)))
    else:
        one_trial.show(found, paths, terminal.console())


def _pairs(bases: Iterable[str]) -> Iterable[tuple[str, str]]:
    for said in bases:
        name, equals, level = said.partition("=")
        if not equals:
            raise ConfigError(
                [Mistake("--base", f"{said!r} is not FACTOR=LEVEL", "write it like http_version=2")]
            )
        yield name.strip(), level.strip()
