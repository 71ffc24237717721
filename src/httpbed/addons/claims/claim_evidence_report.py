"""What limits the verdict on a claim: trials, senders, links, and other campaigns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from httpbed.addons.claims.judging import ArmJudgement
from httpbed.addons.conformance import senders_report as senders
from httpbed.base.errors import beginning
from httpbed.base.units import format_count, format_share
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.report.phrasing import few
from httpbed.results import attempts, sample
from httpbed.store import resume
from httpbed.store.results import Results

Sender = tuple[str, str, str, frozenset[tuple[str, str]]]
"""Implementation, HTTP version, congestion control and the knobs that the experiment sets."""


class ClaimEvidence:
    """What limits the verdicts of one campaign."""

    def __init__(self, results: Results) -> None:
        self._own = _CampaignEvidence(results)
        self._others = {other.experiment.name: _CampaignEvidence(other) for other in results.beside}

    def trials(self, arm: ArmJudgement) -> ArmTrials:
        """Return how the trials behind a verdict ended, those of the campaign itself."""
        return self._own.trials.of_treatments(arm.treatments)

    def warnings(self, arm: ArmJudgement) -> Iterator[str]:
        """Yield what limits a verdict, in words."""
        yield from warnings(arm, self.trials(arm))
        if arm.estimate is None:
            return
        yield from self._own.of_parts(arm.treatments)
        for name, used in arm.elsewhere.items():
            other = self._others[name]
            for text in (*endings(other.trials.of_treatments(used)), *other.of_parts(used)):
                yield f"campaign of {name}: {text}"
            if differing := other.differing(self._own):
                yield f"not the same in the campaign of {name}: {', '.join(differing)}"


class _CampaignEvidence:
    """What one campaign says about its treatments; what takes long is read once."""

    def __init__(self, results: Results) -> None:
        self._results, self.manifest = results, results.manifest
        certificate = self.manifest.get("link_certificate") or {}
        self._uncovered = certificate.get("outside_topologies") or {}
        self._tests = tuple(self.manifest.get("senders", ()))
        """Conformance verdicts."""
        self._senders: dict[TreatmentKey, frozenset[Sender]] = {}

    @cached_property
    def trials(self) -> ArmTrialsReader:
        """How trials ended."""
        return ArmTrialsReader(self._results)

    def of_parts(self, treatments: Iterable[TreatmentKey]) -> Iterator[str]:
        """Yield what limits results with the senders and links of treatments."""
        used = frozenset(treatments)
        yield from self._untrusted_senders(used)
        topologies = {self._topologies.get(key) for key in used}
        reasons = [why for why, about in self._uncovered.items() if topologies & {*about}]
        if reasons:
            yield f"not covered by the link certificate: {'; '.join(few(reasons, 'reasons'))}"

    def differing(self, other: _CampaignEvidence) -> list[str]:
        """Name what both campaigns have, and have in another version."""
        differences = resume.differences(self.manifest, other.manifest)
        return few([what for what, own, others in differences if own and others], "things")

    @cached_property
    def _topologies(self) -> dict[TreatmentKey, str]:
        """Digests of topologies; empty if the certificate covers all."""
        if not self._uncovered:
            return {}
        return {
            treatment_key(levels): sample.scenario(self._results, levels).topology.digest()
            for levels in self._results.experiment.treatments()
        }

    def _untrusted_senders(self, treatments: Iterable[TreatmentKey]) -> Iterator[str]:
        """Name the senders of treatments that did not pass, and those that were never tested."""
        if not self._tests:
            return
        acting = frozenset[Sender]().union(*map(self._senders_of, treatments))
        indices = sorted({index for sender in acting for index in self._tested(sender)})
        relevant = [self._tests[index] for index in indices]
        failed = _names(test for test in relevant if test.get("passed") is False)
        if failed:
            yield f"did not pass their conformance test: {'; '.join(few(failed, 'senders'))}"
        untested = _names(test for test in relevant if test.get("passed") is None)
        if untested:
            yield f"never tested for conformance: {'; '.join(few(untested, 'senders'))}"

    def _tested(self, sender: Sender) -> list[int]:
        """Return the indices of a sender's tests: those with its knobs, if there are any."""
        program, version, control, knobs = sender
        same = [
            index
            for index, test in enumerate(self._tests)
            if _matches(test["sender"], program, version, control)
        ]
        exact = [i for i in same if {*self._tests[i].get("set", {}).items()} == knobs]
        return exact or same

    def _senders_of(self, treatment: TreatmentKey) -> frozenset[Sender]:
        if treatment not in self._senders:
            self._senders[treatment] = self._of_scenario(treatment)
        return self._senders[treatment]

    def _of_scenario(self, treatment: TreatmentKey) -> frozenset[Sender]:
        levels = dict(zip(self._results.experiment.factors, treatment, strict=True))
        try:
            scenario = sample.scenario(self._results, levels)
        except KeyError:  # a level that the campaign's scale leaves out
            return frozenset()
        roles = {name: role for name, role, _ in scenario.parts()}
        return frozenset(
            (
                role.implementation,
                hop.http_version,
                role.congestion_control or "",
                frozenset(role.knobs.items()),
            )
            for hop, sender in scenario.senders_of_bodies()
            for role in (roles[sender],)
        )


