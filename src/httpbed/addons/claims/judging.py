"""Judges the claims of a campaign: each in its own conditions and in its control arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from httpbed.addons.claims import block_values, claim_verdict, compiled_claim
from httpbed.addons.claims import cell_location as locations
from httpbed.addons.claims import claim_outlook as outlooks
from httpbed.addons.claims.block_values import AbsentError, CampaignSamples
from httpbed.addons.claims.cell_builder import ClaimCell, ClaimDesign
from httpbed.addons.claims.cell_location import CellLocation
from httpbed.addons.claims.claim_checking import TABLE
from httpbed.addons.claims.claim_verdict import (
    CellSet,
    CellValue,
    ClaimEstimate,
    ClaimVerdict,
    Estimator,
)
from httpbed.addons.claims.compiled_claim import CompiledClaim
from httpbed.addons.claims.stated_claim import ArmKind, StatedClaim
from httpbed.experiment.factorial import TreatmentKey
from httpbed.experiment.stated_tables import TableProblemsError
from httpbed.results import selection
from httpbed.results.location import NoIntervalError
from httpbed.store.results import Results

Verdicts = Sequence[ClaimVerdict]
Robustness = Literal["robust", "refuted", "depends", "contradicted", "open", "no arms"]
Side = Literal["", "above", "below", "both"]
"""Where a contradicted estimate lies beside its region; of several cells, on both sides of it."""


@dataclass(frozen=True)
class ArmJudgement:
    """The verdict on a claim in one of its arms."""

    name: str
    """Name of the arm; empty for the claim's own conditions."""
    verdict: ClaimVerdict
    reason: str = ""
    """Why it has no estimate, or what its parts say."""
    estimate: ClaimEstimate | None = None
    blocks_to_settle: int | None = None
    """About how many blocks would settle an open verdict; None: unknown."""
    treatments: frozenset[TreatmentKey] = frozenset()
    """The treatments that it uses, in the campaign or not."""
    elsewhere: Mapping[str, frozenset[TreatmentKey]] = field(default_factory=dict)
    """The treatments that it uses of other experiments, by the experiment's name."""
    cells: tuple[CellValue, ...] = ()
    """The values of the cells, where the claim is about several."""
    side: Side = ""
    """Where a contradicted estimate lies."""
    kind: ArmKind = "control"

    @property
    def is_reproduced(self) -> bool:
        """Whether the claim holds in this arm."""
        return self.verdict == "reproduced"


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdicts."""

    stated: StatedClaim
    main: ArmJudgement
    arms: tuple[ArmJudgement, ...] = ()

    def in_arm(self, name: str) -> ArmJudgement:
        """Return the verdict in an arm; where the claim has no such arm, its own."""
        return next((arm for arm in self.arms if arm.name == name), self.main)

    @property
    def controls(self) -> tuple[ArmJudgement, ...]:
        """The arms in which the claim should hold, too."""
        return tuple(arm for arm in self.arms if arm.kind != "negative control")

    @property
    def refuting(self) -> tuple[ArmJudgement, ...]:
        """The negative controls that give what the claim attributes to its cause, without it."""
        if self.main.verdict != "reproduced":
            return ()
        return tuple(arm for arm in self.arms if arm not in self.controls and arm.is_reproduced)

    @property
    def robustness(self) -> Robustness:
        """Whether the verdict is the same in all arms, and the cause is the stated one."""
        if self.refuting:
            return "refuted"
        if not self.controls:
            return "no arms"
        seen = {judgement.verdict for judgement in (self.main, *self.controls)}
        if seen == {"reproduced"}:
            return "robust"
        sides = {judgement.side for judgement in (self.main, *self.controls)}
        # A combination of claims has no side.
        if seen == {"contradicted"} and sides in ({"above"}, {"below"}, {""}):
            return "contradicted"
        differs = seen & {"contradicted", "no difference"}
        return "depends" if differs and "reproduced" in seen else "open"


def judge(
    results: Results,
    claims: Sequence[StatedClaim] | None = None,
    *,
    outlook: bool = True,
) -> tuple[JudgedClaim, ...]:
    """Judge claims by a campaign's results; by default those of its experiment.

    Claims are understood in the whole design. Cells that the campaign's scale leaves out, or that
    have too few values, count as missing. Claims may refer to the campaigns beside it by the names
    of their experiments. ``outlook`` simulates how many blocks would settle open claims, which
    takes most of the time.
    """
    experiment = results.stated_experiment
    judge_of_campaign = _Judge(results, outlook=outlook)
    chosen = experiment.claims if claims is None else claims
    known = {claim.id: claim for claim in chosen}
    # Of a campaign, claims about metrics of an addon that is not installed are unread.
    readable = [claim for claim in chosen if known.keys() >= {*claim.parts}]
    return tuple(
        judge_of_campaign.combination(claim, [known[name] for name in claim.parts])
        if claim.parts
        else judge_of_campaign.claim(claim)
        for claim in readable
    )


class _Judge:
    """Judges claims by one campaign, and by those beside it that claims name."""

    def __init__(self, results: Results, *, outlook: bool) -> None:
        self._outlook = outlook
        self._given = Counter(other.experiment.name for other in results.beside)
        known = {
            other.experiment.name: other
            for other in results.beside
            if self._given[other.experiment.name] == 1
        }
        self._samples = CampaignSamples(results, known)
        self._selected = {"": selection.selected_arms(results)}
        self._selected |= {name: selection.selected_arms(other) for name, other in known.items()}
        experiments = {name: other.stated_experiment for name, other in known.items()}
        stated = results.stated_experiment.stated(TABLE, experiments)
        self._design = ClaimDesign.of_tables(stated)
        self._loads = results.stated_experiment.blocks

    def claim(self, stated: StatedClaim, parts: int = 1) -> JudgedClaim:
        """Judge a claim with its arms, as one of so many parts that share the error rate."""
        arms = tuple(
            replace(self._arm(stated.of_arm(arm), arm.name, parts), kind=arm.kind)
            for arm in stated.arm
        )
        return _between_readings(JudgedClaim(stated, self._arm(stated, "", parts), arms))

    def combination(self, stated: StatedClaim, of: Sequence[StatedClaim]) -> JudgedClaim:
        """Judge a claim that holds if all, or any, of its parts hold.

        That all hold needs no correction for their number. That one does not hold does. For "any"
        it is the reverse.
        """
        parts = [self.claim(claim) for claim in of]
        strict = [self.claim(claim, parts=len(of)) for claim in of]
        kinds = {arm.name: arm.kind for part in parts for arm in part.arms}
        main = self._combined(stated, "", parts, strict)
        arms = [
            replace(self._combined(stated, name, parts, strict), kind=kind)
            for name, kind in kinds.items()
        ]
        return JudgedClaim(stated, main, tuple(arms))

    def _combined(
        self,
        stated: StatedClaim,
        name: str,
        parts: Sequence[JudgedClaim],
        strict: Sequence[JudgedClaim],
    ) -> ArmJudgement:
        """Combine the parts of a claim in an arm; the strict ones share the error rate."""
        combined = _all_of if stated.all_of else _any_of
        in_arm = [part.in_arm(name) for part in parts]
        seen = [judgement.verdict for judgement in in_arm]
        verdict = combined(seen, [claim.in_arm(name).verdict for claim in strict])
        reasons = ", ".join(map(" ".join, zip(stated.parts, seen, strict=True)))
        settle = [judgement.blocks_to_settle for judgement in in_arm if judgement.verdict == "open"]
        if verdict != combined(seen, seen):
            settle.append(least := self._least_blocks([part.stated for part in parts]))
            reasons += f"; {len(parts)} parts share the error rate, so each needs {least} blocks"
        most = None if None in settle else max(filter(None, settle), default=None)
        return ArmJudgement(
            name,
            verdict,
            reasons,
            blocks_to_settle=most,
            treatments=frozenset[TreatmentKey]().union(*(part.treatments for part in in_arm)),
            elsewhere=_used_elsewhere(in_arm),
        )

    def _least_blocks(self, parts: Sequence[StatedClaim]) -> int:
        """Return the fewest blocks with which claims that share the error rate can be settled."""
        claims = [compiled_claim.compile_claim(part, self._design) for part in parts]
        return max(outlooks.to_settle(claim, len(parts)) for claim in claims)

    def _arm(self, stated: StatedClaim, name: str, parts: int) -> ArmJudgement:
        try:
            claim = compiled_claim.compile_claim(stated, self._design)
        except TableProblemsError as error:
            return ArmJudgement(name, "not run", f"the campaign has no such trials: {error}")
        used = claim.treatments()
        elsewhere = {experiment: keys for experiment, keys in used.items() if experiment}
        if claim.unknown:
            reason = "; ".join(map(self._needs, claim.unknown))
            return ArmJudgement(name, "not run", reason, treatments=used[""])
        judgement = ArmJudgement(name, "open", treatments=used[""], elsewhere=elsewhere)
        if reason := self._selection(used):
            return replace(judgement, reason=reason)
        estimator = Estimator(claim, self._loads, parts)
        try:
            wanted = [claim.cells, claim.subtracted] if claim.subtracted else [claim.cells]
            sets = [self._set(claim, cells) for cells in wanted]
            estimate, cells = estimator.estimate(sets)
        except NoIntervalError as error:
            absent = isinstance(error, AbsentError)
            return replace(judgement, verdict="not run" if absent else "open", reason=str(error))
        verdict = claim_verdict.rule(estimate, claim_verdict.region(claim))
        is_wanted = self._outlook and verdict == "open"
        settle = outlooks.blocks_to_settle(estimator, sets) if is_wanted else None
        return replace(
            judgement,
            verdict=verdict,
            estimate=estimate,
            blocks_to_settle=settle,
            cells=cells,
            side=_side(claim, estimate, cells) if verdict == "contradicted" else "",
        )

    def _selection(self, used: Mapping[str, frozenset[TreatmentKey]]) -> str:
        """Name the arms whose invalid attempts exceed the others'; empty if there are none."""
        arms = [
            arm
            for experiment, treatments in used.items()
            for arm in selection.of_treatments(self._selected[experiment], treatments)
        ]
        return f"refused: {'; '.join(map(selection.in_words, arms))}" if arms else ""

    def _needs(self, experiment: str) -> str:
        if given := self._given[experiment]:
            return f"needs one campaign of {experiment}, and {given} are given"
        return f"needs a campaign of {experiment}: name its folder too"

    def _set(self, claim: CompiledClaim, wanted: Sequence[ClaimCell]) -> CellSet:
        present, lacking = list[tuple[CellLocation, ClaimCell]](), list[NoIntervalError]()
        not_run = 0
        for cell in wanted:
            try:
                location = locations.locate(cell.quantity, claim.stated.estimate, self._samples)
            except NoIntervalError as error:
                not_run += not block_values.was_run(cell.quantity, self._samples)
                lacking.append(error)
            else:
                present.append((location, cell))
        if not present:
            raise AbsentError(str(lacking[0])) if not_run else lacking[0]
        # A cell whose trials failed counts as missing, so that the others are still judged.
        least = claim_verdict.least_blocks([location for location, _ in present])
        judged = [located for located in present if located[0].n >= least] or present
        return CellSet(
            [location for location, _ in judged],
            [cell.levels for _, cell in judged],
            missing=len(wanted) - len(judged),
            not_run=not_run,
        )


