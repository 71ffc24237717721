"""The verdict on an attempt: its checks, outcome and observations, from its folder alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from httpbed.experiment.handover_event import HandoverEvent
from httpbed.experiment.metric import Observation
from httpbed.experiment.trial import Attempt, Check, Outcome, Record, Trial
from httpbed.trial import evidence, observe
from httpbed.trial.checks import bed as bed_checks
from httpbed.trial.checks import handover, link_bounds, subject
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.handover import events, metrics
from httpbed.trial.handover import outcome as handover_outcome
from httpbed.trial.plan import CampaignSetup, TrialPlan


@dataclass(frozen=True)
class AttemptId:
    """An attempt at a trial."""

    trial: Trial
    number: int
    """From 1."""
    started: datetime

    def record(
        self,
        outcome: Outcome,
        checks: Sequence[Check],
        phases_s: Mapping[str, float],
        observations: Sequence[Observation] = (),
        handovers: list[HandoverEvent] | None = None,
    ) -> Record:
        """Return the attempt's record."""
        attempt = Attempt(
            trial=self.trial,
            number=self.number,
            outcome=outcome,
            checks=list(checks),
            started=self.started.isoformat(timespec="milliseconds"),
            phases_s=dict(phases_s),
        )
        return Record(attempt=attempt, observations=list(observations), handovers=handovers)


def judge(
    attempt: AttemptId,
    planned: TrialPlan,
    setup: CampaignSetup,
    artifacts: Path,
    phases_s: Mapping[str, float],
) -> Record:
    """Judge an attempt of a planned trial by the files in ``artifacts``."""
    scenario, chains = planned.scenario, planned.chains()
    observed = evidence.read(planned, setup.catalog, artifacts)
    stores = [
        name
        for name, implementation in scenario.implementations.items()
        if setup.catalog[implementation].stores_bodies
    ]
    served = subject.ServedContent(setup.contents, setup.sites, stores)
    checks = [
        # A part that fills the disk slows the bed down, so the bed is not to blame then.
        *(() if observed.excess else bed_checks.checks(planned, setup.catalog, observed)),
        *subject.checks(chains, served, observed),
    ]
    handover_events = None
    if (handovers := metrics.observed(scenario.handover, chains[0], observed)) is not None:
        verdicts = handover_outcome.verdicts(handovers)
        checks += handover.of_subject(handovers, verdicts)
        handover_events = list(events.events(handovers, verdicts))
    observations = observe.observations(scenario, chains, observed)
    return attempt.record(
        outcome(checks, observed), checks, phases_s, observations, handover_events
    )


def outcome(checks: Sequence[Check], observed: AttemptEvidence) -> Outcome:
    """Return how an attempt ended; a failure of the bed comes first, as it makes the rest void.

    The outcome is "timed out" only where no other check failed: a client whose server died, or
    spoke another version, would have waited in any network.
    """
    broken = [check for check in checks if check.passed is False]
    of_bed = [check for check in broken if check.of == "bed"]
    if of_bed:
        return Outcome(kind="invalid", reason=_reasons(of_bed))
    late = {f"{name} ended well" for name, ended in observed.exits.items() if ended.timed_out}
    only_late = all(check.name in late for check in broken)
    besides = handover.unfollowed(checks)
    if observed.client is not None and observed.client.timed_out and only_late:
        reasons = filter(None, ["the client was still busy at the time limit", besides])
        return Outcome(kind="timed out", reason="; ".join(reasons))
    if broken:
        return Outcome(kind="failed", reason="; ".join(filter(None, [_reasons(broken), besides])))
    return Outcome(kind="completed")


def is_strained(attempt: Attempt) -> bool:
    """Whether an attempt is invalid only because the machine was busy."""
    broken = {check.name for check in attempt.checks if check.passed is False and check.of == "bed"}
    return attempt.outcome.kind == "invalid" and bool(broken) and broken <= bed_checks.STRAIN


def broken_bed(attempt: AttemptId, reason: str) -> Record:
    """Return the record of an attempt that the bed could not finish."""
    check = Check(name="trial carried out", of="bed", passed=False, figure=reason)
    return attempt.record(Outcome(kind="invalid", reason=reason), [check], {})


def _reasons(broken: Sequence[Check]) -> str:
    return "; ".join(map(_reason, broken))


def _reason(check: Check) -> str:
    if check.figure.startswith(link_bounds.IMPOSSIBLE):
        return check.figure
    return f"{check.name}: {check.figure}"
