"""Figures as an experiment file declares them, and the place of each treatment in a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from httpbed.base import spellings, units
from httpbed.base.errors import RejectedValueError, first_names
from httpbed.base.value import Value
from httpbed.experiment.factorial import (
    FactorName,
    FactorNames,
    LevelText,
    OneOrSeveral,
    Selection,
    as_list,
    selects,
    treatment_key,
)
from httpbed.experiment.metric import METRICS
from httpbed.experiment.stated_tables import TableProblem, TableProblemsError

FigureKind = Literal["bars", "lines", "grid", "cdf", "spans"]
Statistic = Literal["mean", "median", "ratio of medians"]
Selections = Annotated[list[Selection], BeforeValidator(as_list), OneOrSeveral()]
"""One table of levels, or several."""


class PublishedValue(Value):
    """A value of a publication, which the figure marks beside the measured ones."""

    at: Selection = Field(default_factory=dict)
    """The cells that it belongs to: levels of factors of the figure."""
    value: str = Field(min_length=1, max_length=60)
    """The value with its unit, such as ``15 s``; of a ratio ``0.8``."""
    share: str | None = Field(default=None, max_length=20)
    """In a CDF: the share of values that lie below ``value``, such as ``90 %``."""


class StatedFigure(Value):
    """A figure of the report: its kind, its values and its axes."""

    id: str = Field(pattern=spellings.FIGURE)
    """Name of the figure and of its files: lower-case letters, digits and hyphens."""
    title: str = Field(min_length=1, max_length=200)
    """What the figure shows, in one sentence."""
    source: str = Field(default="", max_length=200)
    """The figure in the publication that it redraws."""
    kind: FigureKind
    """``bars``: groups of bars with error bars. ``lines``: values over a numeric factor. ``grid``:
    a heat map of ratios over two factors. ``cdf``: cumulative distributions. ``spans``: a bar from
    the start to the end of each file, resource or client of a trial."""
    metric: Literal[tuple(METRICS)]  # type: ignore[valid-type]
    """The metric of the values. Of spans: that of the starts. A CDF takes every file, resource or
    client of a trial as a value, if the metric has one for each."""
    length: Literal[tuple(METRICS)] | None = None  # type: ignore[valid-type]
    """Of spans: the metric of their lengths."""
    where: Selections = Field(default_factory=list)
    """The treatments that are drawn; of several tables, those that any of them selects. Default:
    all."""
    x: FactorName | None = None
    """The factor on the horizontal axis: the groups of bars, the columns of a grid."""
    y: FactorName | None = None
    """The factor of a grid's rows."""
    series: FactorNames = Field(default_factory=list)
    """Factors whose levels have a colour each: the bars of a group, the lines of a panel."""
    panels: FactorNames = Field(default_factory=list)
    """Factors whose levels have a panel each."""
    absent: list[LevelText] = Field(default_factory=list, max_length=10)
    """Of bars: columns of the published figure that the experiment cannot run, such as a program
    that no distribution packages. Their places are hatched."""
    names: dict[str, str] = Field(default_factory=dict, max_length=60)
    """What the figure writes in place of a level, such as the publication's word for it."""
    over: FactorNames = Field(default_factory=list)
    """Of a CDF: each combination of the levels of these factors gives one value, the median of its
    trials. Default: each trial gives one."""
    ratio_to: Selection = Field(default_factory=dict)
    """Of bars, grids and CDFs with ``over``: draws the paired ratio to the treatment with these
    levels, and otherwise the same ones."""
    statistic: Statistic | None = None
    """``mean``, with the standard deviation as error bar: the default of bars. ``median``, with
    its interval: the default of lines. Of ratios: ``median``, that of the blocks' ratios, is the
    default; ``ratio of medians`` is what papers with one median per treatment publish."""
    points: bool = False
    """Whether lines show each trial as a point."""
    log: list[Literal["x", "y"]] = Field(default_factory=list, max_length=2)
    """Axes of lines with a logarithmic scale."""
    published: list[PublishedValue] = Field(default_factory=list, max_length=100)
    """Published values to mark."""

    @property
    def shown_statistic(self) -> Statistic:
        """The statistic over the trials of a cell."""
        is_mean = self.kind == "bars" and not self.ratio_to
        return self.statistic or ("mean" if is_mean else "median")

    @property
    def shows_items(self) -> bool:
        """Whether every file, resource or client of a trial is one value."""
        return METRICS[self.metric].per_item

    @property
    def unit(self) -> str:
        """The unit of its values; ``1`` for ratios."""
        return "1" if self.ratio_to else METRICS[self.metric].unit


_READERS: Mapping[str, Callable[[str], float]] = {
    "s": units.parse_duration,
    "bit/s": units.parse_rate,
    "byte": units.parse_size,
    "byte/s": lambda text: float(units.parse_size(text.removesuffix("/s"))),
}
_EXAMPLES = {"s": "15 s", "bit/s": "8 Mbit/s", "byte": "1 MB", "byte/s": "62 kB/s"}


def parse_published(text: str, unit: str) -> float:
    """Return a published value in the metric's unit.

    Raises:
        RejectedValueError: It is no number with such a unit.
    """
    if unit in _READERS:
        if unit == "byte/s" and not text.endswith("/s"):
            remedy = f"write it like {_EXAMPLES[unit]!r}"
            raise RejectedValueError(f"{text!r} has no rate's unit", remedy)
        return float(_READERS[unit](text))
    if text.endswith("%"):
        return units.parse_share(text)
    number = text.removesuffix(unit).strip() if unit != "1" else text
    match = units.QUANTITY.fullmatch(number)
    if match is None or match["unit"] or match["number"].count(".") > 1:
        example = "0.8" if unit == "1" else f"2 {unit}"
        raise RejectedValueError(f"{text!r} is not a number", f"write it like {example!r}")
    return float(match["number"])


