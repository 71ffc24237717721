"""The design: the ordered list of an experiment's trials, in randomised complete blocks.

Each block runs each treatment once, in a random order of its own (Fisher 1935). Drift of the
machine over minutes affects all treatments of a block alike, so comparisons are made within blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.base import seeds
from httpbed.experiment.document import scenario_document
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.scenario import ScenarioReader
from httpbed.experiment.trial import Trial


def design(
    experiment: Experiment,
    document: Mapping[str, Any],
    completed: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    blocks: Mapping[tuple[str, ...], int] | None = None,
) -> list[Trial]:
    """List the trials of an experiment in the order in which they run.

    ``completed`` adds to a scenario's document what only the machine knows, such as the digests of
    files. ``blocks`` gives the number of blocks in which a treatment runs, by its levels; by
    default all.
    """
    treatments = list(experiment.treatments())
    documents = [completed(scenario_document(document, levels)) for levels in treatments]
    scenarios = ScenarioReader()
    limits = [experiment.time_limit_s(scenarios.read(scenario)) for scenario in documents]
    trials = []
    for block in range(1, experiment.blocks + 1):
        order = [
            index
            for index, levels in enumerate(treatments)
            if blocks is None or block <= blocks[treatment_key(levels)]
        ]
        seeds.block_order(experiment.seed, block).shuffle(order)
        trials += [
            Trial(
                block=block,
                position=position,
                levels=treatments[index],
                document=documents[index],
                seed=experiment.seed,
                time_limit_s=limits[index],
                clock=experiment.clock,
            )
            for position, index in enumerate(order, start=1)
        ]
    return trials


# How the design of a campaign follows an experiment file that asks for other trials.
#
# A trial's identifier is the hash of what it executes. It does not depend on the number of blocks,
# treatments or groups, so a larger experiment contains the trials of a smaller one. Three rules
# follow:
#
# * A trial that ran stays in the design, at its position, also if the file no longer asks for it.
# * A block in which no trial ran gets the order that a new campaign gives it.
# * In a block in which trials ran, further trials come after them, in random order. They run at
#   another time than the rest of their block, so :attr:`Growth.joined` names these blocks.


@dataclass(frozen=True)
class Growth:
    """The step from the design of a campaign to the one that an experiment asks for."""

    design: tuple[Trial, ...]
    """All trials in order: those that the experiment asks for, and those that ran."""
    added: tuple[Trial, ...]
    """Trials that the earlier design has not."""
    left: tuple[Trial, ...]
    """Trials of the earlier design that never ran and that the experiment does not ask for."""
    kept: tuple[Trial, ...]
    """Trials that ran and that the experiment does not ask for."""
    joined: tuple[int, ...]
    """Blocks in which trials ran and to which trials were added."""

    @property
    def changes_trials(self) -> bool:
        """Whether the design has other trials than before."""
        return bool(self.added or self.left)


def grown(old: Sequence[Trial], wanted: Sequence[Trial], ran: Collection[str]) -> Growth:
    """Return the design that contains what ran and what is wanted.

    ``ran`` are the identifiers of trials with an attempt. The trials of ``old`` and ``wanted`` with
    equal levels execute the same (:mod:`httpbed.experiment.differences`).
    """
    known, needed = _by_id(old), _by_id(wanted)
    added = tuple(trial for name, trial in needed.items() if name not in known)
    begun = {trial.block for name, trial in known.items() if name in ran}
    growth = Growth(
        design=tuple(old),
        added=added,
        left=tuple(one for name, one in known.items() if name not in needed and name not in ran),
        kept=tuple(one for name, one in known.items() if name not in needed and name in ran),
        joined=tuple(sorted(begun & {trial.block for trial in added})),
    )
    if not growth.changes_trials:
        return growth
    staying = [trial for name, trial in known.items() if name in ran or name in needed]
    design = _joined_blocks(old, staying, added, begun)
    design += [trial for trial in needed.values() if trial.block not in begun]
    ordered = sorted(design, key=lambda trial: (trial.block, trial.position))
    return Growth(tuple(ordered), added, growth.left, growth.kept, growth.joined)


def _by_id(trials: Iterable[Trial]) -> dict[str, Trial]:
    return {trial.id: trial for trial in trials}


def _joined_blocks(
    old: Sequence[Trial], staying: Iterable[Trial], added: Iterable[Trial], begun: Collection[int]
) -> list[Trial]:
    """Return the trials of the blocks that began: first those that stay, then the added ones."""
    last = defaultdict[int, int](int)
    for trial in old:
        last[trial.block] = max(last[trial.block], trial.position)
    design = [trial for trial in staying if trial.block in begun]
    for trial in added:
        if trial.block in begun:
            last[trial.block] += 1
            design.append(trial.model_copy(update={"position": last[trial.block]}))
    return design
