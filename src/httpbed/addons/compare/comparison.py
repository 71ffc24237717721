"""A comparison: from the words of a command line to an experiment without mistakes."""

from __future__ import annotations

from dataclasses import dataclass

from httpbed.addons.compare import draft as drafts
from httpbed.addons.compare import options, senders, toml_file
from httpbed.addons.compare.draft import Draft
from httpbed.addons.compare.options import CommandLine
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign import preparation
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.programs.catalog import Catalog


@dataclass(frozen=True)
class Comparison:
    """The experiment that a command line describes."""

    loaded: LoadedExperiment
    """The experiment; its text is the experiment file."""
    skipped: tuple[str, ...]
    """Combinations that do not run, each with the reason."""


def comparison(line: CommandLine, catalog: Catalog) -> Comparison:
    """Write the experiment that a command line describes, and load it like any other file.

    Raises:
        ConfigError: With every mistake, each at its option.
    """
    _require_utf_8(line)
    chosen, mistakes = options.parse(line, catalog)
    if not chosen.clients:
        raise ConfigError(mistakes)
    offered = senders.offers(chosen, catalog)
    mistakes += senders.mistakes(offered, chosen, catalog)
    draft = drafts.draft(chosen, offered, catalog)
    try:
        loaded = preparation.load(toml_file.text(draft), catalog)
    except ConfigError as error:
        mistakes += [_at_option(mistake, draft) for mistake in error.mistakes]
    if mistakes:
        raise ConfigError(dict.fromkeys(mistakes))
    return Comparison(loaded, tuple(senders.skipped(offered)))


def _require_utf_8(line: CommandLine) -> None:
    """Refuse words with other bytes, which an experiment file cannot contain."""
    strange = [word for word in line.words(None) if word != word.encode(errors="replace").decode()]
    if strange:
        raise ConfigError(Mistake(word, "is not UTF-8", "rename it") for word in strange)


def _at_option(mistake: Mistake, draft: Draft) -> Mistake:
    """Return a mistake in the experiment at the option that caused it, if one did."""
    option = draft.option_at(mistake.path)
    return Mistake(option, mistake.reason, mistake.remedy) if option else mistake
