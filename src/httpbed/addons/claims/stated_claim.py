"""Claims as an experiment file states them: ``[[claim]]`` and ``[[claim.arm]]``.

A claim is an estimate and a region of values that support it. An estimate has four stages, each of
which may be left out: the values of selected treatments in each block; contrasts between treatments
within the block; one statistic over the blocks, which gives a **cell**; one statistic over cells.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from httpbed.base import spellings
from httpbed.base.value import Value
from httpbed.experiment.factorial import FactorName, OneOrSeveral, Selection, as_list
from httpbed.experiment.metric import METRICS, ItemStatistic

ContrastKind = Literal["ratio", "gain", "difference"]
BlockStatistic = Literal["median", "mean", "variation", "success", "violation", "correlation"]
ArmKind = Literal["control", "reading", "negative control"]
CellStatistic = Literal["largest", "spread"]
ClaimId = Annotated[str, Field(pattern=spellings.CLAIM)]
RegionText = Annotated[str, Field(min_length=1, max_length=80)]


class PairedContrast(Value):
    """A comparison of two treatments within each block."""

    of: Selection
    """Levels of the treatment that is compared; they replace those of ``where``."""
    to: Selection
    """Levels of the treatment that it is compared with; they replace those of ``where``."""
    by: ContrastKind = "ratio"
    """``ratio``: of / to. ``difference``: of - to. ``gain``: by what share ``of`` is better than
    ``to``. That is 1 - of / to if lower values of the metric are better, and of / to - 1 if not."""


Contrasts = Annotated[
    list[PairedContrast], Field(max_length=4), BeforeValidator(as_list), OneOrSeveral()
]
"""One contrast, or several: each compares the results of the one before it."""


class OtherCells(Value):
    """Cells of another experiment, or of other treatments, in place of the claim's own."""

    experiment: str | None = Field(default=None, pattern=spellings.NAME)
    """Name of the experiment. Its campaign is given to ``httpbed claims`` as a further folder.
    Default: this experiment."""
    where: Selection = Field(default_factory=dict)
    """The treatments. Within this experiment, the levels replace those of the claim's ``where``."""
    over: list[FactorName] | None = None
    """The cells. Default: the claim's."""


class RankTrend(Value):
    """Spearman's rank correlation within each block, between -1 and 1."""

    factor: FactorName | None = None
    """Correlates the values with the order of this factor's levels in the file."""
    metric: Literal[tuple(METRICS)] | None = None  # type: ignore[valid-type]
    """Correlates the values with this metric of the same trials."""
    other: OtherCells | None = None
    """Correlates the values with those of other treatments, or of another experiment."""
    across: list[FactorName] = Field(default_factory=list)
    """With ``metric`` or ``other``: the factors whose levels are the points of the correlation."""


class Knee(Value):
    """A level of a factor at which the values begin to rise less, or to fall less, with it."""

    factor: FactorName
    """A factor with numeric levels above zero."""
    at: str
    """The level. The claim needs at least one level below and one above it."""


class ControlArm(Value):
    """The same claim under other conditions, which shows whether it depends on them."""

    name: str = Field(min_length=1, max_length=80)
    """What is different, such as ``the newer server``."""
    kind: ArmKind = "control"
    """``control``: the claim should hold here, too. ``reading``: another reading of what the paper
    does not say; if its value and the claim's own lie on either side of the region, the claim is
    open. ``negative control``: without what the claim names as the cause; if the claim holds here,
    too, its attribution is refuted."""
    where: Selection = Field(default_factory=dict)
    """Levels that replace those of the claim's ``where``."""
    compare: Contrasts | None = None
    """Contrasts that replace the claim's."""