def _used_elsewhere(parts: Sequence[ArmJudgement]) -> dict[str, frozenset[TreatmentKey]]:
    """Return the treatments of other experiments that any of the parts uses."""
    empty = frozenset[TreatmentKey]()
    return {
        key: empty.union(*(part.elsewhere.get(key, empty) for part in parts))
        for key in {key for part in parts for key in part.elsewhere}
    }


def _between_readings(judged: JudgedClaim) -> JudgedClaim:
    """Open a claim whose region lies between the values of two readings of the paper."""
    opposite = {"above": "below", "below": "above"}.get(judged.main.side)
    names = [
        f'"{arm.name}"' for arm in judged.arms if arm.kind == "reading" and arm.side == opposite
    ]
    if not names:
        return judged
    reason = f"the region lies between this reading and {', '.join(names)}"
    return replace(judged, main=replace(judged.main, verdict="open", reason=reason))


def _side(claim: CompiledClaim, estimate: ClaimEstimate, cells: Sequence[CellValue]) -> Side:
    """Return where a contradicted estimate lies."""
    if estimate.unit != claim_verdict.CELLS:
        return "above" if estimate.value.value >= claim.region.high else "below"
    outside = [cell.value.value for cell in cells if not cell.is_inside]
    if all(value >= claim.cell_region.high for value in outside):
        return "above"
    return "below" if all(value <= claim.cell_region.low for value in outside) else "both"


def _all_of(parts: Verdicts, strict: Verdicts) -> ClaimVerdict:
    for failed in ("contradicted", "no difference"):
        if failed in strict:
            return failed
    if {*parts} == {"reproduced"}:
        return "reproduced"
    return "not run" if {*parts} <= {"reproduced", "not run"} else "open"


def _any_of(parts: Verdicts, strict: Verdicts) -> ClaimVerdict:
    if "reproduced" in strict:
        return "reproduced"
    if {*parts} <= {"contradicted", "no difference"}:
        return "no difference" if "no difference" in parts else "contradicted"
    return "not run" if {*parts} <= {"contradicted", "no difference", "not run"} else "open"
