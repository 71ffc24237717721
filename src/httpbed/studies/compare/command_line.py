"""A comparison, from the words of a command line to an experiment without mistakes."""

from __future__ import annotations

from dataclasses import dataclass

from httpbed.campaign import preparation
from httpbed.campaign.preparation import Loaded
from httpbed.experiment.errors import ConfigError
from httpbed.programs.catalog import Catalog
from httpbed.studies.compare import error_mapping, experiment_file, options, senders
from httpbed.studies.compare.options import Line


@dataclass(frozen=True)
class Comparison:
    """What is to be run."""

    loaded: Loaded
    """The experiment; its text is the file."""
    skipped: tuple[str, ...]
    """Combinations that are not run, each with the reason."""


def comparison(line: Line, catalog: Catalog) -> Comparison:
    """Write the experiment that a command line asks for, and read it as any other.

    Raises:
        ConfigError: With every mistake, each at its option.
    """
    wish, mistakes = options.wish(line, catalog)
    if not wish.clients:
        raise ConfigError(mistakes)
    offered = senders.offers(wish, catalog)
    mistakes += senders.mistakes(offered, wish, catalog)
    try:
        loaded = preparation.load(experiment_file.experiment(wish, offered, catalog), catalog)
    except ConfigError as error:
        mistakes += [error_mapping.at_option(one, wish) for one in error.mistakes]
    if mistakes:
        raise ConfigError(dict.fromkeys(mistakes))
    return Comparison(loaded, tuple(senders.skipped(offered)))
