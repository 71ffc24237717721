"""What virtual time adds to trials: programs in a guest get no random numbers of the processor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from httpbed.addons.virtual import randomness
from httpbed.addons.virtual.visible_files import RANDOM_DEVICE
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.experiment.trial import Trial
from httpbed.trial.addition import TrialAddition
from httpbed.trial.plan import CampaignSetup, TrialPlan


@dataclass(frozen=True)
class VirtualAddition(TrialAddition):
    """Trials in a guest."""

    name: str = "virtual time"

    def process(self, trial: Trial, process: ProcessSpec) -> ProcessSpec:
        """Return a program's process with the variables that it needs in a guest."""
        if trial.clock == "real":
            return process
        environment = randomness.environment(RANDOM_DEVICE, process.environment)
        return replace(process, environment=environment)

    def shared(self, setup: CampaignSetup, trial: TrialPlan) -> dict[str, Path]:
        """Return the library that programs in a guest load."""
        if trial.trial.clock == "real" or setup.kernel is None:
            return {}
        return {RANDOM_DEVICE: setup.kernel.random_device}


ADDITION = VirtualAddition()
