"""The registry of check families: every check on an attempt comes from here.

A family observes checks that need the same evidence. Its checks' descriptors are in
:mod:`httpbed.experiment.check`; to add a check, describe it there and observe it in its family.
Addons observe theirs in an :class:`~httpbed.trial.addition.AddedJudgement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from httpbed.experiment.check import SENT
from httpbed.experiment.trial import Check
from httpbed.programs.catalog import Catalog
from httpbed.trial.addition import TRIAL_ADDITIONS, AddedJudgement
from httpbed.trial.checks import bed, kernel, link, link_bounds, sent, subject
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.plan import CampaignSetup, TrialPlan

Judgement = TypeVar("Judgement", bound=AddedJudgement)


@dataclass(frozen=True)
class JudgedAttempt:
    """What the checks read: the trial's plan, what was prepared for it, and the evidence."""

    planned: TrialPlan
    setup: CampaignSetup
    evidence: AttemptEvidence

    @property
    def catalog(self) -> Catalog:
        """The recipes of its programs."""
        return self.setup.catalog

    @cached_property
    def added(self) -> tuple[AddedJudgement, ...]:
        """The judgements of additions."""
        return tuple(one.judgement(self) for one in TRIAL_ADDITIONS.provided())

    def stores_bodies(self, client: str) -> bool:
        """Whether a client stores what it fetches."""
        return self.catalog[self.planned.scenario.implementations[client]].stores_bodies


def _links(attempt: JudgedAttempt) -> Iterator[Check]:
    net, evidence = attempt.planned.network, attempt.evidence
    if evidence.link and net.shaped:
        yield from kernel.checks(net, evidence.link, evidence.qdiscs)
    elif evidence.link:
        yield from link.checks(net.emulator_config, evidence.link, evidence.client_s)


def _added_of_bed(attempt: JudgedAttempt) -> Iterator[Check]:
    for one in attempt.added if attempt.evidence.link else ():
        yield from one.checks_of_bed()


def _added_of_subject(attempt: JudgedAttempt) -> Iterator[Check]:
    for one in attempt.added:
        yield from one.checks_of_subject()


BED_FAMILIES: tuple[Callable[[JudgedAttempt], Iterable[Check]], ...] = (
    lambda attempt: bed.checks(attempt.planned, attempt.catalog, attempt.evidence),
    _links,
    lambda attempt: link_bounds.checks(attempt.planned.network, attempt.evidence),
    _added_of_bed,
)
SUBJECT_FAMILIES: tuple[Callable[[JudgedAttempt], Iterable[Check]], ...] = (
    subject.checks,
    lambda attempt: sent.checks(attempt.planned, attempt.evidence),
    lambda attempt: link_bounds.of_subject(attempt.planned, attempt.evidence),
    _added_of_subject,
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