def _names(verdicts: Iterable[Mapping[str, Any]]) -> list[str]:
    return [*dict.fromkeys(senders.named(verdict["sender"]) for verdict in verdicts)]


def _matches(sender: Mapping[str, Any], program: str, version: str, control: str) -> bool:
    """Whether a sender is this one; an empty control stands for the program's default."""
    same = (sender["implementation"], sender.get("http_version", "")) == (program, version)
    return same and control in {str(sender["congestion_control"]), ""}


ENDINGS = ("failed", "timed out", "unsupported")
MAX_REASON = 100
"""Characters of a reason."""


@dataclass(frozen=True)
class ArmTrials:
    """How the trials of some treatments ended."""

    planned: int
    outcomes: Counter[str]
    invalid_attempts: int
    """Attempts that were invalid, repeated or not."""
    reasons: Mapping[str, Counter[str]]
    """How often each reason was given, by outcome; of invalid attempts the check that failed."""


class ArmTrialsReader:
    """Counts the trials of treatments in one campaign."""

    def __init__(self, results: Results) -> None:
        self._last = sample.by_treatment(results, results.last_attempts)
        self._invalid = sample.by_treatment(results, attempts.invalid(results))
        self._broken = attempts.broken_checks(results)
        self._blocks = sample.planned_blocks(results)
        self._known = [treatment_key(treatment) for treatment in results.experiment.treatments()]

    def of_treatments(self, treatments: frozenset[TreatmentKey]) -> ArmTrials:
        """Return how the trials of some treatments ended."""
        used = [key for key in self._known if key in treatments]
        last = [row for key in used for row in self._last.get(key, ())]
        invalid = [row for key in used for row in self._invalid.get(key, ())]
        return ArmTrials(
            planned=sum(self._blocks.get(key, 0) for key in used),
            outcomes=Counter(row["outcome"] for row in last),
            invalid_attempts=len(invalid),
            reasons={
                "invalid": Counter(map(self._why_invalid, invalid)),
                **{
                    kind: Counter(
                        row["reason"] for row in last if row["outcome"] == kind and row["reason"]
                    )
                    for kind in ENDINGS
                },
            },
        )

    def _why_invalid(self, row: Mapping[str, Any]) -> str:
        """Return the first broken check of an attempt; the attempt's reason if it has no check."""
        return self._broken.get((row["trial"], row["attempt"]), row["reason"] or "no reason given")


def warnings(arm: ArmJudgement, trials: ArmTrials) -> Iterator[str]:
    """Yield what limits a verdict, in words."""
    estimate = arm.estimate
    if estimate and estimate.judged_cells < estimate.cells:
        missing = estimate.cells - estimate.judged_cells
        yield (
            f"{missing} of {estimate.cells} cells count as missing, because this campaign has too"
            " few values for them: the interval allows any value there"
        )
    yield from endings(trials)
    if estimate and estimate.is_constant:
        yield "all blocks of a cell have the same value"
    if estimate and estimate.coverage < 0.95 - 1e-9:
        covers = format_share(estimate.coverage, 2)
        yield f"with so few blocks the interval covers {covers}, not 95 %"


def endings(trials: ArmTrials) -> Iterator[str]:
    """Yield how trials ended that did not complete, and the invalid attempts."""
    for kind in ENDINGS:
        if count := trials.outcomes[kind]:
            yield f"{count} of {trials.planned} trials {_verb(kind, count)}{_why(trials, kind)}"
    if waiting := trials.planned - trials.outcomes.total():
        yield f"{waiting} of {trials.planned} trials have not run"
    why = _why(trials, "invalid")
    if invalid := trials.outcomes["invalid"]:
        yield f"{invalid} of {trials.planned} trials have no valid attempt{why}"
    elif trials.invalid_attempts == 1:
        yield f"1 invalid attempt was repeated{why}"
    elif trials.invalid_attempts:
        yield f"{trials.invalid_attempts} invalid attempts were repeated{why}"


def _why(trials: ArmTrials, kind: str) -> str:
    """Name the commonest reason, and how many others there are."""
    if not (reasons := trials.reasons[kind]):
        return ""
    first = min(reasons, key=lambda reason: (-reasons[reason], reason))  # the same in every report
    others = len(reasons) - 1
    more = f", and {format_count(others, 'other reason')}" if others else ""
    return f": {beginning(first, MAX_REASON)}{more}"


def _verb(kind: str, count: int) -> str:
    if kind == "unsupported":
        return "is unsupported" if count == 1 else "are unsupported"
    return kind
