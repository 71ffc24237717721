"""The treatments that claims need, for each claim and each of its control arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from httpbed.addons.claims import compiled
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.compiled import CompiledClaim
from httpbed.addons.claims.quantity import treatments
from httpbed.addons.claims.stated import StatedClaim
from httpbed.experiment.treatment import TreatmentKey


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
