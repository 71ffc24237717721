"""The registry of check families: every check on an attempt comes from here.

A family observes checks that need the same evidence. Its checks' descriptors are in
:mod:`httpbed.experiment.check`; to add a check, describe it there and observe it in its family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from httpbed.addons.handover import handover_checks as handover
from httpbed.addons.handover import handover_metrics as metrics
from httpbed.addons.handover import handover_outcome as outcome
from httpbed.addons.handover.handover_metrics import ObservedHandovers
from httpbed.addons.handover.handover_outcome import HandoverVerdict
from httpbed.experiment.check import SENT
from httpbed.experiment.trial import Check
from httpbed.programs.catalog import Catalog
from httpbed.trial.checks import bed, kernel, link, link_bounds, sent, subject
from httpbed.trial.checks.subject import ServedContent
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.plan import TrialPlan


@dataclass(frozen=True)
class JudgedAttempt:
    """What the checks read: the trial's plan, what was served, and the evidence."""

    planned: TrialPlan
    catalog: Catalog
    served: ServedContent
    evidence: AttemptEvidence

    @cached_property
    def handovers(self) -> ObservedHandovers | None:
        """The client's hand-overs; None where there are none, or the client did not run."""
        planned = self.planned
        return metrics.observed(planned.scenario.handover, planned.chains[0], self.evidence)

    @cached_property
    def handover_verdicts(self) -> list[HandoverVerdict]:
        """How the client reacted to each hand-over."""
        return outcome.verdicts(self.handovers) if self.handovers else []


def _bed(attempt: JudgedAttempt) -> Iterator[Check]:
    yield from bed.checks(attempt.planned, attempt.catalog, attempt.evidence)


def _links(attempt: JudgedAttempt) -> Iterator[Check]:
    net, evidence = attempt.planned.network, attempt.evidence
    if evidence.link and net.shaped:
        yield from kernel.checks(net, evidence.link, evidence.qdiscs)
    elif evidence.link:
        yield from link.checks(net.emulator_config, evidence.link, evidence.client_s)


def _bounds(attempt: JudgedAttempt) -> Iterator[Check]:
    if attempt.evidence.link:
        yield from link_bounds.checks(attempt.planned.network, attempt.evidence)


def _network_changes(attempt: JudgedAttempt) -> Iterator[Check]:
    handover_plan = attempt.planned.scenario.handover
    if handover_plan and attempt.evidence.link:
        yield from handover.of_bed(handover_plan, attempt.planned.hops[0], attempt.evidence)


def _programs(attempt: JudgedAttempt) -> Iterator[Check]:
    yield from subject.checks(attempt.planned.chains, attempt.served, attempt.evidence)


def _possible_requests(attempt: JudgedAttempt) -> Iterator[Check]:
    planned = attempt.planned
    if attempt.evidence.link:
        yield from link_bounds.of_subject(
            planned.scenario, planned.network, planned.chains, attempt.evidence
        )


def _sent(attempt: JudgedAttempt) -> Iterator[Check]:
    yield from sent.checks(attempt.planned, attempt.evidence)


def _reactions(attempt: JudgedAttempt) -> Iterator[Check]:
    if attempt.handovers:
        yield from handover.first_link(attempt.handovers)
        yield from handover.of_subject(attempt.handovers, attempt.handover_verdicts)


BED_FAMILIES: tuple[Callable[[JudgedAttempt], Iterable[Check]], ...] = (
    _bed,
    _links,
    _bounds,
    _network_changes,
)
SUBJECT_FAMILIES: tuple[Callable[[JudgedAttempt], Iterable[Check]], ...] = (
    _programs,
    _sent,
    _possible_requests,
    _reactions,
)


def checks(attempt: JudgedAttempt) -> list[Check]:
    """Observe every check that applies to an attempt, those of the bed first.

    A part that fills its folder, or sends what no HTTP program sends, can break checks of the bed.
    The bed is not judged then: otherwise the part would choose which attempts count.
    """
    of_subject = [check for family in SUBJECT_FAMILIES for check in family(attempt)]
    if attempt.evidence.excess or any(_is_misuse(check) for check in of_subject):
        return of_subject
    return [*(check for family in BED_FAMILIES for check in family(attempt)), *of_subject]


def _is_misuse(check: Check) -> bool:
    return check.check == SENT.id and check.passed is False
