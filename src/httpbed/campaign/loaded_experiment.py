"""An experiment that has been read, with the trials of its design that a campaign runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.bed.network.link_file import LinkFile
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.experiment import Experiment, Replicates
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Trial
from httpbed.experiment.workload import Workload


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


@dataclass(frozen=True)
class LoadedExperiment:
    """A valid experiment and its design."""

    text: str
    experiment: Experiment
    document: Mapping[str, Any]
    trials: tuple[Trial, ...]
    options: DesignOptions
    files: Mapping[str, LinkFile]
    """The files that the experiment names, by digest."""
    folder: Path = Path()
    """The folder to which file names in it are relative."""
    sites: Mapping[str, Any] = field(default_factory=dict)
    """The sites of all its pages by key, if they need not be looked up or generated."""
    for_claims: NeededTrials | None = None
    """What the claims need; None for a design that does not depend on them."""
    stopping: Replicates | None = None
    """When a treatment gets no further block; None: after the last one."""

    def implementations(self) -> list[str]:
        """Return the names of all its implementations, sorted."""
        parts = [part for scenario in self.scenarios() for part in scenario.parts()]
        return sorted({role.implementation for _, role, _ in parts})

    def workloads(self) -> list[Workload]:
        """Return all workloads."""
        return [workload for scenario in self.scenarios() for workload in scenario.workloads()]

    def browsers(self) -> set[str]:
        """Return the names of the implementations that load pages."""
        return {
            group.roles.client.implementation
            for scenario in self.scenarios()
            for group in scenario.client_groups
            if group.workload.kind == "page"
        }

    def tcp_controls(self) -> set[str]:
        """Return the congestion controls that the kernel must provide."""
        return {name for scenario in self.scenarios() for name in scenario.senders().values()}

    def scenarios(self) -> list[Scenario]:
        """Return each treatment's scenario, read once; every block has the same."""
        return [trial.scenario() for trial in self.first_trials()]

    def first_trials(self) -> list[Trial]:
        """Return each treatment's first trial, in the order in which they run."""
        return first_trials(self.trials)


def first_trials(trials: Iterable[Trial]) -> list[Trial]:
    """Return each treatment's first trial, in their order."""
    first = dict[TreatmentKey, Trial]()
    for trial in trials:
        first.setdefault(treatment_key(trial.levels), trial)
    return [*first.values()]
