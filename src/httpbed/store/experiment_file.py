"""Reads the experiment file of a campaign, which may come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from httpbed.experiment import parser
from httpbed.experiment.errors import ConfigError
from httpbed.experiment.experiment import Experiment
from httpbed.store.campaign import Campaign
from httpbed.store.layout import EXPERIMENT


def read(campaign: Campaign) -> tuple[Experiment, Mapping[str, Any]]:
    """Return the experiment, and the document from which it was read.

    Raises:
        ConfigError: With every mistake, and its place in the file.
    """
    found = parser.read_valid(campaign.experiment_text)
    if found.experiment is None:
        file, remedy = campaign.directory / EXPERIMENT, "restore it from a copy"
        raise ConfigError(
            replace(one, place=f"{file}: {one.place}", remedy=one.remedy or remedy)
            for one in found.mistakes
        )
    return found.experiment, found.document
