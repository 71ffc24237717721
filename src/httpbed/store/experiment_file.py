"""Reads the experiment file of a campaign, which may come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from httpbed.base.errors import ConfigError
from httpbed.experiment import parser
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.parser import ParsedExperiment
from httpbed.store.campaign import Campaign
from httpbed.store.layout import EXPERIMENT


def header(campaign: Campaign) -> tuple[Experiment, Mapping[str, Any]]:
    """Return the experiment, and the document from which it was read, its scenario unread.

    Raises:
        ConfigError: With every mistake, and its place in the file.
    """
    return _required(campaign, parser.read_valid(campaign.experiment_text))


def read(campaign: Campaign) -> tuple[Experiment, Mapping[str, Any]]:
    """Return the same, after the scenario of every treatment was read.

    Raises:
        ConfigError: With every mistake, and its place in the file.
    """
    return _required(campaign, parser.read_stored(campaign.experiment_text))


def _required(campaign: Campaign, found: ParsedExperiment) -> tuple[Experiment, Mapping[str, Any]]:
    if found.experiment is None:
        file, remedy = campaign.directory / EXPERIMENT, "restore it from a copy"
        raise ConfigError(
            replace(one, place=f"{file}: {one.place}", remedy=one.remedy or remedy)
            for one in found.mistakes
        )
    return found.experiment, found.document