Factors = Mapping[str, Sequence[str]]
Levels = tuple[str, ...]
"""Levels of some factors, in the order in which the figure names them."""
FigurePlace = tuple[Levels, Levels, str, str, Levels]
"""Panel, series, x, y and the levels over which a CDF is taken."""


@dataclass(frozen=True)
class FigureCell:
    """One treatment in a figure."""

    treatment: Mapping[str, str]
    base: Mapping[str, str] | None
    """The treatment that a ratio is taken to; None where the figure draws values."""
    panel: Levels
    series: Levels
    x: str
    """Level on the horizontal axis; empty in a CDF and of spans."""
    y: str
    """Level of a grid's row; empty in other figures."""
    over: Levels
    """Levels of the factors over which a CDF is taken."""

    @property
    def place(self) -> FigurePlace:
        """Where it stands; no other cell of the figure stands there."""
        return self.panel, self.series, self.x, self.y, self.over


@dataclass(frozen=True)
class PlacedFigure:
    """A figure with its cells."""

    stated: StatedFigure
    factors: Factors
    cells: tuple[FigureCell, ...]

    @cached_property
    def panels(self) -> tuple[Levels, ...]:
        """The panels' levels, in the order of the factors' levels."""
        return self._ordered(self.stated.panels, (cell.panel for cell in self.cells))

    @cached_property
    def series(self) -> tuple[Levels, ...]:
        """The series' levels, in the order of the factors' levels."""
        return self._ordered(self.stated.series, (cell.series for cell in self.cells))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The levels of the factor on the horizontal axis."""
        return self._of_axis(self.stated.x, (cell.x for cell in self.cells))

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The levels of the factor of a grid's rows."""
        return self._of_axis(self.stated.y, (cell.y for cell in self.cells))

    def _of_axis(self, name: str | None, levels: Iterable[str]) -> tuple[str, ...]:
        if name is None:
            return ()
        return tuple(level for (level,) in self._ordered([name], ((one,) for one in levels)))

    def _ordered(self, names: Sequence[str], keys: Iterable[Levels]) -> tuple[Levels, ...]:
        ranks = [{level: at for at, level in enumerate(self.factors[name])} for name in names]
        return tuple(
            sorted(
                set(keys),
                key=lambda levels: [rank[level] for rank, level in zip(ranks, levels, strict=True)],
            )
        )


def place(
    stated: StatedFigure, factors: Factors, treatments: Sequence[Mapping[str, str]]
) -> PlacedFigure:
    """Place the treatments that a figure selects. Every name in the figure is known.

    Raises:
        TableProblemsError: There is no such treatment, none has a base, or two have one place.
    """
    chosen = [
        treatment for treatment in treatments if not stated.where or _is_chosen(stated, treatment)
    ]
    if not chosen:
        reason, remedy = "no treatment has these levels", "name other levels"
        raise TableProblemsError([TableProblem(("where",), reason, remedy)])
    cells = tuple(_cells(stated, chosen, treatments))
    if not cells:
        reason = "no treatment of the figure has a base with these levels"
        remedy = "name other levels, or add the base to a group"
        raise TableProblemsError([TableProblem(("ratio_to",), reason, remedy)])
    _demand_own_places(stated, cells)
    return PlacedFigure(stated, factors, cells)


def _is_chosen(stated: StatedFigure, treatment: Mapping[str, str]) -> bool:
    return any(selects(one, treatment) for one in stated.where)


def _cells(
    stated: StatedFigure,
    chosen: Iterable[Mapping[str, str]],
    treatments: Sequence[Mapping[str, str]],
) -> Iterable[FigureCell]:
    levels = {name: one[0] for name, one in stated.ratio_to.items()}
    known = {treatment_key(one) for one in treatments} if levels else set()
    for treatment in chosen:
        base = {**treatment, **levels} if levels else None
        if base is not None and (base == treatment or treatment_key(base) not in known):
            continue
        yield FigureCell(
            treatment=treatment,
            base=base,
            panel=tuple(treatment[name] for name in stated.panels),
            series=tuple(treatment[name] for name in stated.series),
            x=treatment[stated.x] if stated.x else "",
            y=treatment[stated.y] if stated.y else "",
            over=tuple(treatment[name] for name in stated.over),
        )


def _demand_own_places(stated: StatedFigure, cells: Iterable[FigureCell]) -> None:
    first: dict[FigurePlace, Mapping[str, str]] = {}
    differing: dict[str, None] = {}
    for cell in cells:
        other = first.setdefault(cell.place, cell.treatment)
        names = (name for name in other if other[name] != cell.treatment[name])
        differing |= dict.fromkeys(names)
    if differing:
        reason = f"several treatments have the same place: they differ in {first_names(differing)}"
        roles = {"grid": "x, y or panels", "cdf": "series, panels or over"}
        roles |= {"spans": "series or panels"}
        remedy = f"choose one level in where, or name the factor in {_roles(stated, roles)}"
        raise TableProblemsError([TableProblem(("where",), reason, remedy)])


def _roles(stated: StatedFigure, of_kind: Mapping[str, str]) -> str:
    return of_kind.get(stated.kind, "x, series or panels")
