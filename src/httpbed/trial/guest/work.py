"""What host and guest hand each other of an attempt."""

from __future__ import annotations

from dataclasses import dataclass

from httpbed.experiment.trial import Trial
from httpbed.trial.plan import CampaignSetup

ARTIFACTS = "artifacts"
"""Name in the shared folder of what the attempt left."""
PHASES = "phases_s"
"""Key of the result: the virtual seconds of each phase."""


@dataclass(frozen=True)
class Work:
    """An attempt to be made in a guest."""

    trial: Trial
    setup: CampaignSetup
