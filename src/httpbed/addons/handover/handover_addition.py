"""What hand-overs add to trials: their steps and their NAT, evidence, checks and metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from httpbed.addons.handover import (
    handover_checks,
    handover_evidence,
    handover_metrics,
    handover_outcome,
    handover_steps,
)
from httpbed.addons.handover.handover_evidence import HandoverEvidence
from httpbed.addons.handover.handover_metrics import ObservedHandovers
from httpbed.addons.handover.handover_model import handover_of
from httpbed.addons.handover.handover_outcome import HandoverVerdict
from httpbed.addons.handover.handover_plan import HandoverPlan
from httpbed.experiment.metric import Observation
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.topology import Topology
from httpbed.experiment.trial import Check, HandoverEvent
from httpbed.trial.addition import PlannedParts, TrialAddition
from httpbed.trial.evidence import AddedJudgement, AttemptFiles


@dataclass(frozen=True)
class HandoverJudgement(AddedJudgement):
    """Whether the client's network changed as configured, and how the client reacted."""

    @cached_property
    def observed(self) -> ObservedHandovers | None:
        """The client's hand-overs; None where there are none, or the client did not run."""
        planned = self.attempt.planned
        return handover_metrics.observed(
            handover_of(planned.scenario), planned.chains[0], self.attempt.evidence
        )

    @cached_property
    def verdicts(self) -> list[HandoverVerdict]:
        """How the client reacted to each hand-over."""
        return handover_outcome.verdicts(self.observed) if self.observed else []

    def checks_of_bed(self) -> Iterable[Check]:
        """Check that the client's network changed as configured."""
        planned = self.attempt.planned
        if handover := handover_of(planned.scenario):
            hop = planned.hops[0]
            yield from handover_checks.of_bed(handover, hop, self.attempt.evidence)

    def checks_of_subject(self) -> Iterable[Check]:
        """Check that the client began on its first link, and report how it reacted."""
        if self.observed:
            yield from handover_checks.first_link(self.observed)
            yield from handover_checks.of_subject(self.observed, self.verdicts)

    def observations(self) -> Iterable[Observation]:
        """Observe the metrics of hand-overs."""
        return handover_metrics.observations(self.observed) if self.observed else ()

    def handovers(self) -> list[HandoverEvent] | None:
        """Return what happened in each hand-over."""
        return (
            list(handover_outcome.events(self.observed, self.verdicts)) if self.observed else None
        )

    def remark(self) -> str:
        """Say why the client followed no hand-over; empty if it did, or had none."""
        return handover_checks.unfollowed(self.verdicts)


@dataclass(frozen=True)
class HandoverAddition(TrialAddition):
    """Hand-overs in the trials whose scenario has them."""

    name: str = "hand-overs"
    judgement: type[AddedJudgement] = field(default=HandoverJudgement, init=False)

    def topology(self, scenario: Scenario, topology: Topology) -> Topology:
        """Return the topology with the event that triggers the hand-over."""
        return handover_steps.with_trigger(scenario, topology)

    def nat(self, scenario: Scenario) -> Collection[int]:
        """Return the links whose NAT forgets its mappings."""
        handover = handover_of(scenario)
        is_rebound = handover is not None and handover.kind == "NAT rebinding"
        return scenario.access_links[:1] if is_rebound else ()

    def plan(self, planned: PlannedParts) -> HandoverPlan | None:
        """Plan the hand-overs of a scenario."""
        handover, monitor = handover_of(planned.scenario), planned.network.monitor
        if handover is None or monitor is None:
            return None
        monitor = replace(monitor, file_bytes=handover_steps.MONITOR_BYTES)
        return HandoverPlan(handover, planned.network.access, monitor)

    def read(self, files: AttemptFiles) -> HandoverEvidence | None:
        """Read when the client's network changed."""
        handover = handover_of(files.planned.scenario)
        if handover is None:
            return None
        hop = files.planned.hops[0]
        return handover_evidence.read(handover, hop, files.evidence, files.link, files.folder)


ADDITION = HandoverAddition()
