"""From an attempt's folder to its record: checks, outcome and observations. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from httpbed.experiment.handover_event import HandoverEvent
from httpbed.experiment.metric import Observation
from httpbed.experiment.trial import Attempt, Check, Outcome, Record, Trial
from httpbed.trial import evidence, hops, observe
from httpbed.trial.checks import bed as bed_checks
from httpbed.trial.checks import handover, link_bounds, subject
from httpbed.trial.evidence import Seen
from httpbed.trial.handover import events, metrics
from httpbed.trial.handover import outcome as following
from httpbed.trial.plan import Bed


@dataclass(frozen=True)
class Try:
    """Which attempt it is that is judged."""

    trial: Trial
    number: int
    started: datetime

    def record(
        self,
        outcome: Outcome,
        checks: Sequence[Check],
        phases_s: Mapping[str, float],
        observations: Sequence[Observation] = (),
        handovers: list[HandoverEvent] | None = None,
    ) -> Record:
        """Record what came of it."""
        attempt = Attempt(
            trial=self.trial,
            number=self.number,
            outcome=outcome,
            checks=list(checks),
            started=self.started.isoformat(timespec="milliseconds"),
            phases_s=dict(phases_s),
        )
        return Record(attempt=attempt, observations=list(observations), handovers=handovers)


def judge(this: Try, bed: Bed, artifacts: Path, phases_s: Mapping[str, float]) -> Record:
    """Judge an attempt by what it left in ``artifacts``."""
    scenario, planned = this.trial.scenario(), bed.plan(this.trial)
    chains = hops.chains(scenario, planned.hops)
    found = evidence.read(scenario, planned.hops, bed.catalog, artifacts)
    stores = [
        name
        for name, implementation in scenario.implementations.items()
        if bed.catalog[implementation].stores_bodies
    ]
    served = subject.Served(bed.contents, bed.sites, stores)
    checks = [
        # Who takes all of the machine makes the bed late, and is to blame for it.
        *(() if found.excess else bed_checks.checks(this.trial, planned, bed.catalog, found)),
        *subject.checks(chains, served, found),
    ]
    handovers = None
    if (course := metrics.course(scenario.handover, chains[0], found)) is not None:
        told = following.told(course)
        checks += handover.of_subject(course, told)
        handovers = list(events.moments(course, told))
    observed = observe.observations(scenario, chains, found)
    return this.record(outcome(checks, found), checks, phases_s, observed, handovers)


def outcome(checks: Sequence[Check], found: Seen) -> Outcome:
    """Decide how an attempt ended: the bed's failure first, for it leaves nothing to judge.

    A client is out of time for the network's sake only where nothing else was wrong: one whose
    server died, or spoke another version, would have waited in any network.
    """
    broken = [check for check in checks if check.passed is False]
    of_bed = [check for check in broken if check.of == "bed"]
    if of_bed:
        return Outcome(kind="invalid", reason=_reasons(of_bed))
    late = {f"{name} ended well" for name, ended in found.exits.items() if ended.timed_out}
    only_late = all(check.name in late for check in broken)
    besides = handover.unfollowed(checks)
    if found.client is not None and found.client.timed_out and only_late:
        reasons = filter(None, ["the client was still busy at the time limit", besides])
        return Outcome(kind="timed out", reason="; ".join(reasons))
    if broken:
        return Outcome(kind="failed", reason="; ".join(filter(None, [_reasons(broken), besides])))
    return Outcome(kind="completed")


def is_strained(attempt: Attempt) -> bool:
    """Whether all that is wrong with the bed is that the machine was busy."""
    broken = {check.name for check in attempt.checks if check.passed is False and check.of == "bed"}
    return attempt.outcome.kind == "invalid" and bool(broken) and broken <= bed_checks.STRAIN


def broken_bed(this: Try, reason: str) -> Record:
    """Record an attempt that the bed could not bring to its end."""
    check = Check(name="trial carried out", of="bed", passed=False, figure=reason)
    return this.record(Outcome(kind="invalid", reason=reason), [check], {})


def _reasons(broken: Sequence[Check]) -> str:
    return "; ".join(map(_reason, broken))


def _reason(check: Check) -> str:
    if check.figure.startswith(link_bounds.IMPOSSIBLE):
        return check.figure
    return f"{check.name}: {check.figure}"
