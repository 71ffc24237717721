"""Quantities: what a claim computes from each block, as a tree of values, contrasts and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from httpbed.addons.claims.stated import ContrastKind
from httpbed.experiment.metric import ItemStatistic
from httpbed.experiment.treatment import TreatmentKey


@dataclass(frozen=True)
class MetricValue:
    """The mean of one metric over some treatments, in one block."""

    metric: str
    """Name of the metric; empty for the share of trials that completed."""
    treatments: tuple[TreatmentKey, ...]
    items: ItemStatistic | None = None
    """Statistic over the items of a trial; None for a metric of whole trials."""
    experiment: str = ""
    """Name of the experiment whose campaign has the values; empty for the claim's own."""


@dataclass(frozen=True)
class ContrastValue:
    """The ratio, gain or difference of two quantities, in one block."""

    by: ContrastKind
    of: Quantity
    to: Quantity
    lower_is_better: bool = True
    """Which direction a gain has."""


@dataclass(frozen=True)
class TrendValue:
    """Spearman's rank correlation of quantities with other quantities, in one block."""

    points: tuple[Quantity, ...]
    against: tuple[Quantity, ...] | None
    """None: the order of the points."""


@dataclass(frozen=True)
class KneeValue:
    """By how much the exponent of quantities falls at one of their places, in one block."""

    points: tuple[Quantity, ...]
    places: tuple[float, ...]
    """Of each point: the number that its level states, above zero."""
    at: float
    """The place of the knee; points lie on both sides."""


@dataclass(frozen=True)
class FlipValue:
    """The share of items in which two metrics order two treatments oppositely, in one block."""

    of: TreatmentKey
    to: TreatmentKey
    lower: str
    """The metric by which ``of`` is below ``to`` in the items that count."""
    higher: str
    """The metric by which it is above."""
    experiment: str = ""
    """As of :class:`MetricValue`."""


Quantity = MetricValue | ContrastValue | TrendValue | KneeValue | FlipValue


def leaves(quantity: Quantity) -> Iterator[MetricValue]:
    """Yield the metric values of a quantity."""
    match quantity:
        case MetricValue():
            yield quantity
        case ContrastValue(of=of, to=to):
            yield from leaves(of)
            yield from leaves(to)
        case TrendValue(points=points, against=against):
            for one in (*points, *(against or ())):
                yield from leaves(one)
        case KneeValue(points=points):
            for one in points:
                yield from leaves(one)
        case FlipValue():
            for metric in (quantity.lower, quantity.higher):
                yield MetricValue(
                    metric, (quantity.of, quantity.to), experiment=quantity.experiment
                )


def treatments(quantity: Quantity, experiment: str = "") -> frozenset[TreatmentKey]:
    """Return every treatment of one experiment from which a quantity is computed."""
    return frozenset(
        key for leaf in leaves(quantity) if leaf.experiment == experiment for key in leaf.treatments
    )
