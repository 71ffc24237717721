"""Claims and figures of an experiment file, for a campaign that ran without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from httpbed.addons.claims import checking as claim_checks
from httpbed.addons.claims import judging
from httpbed.addons.claims.stated import StatedClaim
from httpbed.addons.figures import checking as figure_checks
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli import experiment_argument
from httpbed.experiment import parser
from httpbed.experiment.document import KeyPath
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.table_problem import TableProblem
from httpbed.store.results import Results


def claims_of_each(
    campaigns: Sequence[Results], file: Path | None
) -> list[tuple[Results, Sequence[StatedClaim]]]:
    """Return each campaign with the claims to judge.

    A campaign is left out if claims of the others refer to it, and it has none of its own, or
    ``file`` is given: it is only evidence.

    Raises:
        ConfigError: A campaign has no claims, or the file's claims do not fit it.
    """
    stated = _read(file).claims if file else [c for one in campaigns for c in _own(one)]
    named = {name for one in stated for name in one.other_experiments}
    judged = [
        one for one in campaigns if one.experiment.name not in named or (file is None and _own(one))
    ]
    if not judged:
        reason = "claims of the file only refer to the campaigns that are given"
        remedy = "name a campaign of the file's experiment as well"
        raise ConfigError([Mistake(str(file), reason, remedy)])
    return [(one, _claims(one, file)) for one in judged]


def _own(results: Results) -> Sequence[StatedClaim]:
    claims: Sequence[StatedClaim] = results.stated_experiment.claims
    return claims


def _claims(results: Results, file: Path | None) -> Sequence[StatedClaim]:
    """Return the claims to judge: the campaign's own, or those of a file that fits it.

    Raises:
        ConfigError: There are none, or the file's claims do not fit the campaign.
    """
    if file is None:
        experiment = results.stated_experiment
        if not experiment.claims:
            remedy = "write [[claim]] tables in a file and name it with --experiment"
            raise ConfigError([Mistake(str(results.directory), "has no claims", remedy)])
        return _own(results)
    stated: Sequence[StatedClaim] = _read(file).claims
    if not stated:
        raise ConfigError([Mistake(str(file), "has no claims", "write [[claim]] tables in it")])
    design = judging.design_of(results.stated_experiment)
    problems = claim_checks.problems(dict(enumerate(stated)), design)
    _demand_none(problems, f"{file}, judged by {results.directory}")
    return stated


def with_tables_of(results: Results, file: Path) -> Results:
    """Return a campaign's results with the figures and claims of a file in place of its own.

    The file's citation and scales come with them, because claims and figures are a publication's.

    Raises:
        ConfigError: The file has neither, or they do not fit the campaign's design.
    """
    stated = _read(file)
    if not stated.figures and not stated.claims:
        remedy = "write [[figure]] or [[claim]] tables in it"
        raise ConfigError([Mistake(str(file), "declares no figure and no claim", remedy)])
    whole = results.stated_experiment
    changes: dict[str, Any] = {"citation": stated.citation or whole.citation}
    if stated.figures:
        found = figure_checks.problems(
            dict(enumerate(stated.figures)), whole.factors, list(whole.treatments())
        )
        _demand_none(found, f"{file}, drawn from {results.directory}")
        changes["figures"] = stated.figures
    if stated.claims:
        changes["claims"] = _claims(results, file)
    return replace(
        results,
        experiment=results.experiment.model_copy(update=changes),
        whole_experiment=whole.model_copy(
            update={**changes, "scales": {**whole.scales, **stated.scales}}
        ),
    )


def _read(file: Path) -> Experiment:
    read = parser.read_valid(experiment_argument.text(file))
    if read.experiment is None:
        raise ConfigError(read.mistakes)
    return read.experiment


def _demand_none(found: Iterable[tuple[KeyPath, TableProblem]], place: str) -> None:
    mistakes = [
        Mistake(f"{place}: {parser.format_path((*at, *one.at))}", one.reason, one.remedy)
        for at, one in found
    ]
    if mistakes:
        raise ConfigError(mistakes)
