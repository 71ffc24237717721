"""The samples of campaigns' treatments, each metric read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from httpbed.addons.claims.blocks import AbsentError
from httpbed.addons.claims.quantity import MetricValue
from httpbed.addons.pages.item_samples import named_items, samples_of_items
from httpbed.experiment.metric import ItemStatistic
from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.results.sample import Sample, samples
from httpbed.store.results import Results

ANY_METRIC = "request_time"
"""Outcomes are counted with the sample of any metric."""


class CampaignSamples:
    """Reads the samples of one campaign, and of campaigns of other experiments by name.

    Blocks of two campaigns are no pairs in time. Block 1 of one is compared with block 1 of the
    other, and so on: the comparisons are independent, but what differs between the campaigns stays
    in them.
    """

    def __init__(self, results: Results, others: Mapping[str, Results] | None = None) -> None:
        self._results = results
        self._others = {name: CampaignSamples(one) for name, one in (others or {}).items()}
        self._known = {treatment_key(one) for one in results.experiment.treatments()}
        self._items: dict[str, Mapping[TreatmentKey, Mapping[int, Mapping[str, float]]]] = {}
        self._read: dict[tuple[str, ItemStatistic | None], Mapping[TreatmentKey, Sample]] = {}

    def sample(self, leaf: MetricValue, treatment: TreatmentKey) -> Sample:
        """Return one treatment's sample.

        Raises:
            AbsentError: The campaign has no such treatment.
        """
        if leaf.experiment:
            other = self._others[leaf.experiment]
            return other.sample(replace(leaf, experiment=""), treatment)
        metric = leaf.metric or ANY_METRIC
        if (metric, leaf.items) not in self._read:
            self._read[metric, leaf.items] = self._samples(metric, leaf.items)
        found = self._read[metric, leaf.items].get(treatment)
        if found is None:
            raise self._absent(treatment)
        return found

    def items(
        self, metric: str, treatment: TreatmentKey, experiment: str = ""
    ) -> Mapping[int, Mapping[str, float]]:
        """Return one treatment's values of single items, by block and name.

        Raises:
            AbsentError: The campaign has no such treatment.
        """
        if experiment:
            return self._others[experiment].items(metric, treatment)
        if metric not in self._items:
            self._items[metric] = named_items(self._results, metric)
        if treatment not in self._known:
            raise self._absent(treatment)
        return self._items[metric].get(treatment, {})

    def _absent(self, treatment: TreatmentKey) -> AbsentError:
        levels = ", ".join(f"{name} {level}" for name, level in self._named(treatment))
        name = self._results.experiment.name
        return AbsentError(f"the campaign of {name} has no trials of {levels}")

    def _named(self, treatment: TreatmentKey) -> list[tuple[str, str]]:
        factors = self._results.experiment.factors
        return [(n, level) for n, level in zip(factors, treatment, strict=True)]

    def _samples(self, metric: str, items: ItemStatistic | None) -> Mapping[TreatmentKey, Sample]:
        if items is None:
            return samples(self._results, metric)
        return samples_of_items(self._results, metric, items)
