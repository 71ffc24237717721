"""What host and guest hand each other of an attempt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from httpbed.bed.sandbox.sandbox_spec import SandboxSpec
from httpbed.trial.attempt_plan import AttemptPlan

ATTEMPT = Path("/run/httpbed-attempt")
"""The attempt's folder in the guest: in its memory, as the shared folder has no owners."""
ARTIFACTS = "artifacts"
"""Name in both folders of what the attempt left."""
PHASES = "phases_s"
"""Key of the result: the virtual seconds of each phase."""


@dataclass(frozen=True)
class Work:
    """An attempt to be made in a guest, planned to the last detail.

    It has nothing of experiments, recipes and sites, which a guest would take long to import.
    """

    sandbox: SandboxSpec
    attempt: AttemptPlan
