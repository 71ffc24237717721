"""The part of a design that an experiment's claims need.

A treatment runs if a claim, as stated or in a control arm, uses it and the scale runs all the
treatments that this claim or arm uses: a claim that lacks a cell cannot be reproduced. Its
number of blocks is the fewest with which the claims that use it can be settled at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from httpbed.experiment.claims import needed
from httpbed.experiment.claims.cell_builder import ClaimDesign
from httpbed.experiment.claims.needed import NeededTreatments
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.treatment import TreatmentKey, treatment_key


@dataclass(frozen=True)
class ClaimTrials:
    """What the claims of an experiment need."""

    blocks: Mapping[TreatmentKey, int]
    """Number of blocks by treatment."""
    left_out: tuple[str, ...]
    """Claims that the scale completes neither as stated nor in an arm."""
    short: Mapping[str, int]
    """Claims that more blocks than the experiment has could settle, with their number."""

    def reduced(self, experiment: Experiment) -> Experiment:
        """Return the experiment with these treatments only."""
        chosen = [one for one in experiment.treatments() if treatment_key(one) in self.blocks]
        return experiment.reduced_to(chosen, max(self.blocks.values()))


def of(whole: Experiment, at_scale: Experiment) -> ClaimTrials:
    """Return what the claims of an experiment need of the treatments of one of its scales.

    Blocks above those of the whole experiment do not exist.

    Raises:
        ConfigError: It has no claims, or the scale completes none.
    """
    # The distributions take time to import, and runs without the option do not need them.
    from httpbed.analysis.claims import least_blocks  # noqa: PLC0415

    available = _keys(at_scale)
    every = [*needed.of_claims(whole.claims, ClaimDesign(whole.factors, _keys(whole)))]
    run = [one for one in every if one.treatments <= available]
    if not run:
        reason = "the scale runs all cells of no claim" if every else "the experiment has no claims"
        remedy = "choose another --scale" if every else "write [[claim]] tables in it"
        raise ConfigError([Mistake("--for-claims", reason, remedy)])
    wanted = [(one, least_blocks.to_settle(one.claim)) for one in run]
    return ClaimTrials(
        blocks=_blocks(wanted, whole.blocks),
        left_out=tuple(sorted(_ids(every) - _ids(run))),
        short={one.id: count for one, count in sorted(wanted, key=_count) if count > whole.blocks},
    )


def _count(wanted: tuple[NeededTreatments, int]) -> int:
    return wanted[1]


def _keys(experiment: Experiment) -> frozenset[TreatmentKey]:
    return frozenset(map(treatment_key, experiment.treatments()))


def _ids(found: Iterable[NeededTreatments]) -> set[str]:
    return {one.id for one in found}


def _blocks(
    wanted: Iterable[tuple[NeededTreatments, int]], most: int
) -> Mapping[TreatmentKey, int]:
    blocks: dict[TreatmentKey, int] = {}
    for one, count in wanted:
        for key in one.treatments:
            blocks[key] = max(blocks.get(key, 0), min(count, most))
    return blocks
