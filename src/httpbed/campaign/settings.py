"""The settings of a run: made by the command line, and passed whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from httpbed.bed.machine.backend import Backend
from httpbed.campaign.parallelism import ONE, Parallelism

if TYPE_CHECKING:  # --help need not import it
    from httpbed.trial.plan import PlanOptions


@dataclass(frozen=True)
class RunSettings:
    """How a campaign runs: everything but the experiment and its programs."""

    backend: Backend
    """How packets cross the link."""
    command: str
    """The command line that started it, for the manifest."""
    keep: frozenset[str] = frozenset()
    """The kinds of :data:`~httpbed.experiment.kept.KINDS` that trials keep."""
    jobs: Parallelism = ONE
    """Trials side by side."""
    packet_log: bool = False
    """Whether trials keep the emulator's packet log."""
    sources: Mapping[str, Any] = field(default_factory=dict)
    """Where recipes and programs come from, for the manifest."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """The values of the options that addons add, by their parameters."""

    def of_trials(self) -> PlanOptions:
        """Return what each trial is planned with."""
        from httpbed.trial.plan import PlanOptions  # noqa: PLC0415 - as above

        return PlanOptions(keep=self.keep, log=self.packet_log, backend=self.backend)
