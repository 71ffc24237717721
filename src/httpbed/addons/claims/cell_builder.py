"""Builds the cells of a claim: for each, the quantity that a claim computes from each block.

A quantity is a tree of values, contrasts and shapes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from httpbed.addons.claims.stated_claim import (
    ContrastKind,
    Knee,
    OtherCells,
    PairedContrast,
    StatedClaim,
)
from httpbed.base.errors import first_names
from httpbed.experiment.document import KeyPath
from httpbed.experiment.factorial import TreatmentKey, numeric_levels, treatment_key
from httpbed.experiment.metric import METRICS, ItemStatistic
from httpbed.experiment.stated_tables import StatedTables, TableProblem, TableProblemsError


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
    """The number above zero that the level of each point states."""
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
            for point in (*points, *(against or ())):
                yield from leaves(point)
        case KneeValue(points=points):
            for point in points:
                yield from leaves(point)
        case FlipValue():
            for metric in (quantity.lower, quantity.higher):
                yield MetricValue(
                    metric, (quantity.of, quantity.to), experiment=quantity.experiment
                )


Levels = Mapping[str, Sequence[str]]
MIN_POINTS = 3
"""A correlation needs so many points: that of two is 1 or -1."""
MAX_CELLS = 5_000
"""A claim has at most so many cells."""


@dataclass(frozen=True)
class ClaimDesign:
    """What claims can refer to."""

    factors: Levels
    treatments: frozenset[TreatmentKey]
    others: Mapping[str, ClaimDesign] = field(default_factory=dict)
    """The designs of other experiments, by name, as far as they are known."""

    @classmethod
    def of_tables(cls, stated: StatedTables) -> ClaimDesign:
        """Return the design to which the claims of an experiment can refer."""
        others = {name: cls.of_tables(other) for name, other in stated.others.items()}
        return cls(stated.factors, frozenset(map(treatment_key, stated.treatments)), others)

    def of(self, experiment: str | None) -> ClaimDesign | None:
        """Return the design of this or another experiment; None if it is unknown."""
        return self.others.get(experiment) if experiment else self


@dataclass(frozen=True)
class ClaimCell:
    """What one statistic over the blocks estimates."""

    levels: Mapping[str, str]
    """Levels of the factors in ``over``; of two cells that are compared, those of the first."""
    quantity: Quantity


class CellBuilder:
    """Builds the cells of one claim."""

    def __init__(
        self, stated: StatedClaim, design: ClaimDesign, experiment: str = "", at: KeyPath = ()
    ) -> None:
        self._stated, self._design = stated, design
        self._experiment, self._at = experiment, at

    @classmethod
    def of_other(
        cls, stated: StatedClaim, other: OtherCells, design: ClaimDesign, path: KeyPath
    ) -> CellBuilder | None:
        """Return the builder of the other cells; None if their experiment's design is unknown."""
        known = design.of(other.experiment)
        if known is None:
            return None
        return cls(stated.of_other(other), known, other.experiment or "", path)

    def cells(self, where: Levels) -> tuple[ClaimCell, ...]:
        """Return one cell for each combination of levels of ``over`` that the design contains.

        Raises:
            TableProblemsError: A factor is free, or the design contains no cell.
        """
        built, absent = list[ClaimCell](), list[TableProblem]()
        for levels in self._combinations(where):
            own = {**where, **{name: [level] for name, level in levels.items()}}
            try:
                built.append(ClaimCell(levels, self._quantity(own)))
            except _AbsentTreatmentError as error:
                absent.append(error.problem)
        if not built:
            raise TableProblemsError(absent[:1])
        return tuple(built)

    def at_levels(self, levels: Levels) -> Quantity:
        """Return the contrasts of the claim at some levels, without its trend."""
        return self._contrast(self._stated.compare, levels)

    def _combinations(self, where: Levels) -> list[dict[str, str]]:
        """Return the levels of each cell, in which cells differ."""
        names = list(dict.fromkeys(self._stated.over))
        chosen = [where.get(name) or self._design.factors[name] for name in names]
        if math.prod(map(len, chosen)) > MAX_CELLS:
            reason = f"makes more than {MAX_CELLS} cells"
            remedy = "choose levels in where, or write several claims"
            raise TableProblemsError([TableProblem((*self._at, "over"), reason, remedy)])
        return [dict(zip(names, levels, strict=True)) for levels in itertools.product(*chosen)]

    def _quantity(self, levels: Levels) -> Quantity:
        trend, contrasts = self._stated.trend, self._stated.compare
        if self._stated.flip:
            return self._flip(self._stated.flip, levels)
        if self._stated.knee:
            return self._knee(self._stated.knee, levels)
        if trend is None:
            return self._contrast(contrasts, levels)
        names = [trend.factor] if trend.factor else trend.across
        chosen = [levels.get(name) or self._design.factors[name] for name in names]
        points, against = list[Quantity](), list[Quantity]()
        for combination in itertools.product(*chosen):
            point = {name: [level] for name, level in zip(names, combination, strict=True)}
            own = {**levels, **point}
            points.append(self._contrast(contrasts, own))
            if trend.metric:
                against.append(self._value(own, ("trend",), str(trend.metric)))
            elif trend.other:
                against += self._of_other_point(trend.other, levels, point)
        if self._stated.estimate == "correlation" and len(points) < MIN_POINTS:
            reason = f"has {len(points)} points; a correlation needs {MIN_POINTS}"
            problem = TableProblem((*self._at, "trend"), reason, "choose more levels in where")
            raise TableProblemsError([problem])
        return TrendValue(tuple(points), tuple(against) or None)

    def _knee(self, knee: Knee, levels: Levels) -> KneeValue:
        chosen = levels.get(knee.factor) or self._design.factors[knee.factor]
        places = _places(knee, chosen, (*self._at, "knee"))
        points = [
            self._contrast(self._stated.compare, {**levels, knee.factor: [one]}) for one in chosen
        ]
        return KneeValue(tuple(points), tuple(places[one] for one in chosen), places[knee.at])

    def _flip(self, higher: str, levels: Levels) -> FlipValue:
        (contrast,) = self._stated.compare
        of, to = (
            self._value({**levels, **side}, ("where",)).treatments
            for side in (contrast.of, contrast.to)
        )
        if len(of) > 1 or len(to) > 1:
            reason = "compares the items of one trial with those of another, not of several"
            remedy = "name one level of each factor in where, or the factor in over"
            raise TableProblemsError([TableProblem((*self._at, "flip"), reason, remedy)])
        return FlipValue(of[0], to[0], str(self._stated.metric), higher, self._experiment)

    def _of_other_point(
        self, other: OtherCells, levels: Levels, point: Levels
    ) -> Iterator[Quantity]:
        """Yield what a point is correlated with; nothing if its experiment's design is unknown."""
        builder = self.of_other(self._stated, other, self._design, ("trend", "other"))
        if builder:
            own = {} if other.experiment else levels
            yield builder.at_levels({**own, **other.where, **point})

    def _contrast(self, contrasts: Sequence[PairedContrast], levels: Levels) -> Quantity:
        """Build the last contrast, of what the contrasts before it give."""
        if not contrasts:
            return self._value(levels, ("where",))
        *before, last = contrasts
        of, to = ({**levels, **side} for side in (last.of, last.to))
        metric = self._stated.metric
        return ContrastValue(
            by=last.by,
            of=self._contrast(before, of),
            to=self._contrast(before, to),
            lower_is_better=metric is None or METRICS[metric].lower_is_better,
        )

    def _value(self, levels: Levels, path: KeyPath, metric: str | None = None) -> MetricValue:
        factors = self._design.factors
        free = [name for name in factors if name not in levels and len(factors[name]) > 1]
        if free:
            reason = f"does not choose a level of {first_names(free)}"
            remedy = "name the level in where, or the factor in over"
            raise TableProblemsError([TableProblem((*self._at, *path), reason, remedy)])
        chosen = [levels.get(name) or factors[name] for name in factors]
        keys = tuple(itertools.product(*map(tuple, chosen)))
        absent = [key for key in keys if key not in self._design.treatments]
        if absent:
            raise _AbsentTreatmentError(
                (*self._at, *path), dict(zip(factors, absent[0], strict=True))
            )
        items = None if metric else self._stated.items
        name = metric or str(self._stated.metric or "")
        return MetricValue(name, keys, items, self._experiment)


def _places(knee: Knee, levels: Sequence[str], path: KeyPath) -> Mapping[str, float]:
    """Return the number of each level.

    Raises:
        TableProblemsError: They are no positive numbers, or do not lie on both sides of the knee.
    """
    numbers = numeric_levels(levels)
    if numbers is None or min(numbers.places.values()) <= 0:
        reason = f"the levels of {knee.factor} are not numbers above zero"
        problem = TableProblem((*path, "factor"), reason, "choose such levels in where")
        raise TableProblemsError([problem])
    places = numbers.places
    known = knee.at in places
    if not known or not min(places.values()) < places[knee.at] < max(places.values()):
        reason = f"{knee.at!r} does not lie between two of the levels: {first_names(levels)}"
        problem = TableProblem((*path, "at"), reason, "choose levels below and above it in where")
        raise TableProblemsError([problem])
    return places


class _AbsentTreatmentError(Exception):
    def __init__(self, at: KeyPath, levels: Mapping[str, str]) -> None:
        named = ", ".join(f"{name} = {level!r}" for name, level in levels.items())
        reason = f"no treatment has {named}"
        remedy = "name other levels, or add the treatment to a group"
        self.problem = TableProblem(at, reason, remedy)
        super().__init__(reason)
