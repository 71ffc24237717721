"""``httpbed validate``: list every mistake in an experiment file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from httpbed.cli import experiment_argument
from httpbed.cli.echo import echo
from httpbed.cli.verb import verb
from httpbed.experiment import parser
from httpbed.experiment.claims import checking
from httpbed.experiment.claims.cell_builder import ClaimDesign
from httpbed.experiment.errors import ConfigError, Mistake
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
        loaded, _ = experiment_argument.load(file, recipe_folders)
        _demand_cells_of(others, loaded.experiment)
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


def _demand_cells_of(others: tuple[Path, ...], experiment: Experiment) -> None:
    """Check the claims about other experiments.

    Raises:
        ConfigError: With every mistake, in another file or in a claim about it.
    """
    designs = {}
    for path in others:
        read = parser.read_valid(experiment_argument.text(path))
        if read.experiment is None:
            raise ConfigError([replace(one, place=f"{path}: {one.place}") for one in read.mistakes])
        designs[read.experiment.name] = _design(read.experiment)
    whole = replace(_design(experiment), others=designs)
    mistakes = [
        Mistake(parser.format_path((*at, *one.at)), one.reason, one.remedy)
        for at, one in checking.problems(dict(enumerate(experiment.claims)), whole)
    ]
    if mistakes:
        raise ConfigError(mistakes)


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
