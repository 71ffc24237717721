"""What addons add to campaigns, and the clocks beside real time: two seams.

A :class:`CampaignAddition` takes part in a run from its command line to its end. Its methods are
here in the order in which a run calls them. A :class:`TrialClock` runs trials by another clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from httpbed.base.addon import Seam
from httpbed.base.errors import HostError, Mistake
from httpbed.experiment.factorial import TreatmentKey, treatment_key

if TYPE_CHECKING:  # they ask the seams, or --help need not import them
    from httpbed.bed.machine.backend import Backend
    from httpbed.bed.machine.doctor import Capability
    from httpbed.campaign.executor import AttemptProgress
    from httpbed.campaign.preparation import LoadedExperiment
    from httpbed.campaign.run import OpenRun
    from httpbed.campaign.settings import RunSettings
    from httpbed.experiment.experiment import Experiment
    from httpbed.experiment.parser import ParsedExperiment
    from httpbed.experiment.scenario import Scenario
    from httpbed.experiment.trial import Record
    from httpbed.experiment.workload import Workload
    from httpbed.programs.catalog import Catalog
    from httpbed.trial.plan import CampaignSetup, TrialPlan

Say = Callable[[str], None]
Tell = Callable[["AttemptProgress"], None]
Option = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Adds an option to a command, as :func:`click.option` does."""


@dataclass(frozen=True)
class NeededTrials:
    """The part of a design that something needs."""

    blocks: Mapping[TreatmentKey, int]
    """Number of blocks by treatment."""
    left_out: tuple[str, ...]
    """Names of what needs treatments that the scale does not run."""
    short: Mapping[str, int]
    """Names of what more blocks than the experiment has could settle, with their number."""

    def reduced(self, experiment: Experiment) -> Experiment:
        """Return the experiment with these treatments only."""
        chosen = [
            treatment
            for treatment in experiment.treatments()
            if treatment_key(treatment) in self.blocks
        ]
        return experiment.reduced_to(chosen, max(self.blocks.values()))


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


Executor = Callable[["OpenRun", "LoadedExperiment", "RunSettings", Tell], None]
"""Runs the pending trials of an open campaign."""


@dataclass(frozen=True)
class TrialClock:
    """A clock beside real time, by which trials run."""

    name: str

    def refuse(self, backend: Backend) -> None:
        """Refuse a machine or a backend without this clock.

        :raises HostError: when the machine has none.
        :raises ConfigError: when the backend has none.
        """

    def require_congestion(self, names: Collection[str]) -> None:
        """Check that its kernel has these congestion controls.

        :raises HostError: when it lacks one.
        """

    def kernel(self, say: Say) -> Any:
        """Build or find the kernel that trials need."""
        raise NotImplementedError

    def program(self, kernel: Any) -> dict[str, Any]:
        """Return the kernel as a manifest lists programs."""
        raise NotImplementedError

    async def run(
        self, planned: TrialPlan, setup: CampaignSetup, artifacts: Path
    ) -> Mapping[str, float]:
        """Make an attempt, and return each phase's seconds.

        :raises BedError: when the bed breaks it off.
        """
        raise NotImplementedError

    def judged(self, judge: Callable[[], Record]) -> Record:
        """Judge an attempt.

        :raises BedError: when its evidence cannot be judged.
        """
        return judge()

    def test(self) -> Capability:
        """Test whether this machine runs trials by the clock."""
        raise NotImplementedError

    def cpu_s(self, scenario: Scenario, share: float, *, in_browser: bool) -> float:
        """Estimate the CPU seconds of a trial in which this share of the transfer happens."""
        raise NotImplementedError

    @property
    def start_s(self) -> float:
        """CPU seconds that every trial takes to begin."""
        raise NotImplementedError


CAMPAIGN_ADDITIONS = Seam("additions to campaigns", CampaignAddition)
CLOCKS = Seam("clocks", TrialClock)


def clock(name: str) -> TrialClock:
    """Return a clock beside real time.

    :raises HostError: when no addon has it.
    """
    for one in CLOCKS.provided():
        if one.name == name:
            return one
    raise HostError(f"this httpbed runs no trials in {name} time", "run with --clock real")


def executor(settings: RunSettings) -> Executor | None:
    """Return what runs the trials elsewhere; None for this machine."""
    return next(
        filter(None, (addition.executor(settings) for addition in CAMPAIGN_ADDITIONS.provided())),
        None,
    )
