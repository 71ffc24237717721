"""Figures as an experiment file declares them: ``[[figure]]`` and ``[[figure.published]]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from httpbed.base import spellings, units
from httpbed.base.errors import RejectedValueError
from httpbed.base.value import Value
from httpbed.experiment.factorial import (
    FactorName,
    FactorNames,
    LevelText,
    OneOrSeveral,
    Selection,
    as_list,
)
from httpbed.experiment.metric import METRICS

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
