"""Samples of metrics that each file, resource or client of a trial has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from httpbed.experiment.factorial import TreatmentKey
from httpbed.experiment.metric import ItemStatistic
from httpbed.results.sample import Floats, Sample, by_treatment, samples
from httpbed.store.results import Results

_STATISTICS: Mapping[ItemStatistic, Callable[[Floats], float]] = {
    "median": lambda values: float(np.median(values)),
    "mean": lambda values: float(values.mean()),
    "largest": lambda values: float(values.max()),
    "smallest": lambda values: float(values.min()),
    "range": lambda values: float(np.ptp(values)),
    "interquartile range": lambda values: float(np.subtract(*np.quantile(values, (0.75, 0.25)))),
}


def item_values(results: Results, metric: str) -> dict[TreatmentKey, dict[int, Floats]]:
    """Return the values of all items, by treatment and block, of trials that completed."""
    return {
        key: {block: np.array([*items.values()]) for block, items in own.items()}
        for key, own in named_items(results, metric).items()
    }


def named_items(results: Results, metric: str) -> dict[TreatmentKey, dict[int, dict[str, float]]]:
    """Return the values of items by treatment, block and name, of trials that completed."""
    table = results.observations
    wanted = pc.and_(pc.equal(table["metric"], metric), pc.not_equal(table["item"], ""))
    rows = table.filter(wanted)
    by_attempt: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    columns = (rows[name].to_pylist() for name in ("trial", "attempt", "item", "value"))
    for trial, attempt, item, value in zip(*columns, strict=True):
        by_attempt[trial, attempt][item] = value
    completed = [row for row in results.last_attempts if row["outcome"] == "completed"]
    return {
        key: {
            row["block"]: by_attempt[row["trial"], row["attempt"]]
            for row in own
            if (row["trial"], row["attempt"]) in by_attempt
        }
        for key, own in by_treatment(results, completed).items()
    }


def samples_of_items(
    results: Results, metric: str, statistic: ItemStatistic
) -> dict[TreatmentKey, Sample]:
    """Gather samples of one statistic over each trial's items; trials that timed out have none."""
    reduce = _STATISTICS[statistic]
    values = item_values(results, metric)
    return {
        key: replace(
            sample,
            observed={block: reduce(own) for block, own in values.get(key, {}).items()},
            censored={},
        )
        for key, sample in samples(results, metric).items()
    }
