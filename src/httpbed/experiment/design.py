"""The design: the ordered list of an experiment's trials, in randomised complete blocks.

Each block runs each treatment once, in a random order of its own (Fisher 1935). Drift of the
machine over minutes affects all treatments of a block alike, so comparisons are made within blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from httpbed.base import seeds
from httpbed.experiment.document import scenario_document
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.scenario_reader import ScenarioReader
from httpbed.experiment.treatment import treatment_key
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
