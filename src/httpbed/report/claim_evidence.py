"""What limits the verdict on a claim: trials, senders, links, and other campaigns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from httpbed.analysis import sample as samples
from httpbed.analysis.claims import arm_trials
from httpbed.analysis.claims.arm_trials import ArmTrials, ArmTrialsReader
from httpbed.analysis.claims.judging import ArmJudgement
from httpbed.experiment.claims.quantity import TreatmentKey
from httpbed.report.claim_senders import ClaimSenders
from httpbed.report.phrasing import listed
from httpbed.report.remark import few
from httpbed.store import resume
from httpbed.store.results import Results


class ClaimEvidence:
    """What limits the verdicts of one campaign."""

    def __init__(self, results: Results, others: Sequence[Results] = ()) -> None:
        self._results = results
        self._others = {one.experiment.name: one for one in others}
        self._trials, self._senders = ArmTrialsReader(results), ClaimSenders(results)

    def trials(self, arm: ArmJudgement) -> ArmTrials:
        """Return how the trials behind a verdict ended, those of the campaign itself."""
        return self._trials.of_treatments(arm.treatments)

    def warnings(self, arm: ArmJudgement) -> Iterator[str]:
        """Yield what limits a verdict, in words."""
        yield from arm_trials.warnings(arm, self.trials(arm))
        yield from self._senders.warnings(arm.treatments)
        yield from _uncovered(self._results, arm.treatments)
        for name, used in arm.elsewhere.items():
            yield from self._elsewhere(name, used)

    def _elsewhere(self, name: str, used: frozenset[TreatmentKey]) -> Iterator[str]:
        other = self._others[name]
        trials = ArmTrialsReader(other).of_treatments(used)
        for text in (
            *arm_trials.endings(trials),
            *ClaimSenders(other).warnings(used),
            *_uncovered(other, used),
        ):
            yield f"campaign of {name}: {text}"
        found = resume.differences(other.manifest, self._results.manifest)
        differing = [what for what, before, now in found if before and now]
        if differing:
            words = listed(few(differing, "things"))
            yield f"not the same in the campaign of {name}: {words}"


def _uncovered(results: Results, treatments: Iterable[TreatmentKey]) -> Iterator[str]:
    """Say why the link certificate does not cover the links of some treatments."""
    affected = (results.manifest.get("link_certificate") or {}).get("outside_topologies") or {}
    if not affected:
        return
    known = {tuple(one.values()): one for one in results.experiment.treatments()}
    used = {
        samples.scenario(results, known[key]).topology.digest()
        for key in treatments
        if key in known
    }
    reasons = [reason for reason, topologies in affected.items() if used & {*topologies}]
    if reasons:
        yield f"not covered by the link certificate: {'; '.join(few(reasons, 'reasons'))}"
