"""The figures of an experiment file, for a campaign that ran without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from httpbed.cli import experiment_argument
from httpbed.experiment import parser
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.figures import checking
from httpbed.experiment.figures.stated import StatedFigure
from httpbed.store.results import Results


def with_figures_of(results: Results, file: Path) -> Results:
    """Return a campaign's results with the figures of a file in place of its own.

    Raises:
        ConfigError: The file has no figures, or they do not fit the campaign's design.
    """
    read = parser.read_valid(experiment_argument.text(file))
    if read.experiment is None:
        raise ConfigError(read.mistakes)
    figures = read.experiment.figures
    if not figures:
        remedy = "write [[figure]] tables in it"
        raise ConfigError([Mistake(str(file), "declares no figure", remedy)])
    _demand_fitting(results, figures, file)
    experiment = results.experiment.model_copy(update={"figures": figures})
    return replace(results, experiment=experiment)


def _demand_fitting(results: Results, figures: Sequence[StatedFigure], file: Path) -> None:
    """Check the figures against all of the design; the campaign's scale may be a part of it."""
    whole = results.whole_experiment or results.experiment
    treatments = list(whole.treatments())
    found = list(checking.problems(dict(enumerate(figures)), whole.factors, treatments))
    if found:
        place = f"{file}, drawn from {results.directory}"
        raise ConfigError(
            Mistake(f"{place}: {parser.format_path((*at, *one.at))}", one.reason, one.remedy)
            for at, one in found
        )
