"""The part of a design that an experiment's claims need.

A treatment runs if a claim, as stated or in a control arm, uses it and the scale runs all the
treatments that this claim or arm uses: a claim that lacks a cell cannot be reproduced. Its
number of blocks is the fewest with which the claims that use it can be settled at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.claim_checking import TABLE
from httpbed.addons.claims.compiled_claim import CompiledClaim, with_arms
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign.addition import CampaignAddition
from httpbed.campaign.loaded_experiment import NeededTrials
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import TreatmentKey, treatment_key


class _Wanted(NamedTuple):
    """The number of blocks of some treatments with which a claim can be settled."""

    claim: str
    treatments: frozenset[TreatmentKey]
    blocks: int


@dataclass(frozen=True)
class ClaimsAddition(CampaignAddition):
    """The option ``--for-claims``."""

    name: str = "claims"

    def needed(self, whole: Experiment, at_scale: Experiment) -> NeededTrials:
        """Return the trials that the claims of an experiment need.

        Blocks above those of the whole experiment do not exist.

        Raises:
            ConfigError: It has no claims, or the scale completes none.
        """
        available = {treatment_key(treatment) for treatment in at_scale.treatments()}
        design = ClaimDesign.of_tables(whole.stated(TABLE))
        every = [*with_arms(whole.claims, design)]
        complete = [claim for claim in every if claim.treatments()[""] <= available]
        if not complete:
            reason = (
                "the scale runs all cells of no claim" if every else "the experiment has no claims"
            )
            remedy = "choose another --scale" if every else "write [[claim]] tables in it"
            raise ConfigError([Mistake("--for-claims", reason, remedy)])
        wanted = [*_wanted(whole, complete)]
        blocks: dict[TreatmentKey, int] = {}
        for cells in wanted:
            for key in cells.treatments:
                blocks[key] = max(blocks.get(key, 0), min(cells.blocks, whole.blocks))
        short = [cells for cells in wanted if cells.blocks > whole.blocks]
        short.sort(key=lambda cells: cells.blocks)
        return NeededTrials(
            blocks=blocks,
            left_out=tuple(
                sorted(
                    {claim.stated.id for claim in every} - {claim.stated.id for claim in complete}
                )
            ),
            short={cells.claim: cells.blocks for cells in short},
        )


def _wanted(whole: Experiment, complete: Sequence[CompiledClaim]) -> Iterator[_Wanted]:
    """Yield what each claim needs by itself, and what combined claims need of their parts."""
    # The distributions take time to import, and runs without the option do not need them.
    from httpbed.addons.claims import claim_outlook  # noqa: PLC0415

    for claim in complete:
        used = claim.treatments()[""]
        yield _Wanted(claim.stated.id, used, claim_outlook.to_settle(claim))
        for combined in (stated for stated in whole.claims if claim.stated.id in stated.parts):
            blocks = claim_outlook.to_settle(claim, len(combined.parts))
            yield _Wanted(combined.id, used, blocks)


ADDITION = ClaimsAddition()
