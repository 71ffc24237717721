"""The part of a design that an experiment's claims need.

A treatment runs if a claim, as stated or in a control arm, uses it and the scale runs all the
treatments that this claim or arm uses: a claim that lacks a cell cannot be reproduced. Its
number of blocks is the fewest with which the claims that use it can be settled at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.addons.claims import compiled
from httpbed.addons.claims.cell_builder import ClaimDesign, treatments
from httpbed.addons.claims.compiled import CompiledClaim
from httpbed.addons.claims.stated import StatedClaim
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign.addition import CampaignAddition, NeededTrials
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import TreatmentKey, treatment_key


def of(whole: Experiment, at_scale: Experiment) -> NeededTrials:
    """Return what the claims of an experiment need of the treatments of one of its scales.

    Blocks above those of the whole experiment do not exist.

    Raises:
        ConfigError: It has no claims, or the scale completes none.
    """
    available = _keys(at_scale)
    every = [*of_claims(whole.claims, ClaimDesign(whole.factors, _keys(whole)))]
    run = [one for one in every if one.treatments <= available]
    if not run:
        reason = "the scale runs all cells of no claim" if every else "the experiment has no claims"
        remedy = "choose another --scale" if every else "write [[claim]] tables in it"
        raise ConfigError([Mistake("--for-claims", reason, remedy)])
    wanted = [*_wanted(whole, run)]
    short = sorted((one for one in wanted if one.blocks > whole.blocks), key=lambda one: one.blocks)
    return NeededTrials(
        blocks=_blocks(wanted, whole.blocks),
        left_out=tuple(sorted(_ids(every) - _ids(run))),
        short={one.claim: one.blocks for one in short},
    )


@dataclass(frozen=True)
class _Wanted:
    """The number of blocks of some treatments with which a claim can be settled."""

    claim: str
    treatments: Collection[TreatmentKey]
    blocks: int


def _wanted(whole: Experiment, run: Sequence[NeededTreatments]) -> Iterator[_Wanted]:
    """Yield what each claim needs by itself, and what combined claims need of their parts."""
    # The distributions take time to import, and runs without the option do not need them.
    from httpbed.addons.claims import outlook  # noqa: PLC0415

    for one in run:
        yield _Wanted(one.id, one.treatments, outlook.to_settle(one.claim))
    for combined in (claim for claim in whole.claims if claim.parts):
        for one in (one for one in run if one.id in combined.parts):
            count = outlook.to_settle(one.claim, len(combined.parts))
            yield _Wanted(combined.id, one.treatments, count)


def _keys(experiment: Experiment) -> frozenset[TreatmentKey]:
    return frozenset(map(treatment_key, experiment.treatments()))


def _ids(found: Iterable[NeededTreatments]) -> set[str]:
    return {one.id for one in found}


def _blocks(wanted: Iterable[_Wanted], most: int) -> Mapping[TreatmentKey, int]:
    blocks: dict[TreatmentKey, int] = {}
    for one in wanted:
        for key in one.treatments:
            blocks[key] = max(blocks.get(key, 0), min(one.blocks, most))
    return blocks


@dataclass(frozen=True)
class NeededTreatments:
    """What one claim needs, as stated or in one of its control arms."""

    claim: CompiledClaim
    arm: str
    """Name of the arm; empty for the claim as stated."""
    treatments: frozenset[TreatmentKey]

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.stated.id


def of_claims(claims: Sequence[StatedClaim], design: ClaimDesign) -> Iterator[NeededTreatments]:
    """Yield what valid claims and their arms need; those that consist of others need no more."""
    for stated in claims:
        if stated.parts:
            continue
        names = [arm.name for arm in stated.arm]
        yield _of("", stated, design)
        for index, arm in compiled.arms(stated):
            yield _of(names[index], arm, design)


def _of(name: str, stated: StatedClaim, design: ClaimDesign) -> NeededTreatments:
    claim = compiled.compile_claim(stated, design)
    quantities = [cell.quantity for cell in (*claim.cells, *claim.subtracted)]
    return NeededTreatments(
        claim, name, frozenset[TreatmentKey]().union(*map(treatments, quantities))
    )


@dataclass(frozen=True)
class ClaimsAddition(CampaignAddition):
    """The option ``--for-claims``."""

    name: str = "claims"

    def needed(self, whole: Experiment, at_scale: Experiment) -> NeededTrials:
        """Return the trials that the claims of an experiment need."""
        return of(whole, at_scale)


ADDITION = ClaimsAddition()
