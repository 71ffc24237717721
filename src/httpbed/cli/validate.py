"""``httpbed validate``: list every mistake in an experiment file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click

from httpbed.base.addon import Seam
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.base.units import format_count
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.cli import experiment_argument
from httpbed.cli.echo import echo
from httpbed.cli.options import PATH, json_option
from httpbed.cli.verb import verb
from httpbed.experiment import parser
from httpbed.experiment.document import KeyPath
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.stated_tables import TableProblem


@dataclass(frozen=True)
class FileCheck:
    """What an addon reports about the tables of an experiment file, besides their mistakes."""

    name: str
    """Of the tables, in the plural."""
    problems: Callable[
        [Experiment, Mapping[str, Experiment]], Iterable[tuple[KeyPath, TableProblem]]
    ]
    """Finds mistakes in what they say about other experiments, by the names of those."""
    complete: Callable[[Experiment], Mapping[str, int]]
    """Counts the tables (``all``), and for each scale those that it runs completely."""


FILE_CHECKS = Seam("checks of experiment files", FileCheck)


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
        context.exit(2)
    design = loaded.experiment
    scales = {name: design.at_scale(name).trials() for name in design.scales}
    checks = FILE_CHECKS.provided()
    complete = {check.name: dict(check.complete(design)) for check in checks}
    if as_json:
        notes = experiment_argument.notes(loaded)
        values = {"valid": True, "trials": len(loaded.trials), "scales": scales, "notes": notes}
        echo(json.dumps({**values, **complete}))
    else:
        at_scales = [f"{trials} at scale {name}" for name, trials in scales.items()]
        trials = format_count(len(loaded.trials), "trial")
        words = [trials, *at_scales, *_in_words(complete)]
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
            Mistake(parser.format_path((*at, *one.at)), one.reason, one.remedy)
            for check in FILE_CHECKS.provided()
            for at, one in check.problems(loaded.experiment, known)
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
            mistakes += (
                replace(mistake, place=f"{path}: {mistake.place}") for mistake in read.mistakes
            )
        else:
            experiments[read.experiment.name] = read.experiment
    return experiments, mistakes


def _in_words(complete: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for name, counts in complete.items():
        if counts:
            stated = counts["all"]
            yield f"{stated} {name if stated != 1 else name.removesuffix('s')}"
            for scale, count in counts.items():
                if scale != "all":
                    yield f"{count} complete at scale {scale}"
