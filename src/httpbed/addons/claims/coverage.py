"""How much of a publication's design a campaign ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import PublishedDesign
from httpbed.store.results import Results

PAPER = "paper"
"""The scale that is a publication's own design."""


@dataclass(frozen=True)
class Coverage:
    """Cells and trials of the scale ``paper``: how many ran, and how many it has."""

    cells: int
    of_cells: int
    trials: int
    of_trials: int
    published: PublishedDesign | None
    """What the publication measured."""
    absent: tuple[str, ...]
    """What the publication has and the scale lacks."""


def coverage(results: Results, experiment: Experiment | None = None) -> Coverage | None:
    """Compare what ran with the scale ``paper``; None if the experiment has no such scale.

    A cell that ran has a valid trial. Trials beyond the scale's number of blocks do not count.
    ``experiment`` is the file of today, by default the campaign's own.
    """
    experiment = experiment or results.stated_experiment
    if PAPER not in experiment.scales:
        return None
    scale, reduced = experiment.scales[PAPER], experiment.at_scale(PAPER)
    names = [name for name in experiment.factors if name in results.trials.column_names]
    valid = [row for row in results.last_attempts if row["outcome"] != "invalid"]
    blocks = Counter(tuple(row[name] for name in names) for row in valid)
    wanted = {tuple(one[name] for name in names) for one in reduced.treatments()}
    ran = [min(blocks[key], scale.replicates) for key in wanted if blocks[key]]
    return Coverage(
        cells=len(ran),
        of_cells=len(wanted),
        trials=sum(ran),
        of_trials=len(wanted) * scale.replicates,
        published=scale.published,
        absent=tuple(scale.absent),
    )
