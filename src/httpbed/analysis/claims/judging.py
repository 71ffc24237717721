"""Judges the claims of a campaign: each in its own conditions and in its control arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from httpbed.analysis import selection
from httpbed.analysis.claims import cells as locations
from httpbed.analysis.claims import estimation, least_blocks
from httpbed.analysis.claims import verdict as verdicts
from httpbed.analysis.claims.campaign_samples import CampaignSamples
from httpbed.analysis.claims.cells import CellLocation
from httpbed.analysis.claims.estimation import CellSet, CellValue
from httpbed.analysis.claims.verdict import ClaimEstimate, ClaimVerdict
from httpbed.analysis.location import NoIntervalError
from httpbed.experiment.claims import compiled
from httpbed.experiment.claims.cell_builder import ClaimCell, ClaimDesign
from httpbed.experiment.claims.compiled import CompiledClaim
from httpbed.experiment.claims.quantity import leaves, treatments
from httpbed.experiment.claims.stated import StatedClaim
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.table_problem import TableProblemsError
from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.store.results import Results

Verdicts = Sequence[ClaimVerdict]
Robustness = Literal["robust", "depends", "open", "no arms"]


@dataclass(frozen=True)
class ArmJudgement:
    """The verdict on a claim in one of its arms."""

    name: str
    """Name of the arm; empty for the claim's own conditions."""
    verdict: ClaimVerdict
    reason: str = ""
    """Why it was not judged."""
    estimate: ClaimEstimate | None = None
    blocks_to_settle: int | None = None
    """About how many blocks would settle an inconclusive verdict; None: no number within reason."""
    treatments: frozenset[TreatmentKey] = frozenset()
    """The treatments that it uses, in the campaign or not."""
    elsewhere: Mapping[str, frozenset[TreatmentKey]] = field(default_factory=dict)
    """The treatments that it uses of other experiments, by the experiment's name."""
    cells: tuple[CellValue, ...] = ()
    """The values of the cells, where the claim is about several."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdicts."""

    stated: StatedClaim
    main: ArmJudgement
    arms: tuple[ArmJudgement, ...] = ()

    def in_arm(self, name: str) -> ArmJudgement:
        """Return the verdict in an arm; where the claim has no such arm, its own."""
        return {one.name: one for one in self.arms}.get(name, self.main)

    @property
    def robustness(self) -> Robustness:
        """Whether the verdict is the same in all arms."""
        if not self.arms:
            return "no arms"
        seen = {one.verdict for one in (self.main, *self.arms)}
        if seen == {"reproduced"}:
            return "robust"
        return "depends" if seen >= {"reproduced", "contradicted"} else "open"


def judge(
    results: Results,
    claims: Sequence[StatedClaim] | None = None,
    others: Sequence[Results] | None = None,
) -> tuple[JudgedClaim, ...]:
    """Judge claims by a campaign's results; by default those of its experiment.

    Claims are understood in the whole design. Cells that the campaign's scale leaves out, or that
    have too few values, count as missing. ``others`` are campaigns to which claims
    may refer by the name of their experiment; by default those beside the campaign.
    """
    experiment = results.stated_experiment
    judge_one = _Judge(results, results.beside if others is None else others)
    chosen = experiment.claims if claims is None else claims
    stated = {one.id: one for one in chosen}
    return tuple(
        judge_one.combination(one, [stated[name] for name in one.parts])
        if one.parts
        else judge_one.claim(one)
        for one in chosen
    )


def design_of(experiment: Experiment) -> ClaimDesign:
    """Return what claims of an experiment can refer to."""
    keys = frozenset(map(treatment_key, experiment.treatments()))
    return ClaimDesign(experiment.factors, keys)