class StatedClaim(Value):
    """A claim: an estimate, and a region of values that support it."""

    id: ClaimId
    """Name of the claim, such as ``L-7``."""
    says: str = Field(min_length=1, max_length=300)
    """The claim in one sentence."""
    source: str = Field(default="", max_length=200)
    """The place in the publication."""
    published: str = Field(default="", max_length=200)
    """The published value, as text."""
    all_of: list[ClaimId] = Field(default_factory=list)
    """Claims that must all hold for this one; it then has no estimate of its own."""
    any_of: list[ClaimId] = Field(default_factory=list)
    """Claims of which at least one must hold for this one; it then has no estimate of its own."""
    metric: Literal[tuple(METRICS)] | None = None  # type: ignore[valid-type]
    """The metric of the values. Not needed with ``estimate = "success"``."""
    items: ItemStatistic | None = None
    """Of a metric of single files, resources or clients: the statistic over a trial's items."""
    where: Selection = Field(default_factory=dict)
    """The treatments. The values of several levels are averaged within each block, unless ``over``
    names their factor."""
    compare: Contrasts = Field(default_factory=list)
    """Contrasts between treatments, paired by block."""
    trend: RankTrend | None = None
    """A rank correlation within each block, of the values or their contrasts."""
    knee: Knee | None = None
    """By how much the exponent of the values in a factor falls at a level: the slope of a straight
    line through the logarithms up to the level, less the slope from the level on."""
    flip: Literal[tuple(METRICS)] | None = None  # type: ignore[valid-type]
    """The share of a trial's items, paired by name, in which ``of`` is below ``to`` by ``metric``
    and above it by this metric."""
    estimate: BlockStatistic = "median"
    """The statistic over the blocks. ``variation``: the coefficient of variation. ``success``: the
    share of trials that completed. ``violation``: by how much the distribution of ``of`` is at most
    worse than that of ``to``: the largest excess, at any value, of the share of ``to``'s trials
    that are at least as good as the value over the share of ``of``'s. ``correlation``, with
    ``trend``: Pearson's correlation of the centres over all blocks, of logarithms where values or
    ratios are positive; unlike that of single blocks, their noise hardly lowers it."""
    over: list[FactorName] = Field(default_factory=list)
    """The cells: each combination of the levels of these factors. Without a further key the claim
    is about every cell."""
    share_in: RegionText | None = None
    """Estimates the share of the cells whose values lie in this region."""
    count_in: RegionText | None = None
    """Estimates the number of the cells whose values lie in this region."""
    take: CellStatistic | None = None
    """Estimates the largest value of the cells, or their spread: largest / smallest."""
    rank_of: Selection = Field(default_factory=dict)
    """Estimates the rank of this cell among all cells; 1 is the smallest value."""
    minus: Selection = Field(default_factory=dict)
    """Subtracts the same statistic over cells with these levels in place of those of ``where``."""
    minus_other: OtherCells | None = None
    """Subtracts the same statistic over cells of another experiment."""
    expect: RegionText | None = None
    """The region of values that support the claim: ``< 1``, ``>= 80 %``, ``8 s .. 10 s``, ``= 1``.
    """
    arm: list[ControlArm] = Field(default_factory=list)
    """Control arms: the claim is judged in each of them too."""

    @property
    def parts(self) -> list[str]:
        """The claims that it consists of; empty if it has an estimate of its own."""
        return self.all_of or self.any_of

    @property
    def other_experiments(self) -> frozenset[str]:
        """The names of the other experiments that it is about."""
        others = (self.minus_other, self.trend and self.trend.other)
        return frozenset(other.experiment for other in others if other and other.experiment)

    def of_other(self, other: OtherCells) -> StatedClaim:
        """Return the claim about the other cells."""
        own = {} if other.experiment else self.where
        changes: dict[str, Any] = {"where": {**own, **other.where}, "minus": {}}
        changes |= {"minus_other": None, "arm": []}
        if other.over is not None:
            changes["over"] = other.over
        return self.model_copy(update=changes)

    def of_arm(self, arm: ControlArm) -> StatedClaim:
        """Return the claim as an arm states it."""
        changes: dict[str, Any] = {"where": {**self.where, **arm.where}, "arm": []}
        if arm.compare is not None:
            changes["compare"] = arm.compare
        return self.model_copy(update=changes)
