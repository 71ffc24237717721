"""``httpbed validate``: list every mistake in an experiment file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from httpbed.addons.claims import checking
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.cli import experiment_argument
from httpbed.cli.echo import echo
from httpbed.cli.verb import verb
from httpbed.experiment import parser
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.treatment import treatment_key


@verb("validate")
@experiment_argument.file_argument
@click.option(
    "--with",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Check claims about this experiment too, which they name as another experiment.",
)
@experiment_argument.recipes_option
@experiment_argument.json_option
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
        echo(json.dumps({"valid": False, "mistakes": [vars(one) for one in error.mistakes]}))
        context.exit(2)
    design = loaded.experiment
    scales = {name: design.at_scale(name).trials() for name in design.scales}
    claims = _claims(design)
    if as_json:
        notes = experiment_argument.notes(loaded)
        values = {"valid": True, "trials": len(loaded.trials), "scales": scales, "notes": notes}
        echo(json.dumps({**values, "claims": claims}))
    else:
        at_scales = [f"{trials} at scale {name}" for name, trials in scales.items()]
        trials = f"{len(loaded.trials)} trial{'s' * (len(loaded.trials) != 1)}"
        words = [trials, *at_scales, *_in_words(claims)]
        echo(f"{file}: no mistakes; {', '.join(words)}")
        experiment_argument.print_notes(loaded)


def _load(
    file: Path, others: tuple[Path, ...], recipe_folders: tuple[Path, ...]
) -> LoadedExperiment:
    """Read the experiment, and check its claims about others.

    Raises:
        ConfigError: With every mistake, in any of the files.
    """
    designs, mistakes = _designs(others)
    try:
        loaded, _ = experiment_argument.load(file, recipe_folders)
    except ConfigError as error:
        raise ConfigError([*error.mistakes, *mistakes]) from None
    if not mistakes:
        claims = dict(enumerate(loaded.experiment.claims))
        whole = replace(_design(loaded.experiment), others=designs)
        mistakes = [
            Mistake(parser.format_path((*at, *one.at)), one.reason, one.remedy)
            for at, one in checking.problems(claims, whole)
        ]
    if mistakes:
        raise ConfigError(mistakes)
    return loaded


def _designs(files: tuple[Path, ...]) -> tuple[dict[str, ClaimDesign], list[Mistake]]:
    """Return the designs of the experiments in some files by their names, and every mistake."""
    designs, mistakes = dict[str, ClaimDesign](), list[Mistake]()
    for path in files:
        try:
            read = parser.read(experiment_argument.text(path))
        except ConfigError as error:
            mistakes += error.mistakes
            continue
        if read.experiment is None or read.mistakes:
            mistakes += (replace(one, place=f"{path}: {one.place}") for one in read.mistakes)
        else:
            designs[read.experiment.name] = _design(read.experiment)
    return designs, mistakes


def _claims(experiment: Experiment) -> dict[str, int]:
    """Count the claims, and those of which each scale runs all treatments; empty without claims."""
    if not experiment.claims:
        return {}
    whole = _design(experiment)
    counts = {"all": len(experiment.claims)}
    for name in experiment.scales:
        available = _keys(experiment.at_scale(name))
        counts[name] = len(checking.complete(experiment.claims, whole, available))
    return counts


def _design(experiment: Experiment) -> ClaimDesign:
    return ClaimDesign(experiment.factors, _keys(experiment))


def _keys(experiment: Experiment) -> frozenset[tuple[str, ...]]:
    return frozenset(map(treatment_key, experiment.treatments()))


def _in_words(claims: dict[str, int]) -> list[str]:
    if not claims:
        return []
    scales = [
        f"{count} complete at scale {name}" for name, count in claims.items() if name != "all"
    ]
    stated = claims["all"]
    return [f"{stated} claim{'s' * (stated != 1)}", *scales]
