"""The claims that a verb judges: a campaign's own, or those of a file that fits it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from httpbed.analysis.claims import judging
from httpbed.cli import experiment_argument
from httpbed.experiment import parser
from httpbed.experiment.claims import checking
from httpbed.experiment.claims.stated import StatedClaim
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.store.results import Results


def claims(results: Results, file: Path | None) -> Sequence[StatedClaim]:
    """Return the claims to judge.

    Raises:
        ConfigError: There are none, or the file's claims do not fit the campaign.
    """
    if file is None:
        experiment = results.whole_experiment or results.experiment
        if not experiment.claims:
            remedy = "write [[claim]] tables in a file and name it with --experiment"
            raise ConfigError([Mistake(str(results.directory), "has no claims", remedy)])
        return experiment.claims
    read = parser.read_valid(experiment_argument.text(file))
    if read.experiment is None:
        raise ConfigError(read.mistakes)
    if not read.experiment.claims:
        raise ConfigError([Mistake(str(file), "has no claims", "write [[claim]] tables in it")])
    design = judging.design_of(results.whole_experiment or results.experiment)
    problems = list(checking.problems(read.experiment.claims, design))
    if problems:
        place = f"{file}, judged by {results.directory}"
        raise ConfigError(
            Mistake(f"{place}: {parser.format_path((*at, *one.at))}", one.reason, one.remedy)
            for at, one in problems
        )
    return read.experiment.claims
