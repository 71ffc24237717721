"""Whether invalid attempts fell on some programs more than on others: a sign of selection.

An invalid attempt is repeated. A program that can make its attempts invalid when their numbers
displease it so selects its results. A machine that is disturbed hits all programs alike.

# Theory of operation

An **arm** is a combination of levels of the factors that choose programs (``roles``,
``competitors``). Trials of one block that differ in nothing but their arm are a **set**: they ask
the same of the same machine at about the same time. An arm has one trial in a set. A trial counts
once, however often it was repeated: the attempts at one trial follow each other and meet the same
disturbance.

If what makes attempts invalid takes no notice of the program, each trial of a set is equally likely
to be among its *k* of *m* that have an invalid attempt, so an arm's is with probability *k/m*. Sets
are independent because the order of each block is drawn at random: whatever times of a block were
disturbed, the draw decides which arm of each set ran then. So the number of an arm's trials with an
invalid attempt, given *k* of each set, is a sum of independent Bernoulli variables with known
probabilities (as in Mantel and Haenszel 1959), and its distribution is exact. Where trials run side
by side, those that need much of the machine start later in their block, so the draw does not decide
alone. A disturbance of a block's end then falls on such programs in several sets at a time.

An arm is **selected** if so many trials as it has, or more, have a probability of at most 5 %
divided by the number of arms (Bonferroni), and if its share exceeds that of the others in the same
sets by at least 10 %. So if no program has to do with its invalid attempts, the probability that
any arm of a campaign is selected is 5 % at most.

If programs do not vary, each treatment is an arm, and the trials of a block are a set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from httpbed.experiment.document import program_factors
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.store.results import Results

ERROR_RATE = 0.05
"""Probability that a campaign has a selected arm though no program has to do with it, at most."""
MIN_EXCESS = 0.1
"""A smaller share of repeated trials moves no median far."""


@dataclass(frozen=True)
class SelectedArm:
    """An arm with more invalid attempts than the others beside it."""

    levels: Mapping[str, str]
    """Levels of the factors that choose programs; of all factors if none does."""
    repeated: int
    """Trials with an invalid attempt."""
    trials: int
    """All its trials that have others beside them."""
    others: float
    """Share of the others' trials with an invalid attempt, in the same sets."""
    treatments: frozenset[TreatmentKey]


class _Part(NamedTuple):
    """An arm's trial in a set of two or more trials."""

    trials: int
    """Number of trials in the set, this one included."""
    repeated: int
    """How many of them have an invalid attempt."""
    is_repeated: bool
    """Whether the arm's trial is one of them."""


def selected_arms(results: Results) -> tuple[SelectedArm, ...]:
    """Return the arms of a campaign whose invalid attempts exceed those of the others."""
    names = tuple(results.experiment.factors)
    chosen = [name for name in program_factors(results.document) if name in names]
    repeated = _repeated(results, names)
    if len({_part(key, names, chosen) for _, key in repeated}) < 2:  # one arm
        chosen = [*names]
    rest = [name for name in names if name not in chosen]
    sets: dict[tuple[int, TreatmentKey], dict[TreatmentKey, bool]] = {}
    treatments = defaultdict[TreatmentKey, set[TreatmentKey]](set)
    for (block, key), is_repeated in repeated.items():
        arm = _part(key, names, chosen)
        sets.setdefault((block, _part(key, names, rest)), {})[arm] = is_repeated
        treatments[arm].add(key)
    parts = _parts(sets.values())
    selected = (
        _selected(dict(zip(chosen, arm, strict=True)), own, treatments[arm], len(parts))
        for arm, own in parts.items()
    )
    return tuple(one for one in selected if one)


def _repeated(results: Results, names: Sequence[str]) -> dict[tuple[int, TreatmentKey], bool]:
    """Return whether trials have an invalid attempt, by block and treatment."""
    is_repeated: dict[tuple[int, TreatmentKey], bool] = {}
    for row in results.trials.select(["block", "outcome", *names]).to_pylist():
        place = row["block"], treatment_key(row, names)
        is_repeated[place] = is_repeated.get(place, False) or row["outcome"] == "invalid"
    return is_repeated


def _part(key: TreatmentKey, names: Sequence[str], chosen: Sequence[str]) -> TreatmentKey:
    return tuple(level for name, level in zip(names, key, strict=True) if name in chosen)


def _parts(sets: Iterable[Mapping[TreatmentKey, bool]]) -> dict[TreatmentKey, list[_Part]]:
    """Return each arm's part of the sets in which it has others beside it."""
    parts = defaultdict[TreatmentKey, list[_Part]](list)
    for one in sets:
        for arm, is_repeated in one.items() if len(one) > 1 else ():
            parts[arm].append(_Part(len(one), sum(one.values()), is_repeated))
    return parts


def _selected(
    levels: Mapping[str, str], parts: Sequence[_Part], treatments: Iterable[TreatmentKey], arms: int
) -> SelectedArm | None:
    repeated = sum(part.is_repeated for part in parts)
    others = float(
        np.mean([(part.repeated - part.is_repeated) / (part.trials - 1) for part in parts])
    )
    if repeated / len(parts) - others < MIN_EXCESS or _p_value(parts) * arms > ERROR_RATE:
        return None
    return SelectedArm(levels, repeated, len(parts), others, frozenset(treatments))


def _p_value(parts: Sequence[_Part]) -> float:
    """Return the probability of so many repeated trials of an arm, or more."""
    chances = np.ones(1)
    for part in parts:
        share = part.repeated / part.trials
        chances = np.convolve(chances, [1 - share, share])
    return float(chances[sum(part.is_repeated for part in parts) :].sum())


def in_words(arm: SelectedArm) -> str:
    """Say in which way an arm's invalid attempts exceed the others'."""
    levels = (
        f"{name} {level}" if level[:1].isdigit() else level for name, level in arm.levels.items()
    )
    return (
        f"{arm.repeated} of {arm.trials} trials of {', '.join(levels)} have invalid"
        f" attempts, and {100 * arm.others:.0f} % of the others beside them, so its results may be"
        " selected"
    )


def of_treatments(
    arms: Sequence[SelectedArm], treatments: frozenset[TreatmentKey]
) -> Iterator[SelectedArm]:
    """Yield the arms that have any of some treatments."""
    return (arm for arm in arms if arm.treatments & treatments)
