"""``httpbed validate``: list every mistake in an experiment file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.base.units import format_count
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.cli import experiment_argument
from httpbed.cli.echo import echo
from httpbed.cli.options import PATH, json_option
from httpbed.cli.verb import EXIT_USAGE, verb
from httpbed.experiment import parser
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.stated_tables import STATED_TABLES, StatedTable


def _print_schema(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from httpbed.experiment.schema import experiment_schema

        echo(json.dumps(experiment_schema(), indent=1))
        context.exit()


@verb("validate")
@experiment_argument.file_argument
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of experiment files instead, with which editors complete them.",
)
@click.option(
    "--with",
    "others",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Check claims about this experiment too, which they name as another experiment.",
)
@experiment_argument.recipes_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    file: Path,
    others: tuple[Path, ...],
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Check the experiment in FILE and list all its mistakes.

    Use it while you write an experiment. It reads only the file and the recipes, never the machine.
    """
    try:
        loaded = _load(file, others, recipe_folders)
    except ConfigError as error:
        if not as_json:
            raise
        echo(
            json.dumps({"valid": False, "mistakes": [vars(mistake) for mistake in error.mistakes]})
        )
        context.exit(EXIT_USAGE)
    design = loaded.experiment
    scales = {name: design.at_scale(name).trials() for name in design.scales}
    counts = {table: _counts(design, table) for table in STATED_TABLES.provided() if table.complete}
    if as_json:
        notes = experiment_argument.notes(loaded)
        values = {"valid": True, "trials": len(loaded.trials), "scales": scales, "notes": notes}
        echo(json.dumps({**values, **{table.field: count for table, count in counts.items()}}))
    else:
        words = [format_count(len(loaded.trials), "trial")]
        words += [f"{trials} at scale {name}" for name, trials in scales.items()]
        for table, count in counts.items():
            words += [format_count(count["all"], table.name)] if count else []
            words += [f"{count[name]} complete at scale {name}" for name in scales if count]
        echo(f"{file}: no mistakes; {', '.join(words)}")
        experiment_argument.print_notes(loaded)


def _load(
    file: Path, others: tuple[Path, ...], recipe_folders: tuple[Path, ...]
) -> LoadedExperiment:
    """Read the experiment, and check its claims about others.

    Raises:
        ConfigError: With every mistake, in any of the files.
    """
    known, mistakes = _experiments(others)
    try:
        loaded, _ = experiment_argument.load(file, recipe_folders)
    except ConfigError as error:
        raise ConfigError([*error.mistakes, *mistakes]) from None
    if not mistakes:
        mistakes = [
            Mistake(parser.format_path((*path, *problem.at)), problem.reason, problem.remedy)
            for table in STATED_TABLES.provided()
            for path, problem in table.problems(loaded.experiment.stated(table, known))
        ]
    require_none(mistakes)
    return loaded


def _experiments(files: tuple[Path, ...]) -> tuple[dict[str, Experiment], list[Mistake]]:
    """Return the experiments in some files by their names, and every mistake."""
    experiments, mistakes = dict[str, Experiment](), list[Mistake]()
    for path in files:
        try:
            read = parser.read(experiment_argument.text(path))
        except ConfigError as error:
            mistakes += error.mistakes
            continue
        if read.experiment is None or read.mistakes:
            mistakes += experiment_argument.placed(read.mistakes, path)
        else:
            experiments[read.experiment.name] = read.experiment
    return experiments, mistakes


def _counts(experiment: Experiment, table: StatedTable) -> Mapping[str, int]:
    """Count its tables (``all``), and for each scale the complete ones; empty without a table."""
    stated = experiment.stated(table)
    if not (stated.tables and table.complete):
        return {}
    counts = {"all": len(stated.tables)}
    for name in experiment.scales:
        treatments = experiment.at_scale(name).treatments()
        counts[name] = len(table.complete(stated, frozenset(map(treatment_key, treatments))))
    return counts
