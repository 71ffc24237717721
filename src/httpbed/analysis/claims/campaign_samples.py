"""The samples of a campaign's treatments, each metric read once."""

from __future__ import annotations

from collections.abc import Mapping

from httpbed.analysis.claims.blocks import AbsentError
from httpbed.analysis.item_samples import samples_of_items
from httpbed.analysis.sample import Sample, samples
from httpbed.experiment.claims.quantity import MetricValue, TreatmentKey
from httpbed.experiment.metric import ItemStatistic
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
        if items is None:
            return samples(self._results, metric)
        return samples_of_items(self._results, metric, items)
