"""The samples of a campaign's treatments, each metric read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from httpbed.analysis import sample as samples
from httpbed.analysis.claims.blocks import AbsentError
from httpbed.analysis.sample import Sample
from httpbed.experiment.claims.quantity import MetricValue, TreatmentKey
from httpbed.experiment.claims.stated import ItemStatistic
from httpbed.store.results import Results

ANY_METRIC = "request_time"
"""Outcomes are counted with the sample of any metric."""


class CampaignSamples:
    """Reads the samples of one campaign."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._read: dict[tuple[str, ItemStatistic | None], Mapping[TreatmentKey, Sample]] = {}

    def sample(self, leaf: MetricValue, treatment: TreatmentKey) -> Sample:
        """Return one treatment's sample.

        Raises:
            AbsentError: The campaign has no such treatment.
        """
        metric = leaf.metric or ANY_METRIC
        if (metric, leaf.items) not in self._read:
            self._read[metric, leaf.items] = self._samples(metric, leaf.items)
        found = self._read[metric, leaf.items].get(treatment)
        if found is None:
            levels = ", ".join(f"{name} {level}" for name, level in self._named(treatment))
            raise AbsentError(f"the campaign has no trials of {levels}")
        return found

    def _named(self, treatment: TreatmentKey) -> list[tuple[str, str]]:
        factors = self._results.experiment.factors
        return [(n, level) for n, level in zip(factors, treatment, strict=True)]

    def _samples(self, metric: str, items: ItemStatistic | None) -> Mapping[TreatmentKey, Sample]:
        whole = samples.samples(self._results, metric)
        if items is None:
            return whole
        by_trial = self._of_items(metric, items)
        found: dict[TreatmentKey, dict[int, float]] = defaultdict(dict)
        completed = [
            row
            for row in samples.last_attempts(self._results.trials)
            if row["outcome"] == "completed"
        ]
        for key, rows in samples.by_treatment(self._results, completed).items():
            for row in rows:
                value = by_trial.get((row["trial"], row["attempt"]))
                if value is not None:
                    found[key][row["block"]] = value
        return {key: replace(one, observed=found[key], censored={}) for key, one in whole.items()}

    def _of_items(self, metric: str, items: ItemStatistic) -> dict[tuple[str, int], float]:
        table = self._results.observations
        wanted = pc.and_(pc.equal(table["metric"], metric), pc.not_equal(table["item"], ""))
        rows = table.filter(wanted)
        columns = (rows[name].to_pylist() for name in ("trial", "attempt", "value"))
        values: dict[tuple[str, int], list[float]] = defaultdict(list)
        for trial, attempt, value in zip(*columns, strict=True):
            values[trial, attempt].append(value)
        return {at: _reduced(np.array(own), items) for at, own in values.items()}


def _reduced(values: samples.Floats, items: ItemStatistic) -> float:
    match items:
        case "median":
            return float(np.median(values))
        case "mean":
            return float(values.mean())
        case "largest":
            return float(values.max())
        case "smallest":
            return float(values.min())
        case "range":
            return float(np.ptp(values))
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low)
