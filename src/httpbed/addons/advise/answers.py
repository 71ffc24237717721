"""Answers of finished campaigns to a question, the nearest conditions first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from httpbed.addons.advise import question, ranking
from httpbed.addons.advise.conditions import CampaignConditions, MeasuredConditions
from httpbed.addons.advise.question import AdviceConditions, AdviceDifference
from httpbed.addons.advise.ranking import Ranking
from httpbed.addons.claims.campaign_samples import CampaignSamples


@dataclass(frozen=True)
class ConditionsDistance:
    """Measured conditions, and how far they are from a question."""

    measured: MeasuredConditions
    differences: tuple[AdviceDifference, ...]

    @property
    def doublings(self) -> float:
        """Distance from the question."""
        return question.distance(self.differences)

    @property
    def is_near(self) -> bool:
        """Whether every factor is near the question's."""
        return all(one.is_near for one in self.differences)


@dataclass(frozen=True)
class ConditionsAnswer:
    """The order of treatments in conditions that are near."""

    at: ConditionsDistance
    ranking: Ranking


@dataclass(frozen=True)
class Advice:
    """What campaigns say about a question."""

    wanted: AdviceConditions
    metric: str
    near: tuple[ConditionsAnswer, ...]
    """Conditions that are near in every factor, the nearest first."""
    far: tuple[ConditionsDistance, ...]
    """All others that fetch a file, or load a page, as the question does; the nearest first."""
    left_out: Counter[str]
    """Number of treatments that no question can name, by the property that prevents it."""


def advise(known: Sequence[CampaignConditions], wanted: AdviceConditions, metric: str) -> Advice:
    """Answer a question from what campaigns measured.

    Conditions at equal distances keep the order of the campaigns.

    Raises:
        ValueError: Neither direction of the metric is an improvement.
    """
    found = [
        ConditionsDistance(one, tuple(question.differences(wanted, one.conditions)))
        for of_campaign in known
        for one in of_campaign.measured
        if question.is_comparable(wanted, one.conditions)
    ]
    found.sort(key=lambda one: one.doublings)
    sources = dict[int, CampaignSamples]()  # reads each campaign's metric once
    return Advice(
        wanted,
        metric,
        near=tuple(
            ConditionsAnswer(one, _ranked(one.measured, sources, metric))
            for one in found
            if one.is_near
        ),
        far=tuple(one for one in found if not one.is_near),
        left_out=sum((one.left_out for one in known), Counter[str]()),
    )


def _ranked(
    measured: MeasuredConditions, sources: dict[int, CampaignSamples], metric: str
) -> Ranking:
    results = measured.results
    source = sources.setdefault(id(results), CampaignSamples(results))
    return ranking.rank(source, metric, measured.treatments)
