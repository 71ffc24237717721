"""What a campaign of unknown origin says about its experiment and design, read and checked.

A design has its digest, so it is as somebody wrote it. That somebody need not have been httpbed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.experiment import parser, validation_messages
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.parser import ParsedExperiment
from httpbed.experiment.scenario import Scenario, of_campaign
from httpbed.experiment.trial import Trial
from httpbed.store import layout
from httpbed.store.campaign import Campaign
from httpbed.store.layout import EXPERIMENT

# Reads the experiment file of a campaign, which may come from anywhere.


def experiment_header(campaign: Campaign) -> tuple[Experiment, Mapping[str, Any]]:
    """Return the experiment, and the document from which it was read, its scenario unread.

    Raises:
        ConfigError: With every mistake, and its place in the file.
    """
    return _required_experiment(campaign, parser.read_valid(campaign.experiment_text))


def read_experiment(campaign: Campaign) -> tuple[Experiment, Mapping[str, Any]]:
    """Return the same, after the scenario of every treatment was read.

    Raises:
        ConfigError: With every mistake, and its place in the file.
    """
    return _required_experiment(campaign, parser.read_stored(campaign.experiment_text))


def _required_experiment(
    campaign: Campaign, parsed: ParsedExperiment
) -> tuple[Experiment, Mapping[str, Any]]:
    if parsed.experiment is None:
        file, remedy = campaign.directory / EXPERIMENT, "restore it from a copy"
        raise ConfigError(
            replace(mistake, place=f"{file}: {mistake.place}", remedy=mistake.remedy or remedy)
            for mistake in parsed.mistakes
        )
    return parsed.experiment, parsed.document


MAX_LISTED = 20
REMEDY = "restore it from a copy"
LARGEST = 2**31 - 1
"""The tables' columns of blocks and positions hold no larger number."""


def refuse_design(campaign: Campaign, design: Sequence[Trial], factors: Collection[str]) -> None:
    """Refuse a design whose trials are none of the experiment, or cannot be read.

    Raises:
        ConfigError: With the first mistakes.
    """
    file = campaign.directory / campaign.design_file
    mistakes = [
        Mistake(f"{file}: line {number}{place}", reason, REMEDY)
        for number, place, reason in islice(_of_trials(design, factors), MAX_LISTED)
    ]
    require_none(mistakes)


def refuse_strangers(campaign: Campaign, design: Sequence[Trial], trials: pa.Table) -> None:
    """Refuse tables with trials that the design lacks, or that are in another block there.

    Raises:
        ConfigError: With the first of them.
    """
    known = {(trial.id, trial.block) for trial in design}
    rows = set(zip(trials["trial"].to_pylist(), trials["block"].to_pylist(), strict=True))
    if strange := sorted(rows - known):
        file, (trial, block) = layout.table(campaign.directory, "trials"), strange[0]
        reason = f"has trial {trial!r} of block {block}, which {campaign.design_file} lacks"
        raise ConfigError([Mistake(str(file), reason, "restore both from a copy")])


def _of_trials(design: Sequence[Trial], factors: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Yield lines with the place in them and the reason."""
    names, checked, lines = {*factors}, set[int](), dict[str, int]()
    for number, trial in enumerate(design, start=1):
        for name, value in (("block", trial.block), ("position", trial.position)):
            if not 1 <= value <= LARGEST:
                yield number, f": {name}", f"{value} is no number of a {name}"
        if trial.levels.keys() != names:
            yield number, ": levels", "are not those of the factors of the experiment"
        if id(trial.document) not in checked:  # the trials of a treatment share one
            checked.add(id(trial.document))
            yield from ((number, f": {place}", why) for place, why in _of_scenario(trial))
        if (first := lines.setdefault(trial.id, number)) != number:
            yield number, "", f"is the trial of line {first}"


def _of_scenario(trial: Trial) -> Iterator[tuple[str, str]]:
    try:
        Scenario.model_validate(of_campaign(trial.document))
    except ValidationError as error:
        for detail in error.errors():
            reason, _ = validation_messages.reason_and_remedy(detail)
            yield f"document.{parser.format_path(detail['loc'])}", reason
    except RecursionError:
        yield "document", "is nested too deeply"
