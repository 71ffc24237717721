"""The verdict on an attempt: its checks, outcome and observations, from its folder alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from httpbed.bed.network.network_processes import polled_s
from httpbed.experiment.check import CARRIED_OUT, CHECK_BY_ID, ENDED_WELL
from httpbed.experiment.handover import HandoverEvent
from httpbed.experiment.metric import Observation
from httpbed.experiment.trial import Attempt, Check, Outcome, Record, Trial
from httpbed.trial import evidence, observe
from httpbed.trial.checks import registry
from httpbed.trial.checks.registry import JudgedAttempt
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.plan import CampaignSetup, TrialPlan


@dataclass(frozen=True)
class AttemptId:
    """An attempt at a trial."""

    trial: Trial
    number: int
    """From 1."""
    started: datetime

    def record(  # noqa: PLR0913 - one parameter for each member
        self,
        outcome: Outcome,
        checks: Sequence[Check],
        phases_s: Mapping[str, float],
        observations: Sequence[Observation] = (),
        handovers: list[HandoverEvent] | None = None,
        *,
        cpus: float | None = None,
    ) -> Record:
        """Return the attempt's record."""
        attempt = Attempt(
            trial=self.trial,
            number=self.number,
            outcome=outcome,
            checks=list(checks),
            started=self.started.isoformat(timespec="milliseconds"),
            phases_s=dict(phases_s),
            cpus=cpus,
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
    judged = JudgedAttempt(planned, setup, evidence.read(planned, setup.catalog, artifacts))
    checks = registry.checks(judged)
    return attempt.record(
        outcome(checks, judged.evidence, *(one.remark() for one in judged.added)),
        checks,
        phases_s,
        observe.observations(judged),
        next((events for one in judged.added if (events := one.handovers()) is not None), None),
        cpus=cpus_needed(judged.evidence),
    )


def cpus_needed(observed: AttemptEvidence) -> float | None:
    """Return how many CPUs a trial needed: what it used, without the emulator's polling.

    The emulator polls only while no other process needs the CPUs.
    """
    pressure = observed.pressure
    if "ran_s" not in pressure or pressure["over_s"] <= 0:
        return None
    needed_s = pressure["ran_s"] - polled_s(observed.link)
    return float(max(needed_s, 0.0) / pressure["over_s"])


def outcome(checks: Sequence[Check], observed: AttemptEvidence, *remarks: str) -> Outcome:
    """Return how an attempt ended; a failure of the bed comes first, as it makes the rest void.

    ``remarks`` explain a failure, or are empty.
    The outcome is "timed out" only where no other check failed: a client whose server died, or
    spoke another version, would have waited in any network.
    """
    broken = [check for check in checks if check.passed is False]
    of_bed = [check for check in broken if check.of == "bed"]
    if of_bed:
        return Outcome(kind="invalid", reason=_reasons(of_bed))
    late = {name for name, ended in observed.exits.items() if ended.timed_out}
    only_late = all(check.check == ENDED_WELL.id and check.item in late for check in broken)
    if observed.client is not None and observed.client.timed_out and only_late:
        reasons = filter(None, ["the client was still busy at the time limit", *remarks])
        return Outcome(kind="timed out", reason="; ".join(reasons))
    if broken:
        reasons = filter(None, [_reasons(broken), *remarks])
        return Outcome(kind="failed", reason="; ".join(reasons))
    return Outcome(kind="completed")


def is_strained(attempt: Attempt) -> bool:
    """Whether an attempt is invalid only because the machine was busy."""
    broken = [check for check in attempt.checks if check.passed is False and check.of == "bed"]
    strained = [check for check in broken if CHECK_BY_ID[check.check].by_strain]
    return attempt.outcome.kind == "invalid" and bool(broken) and strained == broken


def broken_bed(attempt: AttemptId, reason: str) -> Record:
    """Return the record of an attempt that the bed could not finish."""
    check = CARRIED_OUT.result(passed=False, figure=reason)
    return attempt.record(Outcome(kind="invalid", reason=reason), [check], {})


def _reasons(broken: Sequence[Check]) -> str:
    return "; ".join(map(_reason, broken))


def _reason(check: Check) -> str:
    if CHECK_BY_ID[check.check].is_explicit:
        return check.figure
    return f"{check.name}: {check.figure}"
