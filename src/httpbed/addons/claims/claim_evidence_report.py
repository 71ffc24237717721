"""What limits the verdict on a claim: trials, senders, links, and other campaigns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from httpbed.addons.claims import arm_trials
from httpbed.addons.claims.arm_trials import ArmTrials, ArmTrialsReader
from httpbed.addons.claims.claim_senders_report import ClaimSenders
from httpbed.addons.claims.judging import ArmJudgement
from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.report.remark import few
from httpbed.results import sample
from httpbed.store import resume
from httpbed.store.results import Results


class ClaimEvidence:
    """What limits the verdicts of one campaign."""

    def __init__(self, results: Results, others: Sequence[Results] = ()) -> None:
        self._own = _CampaignEvidence(results)
        others = others or results.beside
        self._others = {one.experiment.name: _CampaignEvidence(one) for one in others}

    def trials(self, arm: ArmJudgement) -> ArmTrials:
        """Return how the trials behind a verdict ended, those of the campaign itself."""
        return self._own.trials.of_treatments(arm.treatments)

    def warnings(self, arm: ArmJudgement) -> Iterator[str]:
        """Yield what limits a verdict, in words."""
        yield from arm_trials.warnings(arm, self.trials(arm))
        if arm.estimate is None:
            return
        yield from self._own.of_parts(arm.treatments)
        for name, used in arm.elsewhere.items():
            other = self._others[name]
            for text in (
                *arm_trials.endings(other.trials.of_treatments(used)),
                *other.of_parts(used),
            ):
                yield f"campaign of {name}: {text}"
            if differing := other.differing(self._own):
                yield f"not the same in the campaign of {name}: {', '.join(differing)}"


class _CampaignEvidence:
    """What one campaign says about its treatments; what takes long is read once."""

    def __init__(self, results: Results) -> None:
        self._results, self.manifest = results, results.manifest
        certificate = self.manifest.get("link_certificate") or {}
        self._uncovered = certificate.get("outside_topologies") or {}

    @cached_property
    def trials(self) -> ArmTrialsReader:
        """How trials ended."""
        return ArmTrialsReader(self._results)

    def of_parts(self, treatments: Iterable[TreatmentKey]) -> Iterator[str]:
        """Yield what limits results with the senders and links of treatments."""
        used = frozenset(treatments)
        yield from self._senders.warnings(used)
        topologies = {self._topologies.get(key) for key in used}
        reasons = [why for why, about in self._uncovered.items() if topologies & {*about}]
        if reasons:
            yield f"not covered by the link certificate: {'; '.join(few(reasons, 'reasons'))}"

    def differing(self, other: _CampaignEvidence) -> list[str]:
        """Name what both campaigns have, and have in another version."""
        found = resume.differences(self.manifest, other.manifest)
        return few([what for what, one, another in found if one and another], "things")

    @cached_property
    def _senders(self) -> ClaimSenders:
        return ClaimSenders(self._results)

    @cached_property
    def _topologies(self) -> dict[TreatmentKey, str]:
        """Digests of topologies; empty if the certificate covers all."""
        if not self._uncovered:
            return {}
        return {
            treatment_key(levels): sample.scenario(self._results, levels).topology.digest()
            for levels in self._results.experiment.treatments()
        }
