"""The answer of each condition of a run in virtual time, as soon as its last trial has ended.

A condition is one combination of the levels of the network's factors. Treatments are compared
within it, block by block. Blocks run one after the other, so that drift of the machine affects all
treatments of a block alike, and every condition is complete only at the end of the run. In virtual
time the machine changes no number, and trials may run in any order. So all blocks of the first
condition run first, then those of the next one. The number of blocks is fixed before the first
trial, so an early answer is the one that the report has at the end, with the same error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from httpbed.campaign.executor import Work
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.cli.progress import RunParts, named
from httpbed.experiment.document import network_factors
from httpbed.experiment.trial import Trial


def apply_to(loaded: LoadedExperiment) -> bool:
    """Whether a run has several conditions, and may run them one after the other."""
    return loaded.experiment.clock == "virtual" and len(_conditions(loaded)) > 1


def by_condition(work: Sequence[Work], loaded: LoadedExperiment) -> tuple[list[Work], RunParts]:
    """Order trials condition by condition, within each block by block; return the parts, too."""
    network, conditions = network_factors(loaded.document), _conditions(loaded)

    def condition(trial: Trial) -> str:
        return _condition(trial.levels, network)

    trials = [trial for trial, _ in work]
    ordered = sorted(work, key=lambda item: conditions.index(condition(item[0])))
    return ordered, RunParts.by(condition, trials)


def answer(directory: Path, condition: str) -> Iterator[str]:
    """Yield the sentences about a condition of a campaign whose trials have all ended."""
    from httpbed.report.answer import answer as answer_of  # statistics, which trials do not need
    from httpbed.results.findings import find
    from httpbed.store import query

    results = query.read(directory)
    findings = find(results)
    for found in findings.conditions:
        if named(found.levels) == condition:
            alone = replace(findings, conditions=(found,))
            for sentence in answer_of(alone, results.document, with_link=False):
                yield f"answer: {sentence}"


def _conditions(loaded: LoadedExperiment) -> list[str]:
    """Return the conditions of an experiment's treatments, in the order of its levels."""
    network = network_factors(loaded.document)
    treatments = loaded.experiment.treatments()
    return list(dict.fromkeys(_condition(levels, network) for levels in treatments))


def _condition(levels: Mapping[str, str], network: tuple[str, ...]) -> str:
    return named({name: level for name, level in levels.items() if name in network})