class _Judge:
    """Judges claims by one campaign, and by others that claims name."""

    def __init__(self, results: Results, others: Sequence[Results]) -> None:
        self._given = Counter(one.experiment.name for one in others)
        known = {
            one.experiment.name: one for one in others if self._given[one.experiment.name] == 1
        }
        designs = {name: design_of(one.stated_experiment) for name, one in known.items()}
        self._samples = CampaignSamples(results, known)
        self._selected = {"": selection.selected_arms(results)}
        self._selected |= {name: selection.selected_arms(one) for name, one in known.items()}
        self._design = replace(design_of(results.stated_experiment), others=designs)

    def claim(self, stated: StatedClaim, parts: int = 1) -> JudgedClaim:
        """Judge a claim with its arms, as one of so many parts that share the error rate."""
        arms = tuple(
            self._arm(arm, stated.arm[index].name, parts) for index, arm in compiled.arms(stated)
        )
        return JudgedClaim(stated, self._arm(stated, "", parts), arms)

    def combination(self, stated: StatedClaim, of: Sequence[StatedClaim]) -> JudgedClaim:
        """Judge a claim that holds if all, or any, of its parts hold.

        That all hold needs no correction for their number. That one does not hold does. For "any"
        it is the reverse.
        """
        parts = [self.claim(one) for one in of]
        strict = [self.claim(one, parts=len(of)) for one in of]
        names = dict.fromkeys(arm.name for part in parts for arm in part.arms)
        main, *arms = (self._combined(stated, name, parts, strict) for name in ("", *names))
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
        own = [one.in_arm(name) for one in parts]
        seen = [one.verdict for one in own]
        verdict = combined(seen, [one.in_arm(name).verdict for one in strict])
        reasons = ", ".join(f"{one} {found}" for one, found in zip(stated.parts, seen, strict=True))
        settle = [one.blocks_to_settle for one in own if one.verdict == "inconclusive"]
        if verdict != combined(seen, seen):
            settle.append(least := self._least_blocks([one.stated for one in parts]))
            reasons += f"; {len(parts)} parts share the error rate, so each needs {least} blocks"
        most = None if None in settle else max((one for one in settle if one), default=None)
        used = frozenset[TreatmentKey]().union(*(one.treatments for one in own))
        return ArmJudgement(name, verdict, reasons, None, most, used, _used_elsewhere(own))

    def _least_blocks(self, parts: Sequence[StatedClaim]) -> int:
        """Return the fewest blocks with which claims that share the error rate can be settled."""
        found = [compiled.compile_claim(one, self._design) for one in parts]
        return max(least_blocks.to_settle(one, len(parts)) for one in found)

    def _arm(self, stated: StatedClaim, name: str, parts: int) -> ArmJudgement:
        try:
            claim = compiled.compile_claim(stated, self._design)
        except TableProblemsError as error:
            return ArmJudgement(name, "not judged", str(error))
        used = _used(claim)
        own, elsewhere = used.pop("", frozenset()), used
        if claim.unknown:
            reason = "; ".join(map(self._needs, claim.unknown))
            return ArmJudgement(name, "not judged", reason, treatments=own)
        if reason := self._selection({"": own, **elsewhere}):
            return ArmJudgement(name, "not judged", reason, treatments=own, elsewhere=elsewhere)
        try:
            found, settle, cells = estimation.estimate(claim, self._sets(claim), parts)
        except NoIntervalError as error:
            reason = str(error)
            return ArmJudgement(name, "not judged", reason, treatments=own, elsewhere=elsewhere)
        verdict = verdicts.rule(found, estimation.region(claim))
        settle = settle if verdict == "inconclusive" else None
        return ArmJudgement(name, verdict, "", found, settle, own, elsewhere, cells)

    def _selection(self, used: Mapping[str, frozenset[TreatmentKey]]) -> str:
        """Name the arms whose invalid attempts exceed the others'; empty if there are none."""
        found = [
            arm
            for experiment, treatments in used.items()
            for arm in selection.of_treatments(self._selected[experiment], treatments)
        ]
        return f"refused: {'; '.join(map(selection.in_words, found))}" if found else ""

    def _needs(self, experiment: str) -> str:
        if given := self._given[experiment]:
            return f"needs one campaign of {experiment}, and {given} are given"
        return f"needs a campaign of {experiment}: name its folder too"

    def _sets(self, claim: CompiledClaim) -> list[CellSet]:
        wanted = [claim.cells, claim.subtracted] if claim.subtracted else [claim.cells]
        return [self._set(claim, one) for one in wanted]

    def _set(self, claim: CompiledClaim, wanted: Sequence[ClaimCell]) -> CellSet:
        present, absent = list[tuple[CellLocation, ClaimCell]](), list[NoIntervalError]()
        for cell in wanted:
            try:
                present.append((self._located(claim, cell), cell))
            except NoIntervalError as error:
                absent.append(error)
        if not present:
            raise absent[0]
        # A cell whose trials failed counts as missing, so that the others are still judged.
        least = verdicts.least_blocks([found for found, _ in present])
        judged = [one for one in present if one[0].n >= least] or present
        return CellSet(
            [found for found, _ in judged],
            [cell.levels for _, cell in judged],
            len(wanted) - len(judged),
            estimation.are_independent(wanted),
        )

    def _located(self, claim: CompiledClaim, cell: ClaimCell) -> CellLocation:
        return locations.locate(cell.quantity, claim.stated.estimate, self._samples)


def _used(claim: CompiledClaim) -> dict[str, frozenset[TreatmentKey]]:
    """Return the treatments that a claim uses, by experiment; the empty name is its own."""
    quantities = [cell.quantity for cell in (*claim.cells, *claim.subtracted)]
    names = {leaf.experiment for one in quantities for leaf in leaves(one)}
    return {
        name: frozenset[TreatmentKey]().union(*(treatments(one, name) for one in quantities))
        for name in names
    }


def _used_elsewhere(parts: Sequence[ArmJudgement]) -> dict[str, frozenset[TreatmentKey]]:
    """Return the treatments of other experiments that any of the parts uses."""
    empty = frozenset[TreatmentKey]()
    return {
        key: empty.union(*(one.elsewhere.get(key, empty) for one in parts))
        for key in {key for one in parts for key in one.elsewhere}
    }


def _all_of(parts: Verdicts, strict: Verdicts) -> ClaimVerdict:
    if "contradicted" in strict:
        return "contradicted"
    return parts[0] if {*parts} <= {"reproduced"} or {*parts} <= {"not judged"} else "inconclusive"


def _any_of(parts: Verdicts, strict: Verdicts) -> ClaimVerdict:
    if "reproduced" in strict:
        return "reproduced"
    return (
        parts[0] if {*parts} <= {"contradicted"} or {*parts} <= {"not judged"} else "inconclusive"
    )
