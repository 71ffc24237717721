"""What addons add to campaigns, at one seam.

A :class:`CampaignAddition` takes part in a run from its command line to its end. Its methods are
here in the order in which a run calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from httpbed.base.addon import Seam
from httpbed.base.errors import Mistake
from httpbed.campaign.loaded_experiment import LoadedExperiment, NeededTrials
from httpbed.campaign.settings import RunSettings

if TYPE_CHECKING:  # --help need not import them
    from httpbed.campaign.executor import Tell
    from httpbed.campaign.run import OpenRun
    from httpbed.experiment.experiment import Experiment
    from httpbed.experiment.parser import ParsedExperiment
    from httpbed.experiment.workload import Workload
    from httpbed.programs.catalog import Catalog
    from httpbed.trial.program_roots import Say

Option = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Adds an option to a command, as :func:`click.option` does."""


class NamedFiles:
    """What an experiment's tables name that has to be read before its trials are known."""

    def mistakes(self, read: ParsedExperiment) -> Iterator[Mistake]:
        """Yield the mistakes in what any treatment names."""
        del read
        yield from ()

    def completed(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a scenario's document with what is known about the things that it names."""
        return document


@dataclass(frozen=True)
class CampaignAddition:
    """What an addon adds to campaigns; each method does nothing unless it is overridden."""

    name: str

    def options(self) -> tuple[Option, ...]:
        """Return options of ``httpbed run``; the settings have their values under ``added``."""
        return ()

    def files(self, folder: Path) -> NamedFiles | None:
        """Return a reader of what an experiment names; names are relative to ``folder``."""
        del folder
        return None

    def needed(self, whole: Experiment, at_scale: Experiment) -> NeededTrials | None:
        """Return the trials that ``--for-claims`` runs; None if this is no matter of the addon.

        :raises ConfigError: when it chooses none.
        """
        del whole, at_scale
        return None

    def origins(self, workloads: Iterable[Workload]) -> Collection[str]:
        """Return origins that the servers' certificates have to name."""
        del workloads
        return ()

    def sites(
        self, workloads: Iterable[Workload], seed: int, folder: Path, say: Say
    ) -> Mapping[str, Any]:
        """Build or find the sites of workloads, by their keys."""
        del workloads, seed, folder, say
        return {}

    def refuse(self, loaded: LoadedExperiment, settings: RunSettings) -> None:
        """Refuse a run before anything is built.

        :raises ConfigError: with the mistakes.
        """

    def executor(self, settings: RunSettings) -> Executor | None:
        """Return what runs the trials elsewhere; None for this machine."""
        del settings
        return None

    def describe(
        self,
        manifest: dict[str, Any],
        loaded: LoadedExperiment,
        catalog: Catalog,
        settings: RunSettings,
    ) -> None:
        """Complete the manifest of a campaign."""


Executor = Callable[["OpenRun", "LoadedExperiment", "RunSettings", "Tell"], None]
"""Runs the pending trials of an open campaign."""


CAMPAIGN_ADDITIONS = Seam("additions to campaigns", CampaignAddition)


def executor(settings: RunSettings) -> Executor | None:
    """Return what runs the trials elsewhere; None for this machine."""
    return next(
        filter(None, (addition.executor(settings) for addition in CAMPAIGN_ADDITIONS.provided())),
        None,
    )
