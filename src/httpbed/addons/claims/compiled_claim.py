"""Compiles a stated claim into cells of quantities and a region, or into its mistakes.

A **cell** is what one statistic over the blocks estimates. Statistics over cells reduce to two: the
number of cells whose value lies in a region, and the largest. A rank is a number of cells: those
that are smaller than one of them, plus one. A spread is the largest of all ratios of two cells. A
claim without a statistic over cells demands that every cell lies in the region.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from httpbed.addons.claims import claim_key_mistakes
from httpbed.addons.claims.cell_builder import (
    CellBuilder,
    ClaimCell,
    ClaimDesign,
    ContrastValue,
    MetricValue,
    leaves,
)
from httpbed.addons.claims.region import PLAIN, Region, parse_region
from httpbed.addons.claims.stated_claim import StatedClaim
from httpbed.base.errors import RejectedValueError
from httpbed.experiment.factorial import TreatmentKey
from httpbed.experiment.metric import METRICS
from httpbed.experiment.stated_tables import TableProblem, TableProblemsError, require_none

Aggregate = Literal["every", "share", "count", "largest"]
SMALLEST_EFFECT = 0.02
"""Smaller changes of a ratio or gain are no difference worth the name."""
MAX_COMPARED = 100
"""Cells that a spread compares with each other."""
SMALLER = {
    "difference": Region(high=0.0, high_open=True),
    "ratio": Region(high=1.0, high_open=True),
}
"""Contrasts of a cell with one that ranks above it."""


@dataclass(frozen=True)
class CompiledClaim:
    """A claim, or one of its arms, ready to be judged."""

    stated: StatedClaim
    aggregate: Aggregate
    cells: tuple[ClaimCell, ...]
    subtracted: tuple[ClaimCell, ...]
    """Cells whose statistic is subtracted; empty without ``minus``."""
    region: Region
    """The values of the estimate that support the claim."""
    cell_region: Region
    """The values of a cell that count, where cells are counted; else those of the estimate."""
    unit: str
    """The estimate's unit: a metric's, or ``1``."""
    no_difference: Region | None = None
    """A cell's values that are no difference worth the name, if the claim is about a direction."""
    offset: int = 0
    """Is added to a count: 1 for ranks."""
    unknown: tuple[str, ...] = ()
    """Names of the experiments that it needs and whose designs are unknown."""

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics that it needs; the empty name stands for outcomes."""
        return frozenset(leaf.metric for leaf in self._leaves())

    def treatments(self) -> dict[str, frozenset[TreatmentKey]]:
        """The treatments that it uses, by experiment; the empty name is its own."""
        used: dict[str, set[TreatmentKey]] = {"": set()}
        for leaf in self._leaves():
            used.setdefault(leaf.experiment, set()).update(leaf.treatments)
        return {name: frozenset(keys) for name, keys in used.items()}

    def _leaves(self) -> Iterator[MetricValue]:
        for cell in (*self.cells, *self.subtracted):
            yield from leaves(cell.quantity)


def compile_claim(stated: StatedClaim, design: ClaimDesign) -> CompiledClaim:
    """Compile a claim that has an estimate of its own.

    Raises:
        TableProblemsError: With what is wrong with the claim.
    """
    keys = list(claim_key_mistakes.of_keys(stated))
    regions = [] if keys else _unreadable_regions(stated)  # whose units follow from the keys
    require_none([*keys, *claim_key_mistakes.of_names(stated, design), *regions])
    cells = _reduced(stated, CellBuilder(stated, design).cells(stated.where))
    region, cell_region = _regions(stated, len(cells))
    return CompiledClaim(
        stated=stated,
        aggregate=_aggregate(stated),
        cells=cells,
        subtracted=_subtracted(stated, design),
        region=region,
        cell_region=cell_region,
        unit=_unit(stated),
        no_difference=_no_difference(stated, cell_region),
        offset=int(bool(stated.rank_of)),
        unknown=tuple(dict.fromkeys(claim_key_mistakes.unknown_experiments(stated, design))),
    )


def _subtracted(stated: StatedClaim, design: ClaimDesign) -> tuple[ClaimCell, ...]:
    if stated.minus:
        where = {**stated.where, **stated.minus}
        return _reduced(stated, CellBuilder(stated, design).cells(where))
    if stated.minus_other is None:
        return ()
    other = stated.of_other(stated.minus_other)
    builder = CellBuilder.of_other(stated, stated.minus_other, design, ("minus_other",))
    return _reduced(other, builder.cells(other.where)) if builder else ()


def _aggregate(stated: StatedClaim) -> Aggregate:
    if stated.share_in:
        return "share"
    if stated.count_in or stated.rank_of:
        return "count"
    return "largest" if stated.take else "every"


def _counts(stated: StatedClaim) -> bool:
    return bool(stated.share_in or stated.count_in or stated.rank_of)


def _unit(stated: StatedClaim) -> str:
    return PLAIN if _counts(stated) or stated.take == "spread" else cell_unit(stated)


def _reduced(stated: StatedClaim, cells: Sequence[ClaimCell]) -> tuple[ClaimCell, ...]:
    """Replace cells by pairs of cells where the statistic compares them."""
    if stated.take == "spread" and len(cells) > MAX_COMPARED:
        reason = f"compares {len(cells)} cells with each other; the limit is {MAX_COMPARED}"
        raise TableProblemsError([TableProblem(("take",), reason, "choose fewer levels")])
    if stated.take == "spread":
        pairs = itertools.permutations(cells, 2)
        return _at_least_one("take", tuple(_pair(one, other, "ratio") for one, other in pairs))
    if stated.rank_of:
        wanted = {name: level for name, (level, *_) in stated.rank_of.items()}
        matching = [cell for cell in cells if wanted.items() <= cell.levels.items()]
        if len(matching) != 1:
            reason = f"names {len(matching)} cells of {len(cells)}"
            remedy = "name one level of each factor in over"
            raise TableProblemsError([TableProblem(("rank_of",), reason, remedy)])
        rivals = (cell for cell in cells if cell is not matching[0])
        return _at_least_one(
            "rank_of", tuple(_pair(rival, matching[0], _rank_contrast(stated)) for rival in rivals)
        )
    return tuple(cells)


def _rank_contrast(stated: StatedClaim) -> Literal["ratio", "difference"]:
    """Return the contrast of two ranked cells: variations have only ratios."""
    return "ratio" if stated.estimate == "variation" else "difference"


def _at_least_one(key: str, pairs: tuple[ClaimCell, ...]) -> tuple[ClaimCell, ...]:
    if not pairs:
        reason, remedy = "compares cells, and there is only one", "name a factor in over"
        raise TableProblemsError([TableProblem((key,), reason, remedy)])
    return pairs


def _pair(one: ClaimCell, other: ClaimCell, by: Literal["ratio", "difference"]) -> ClaimCell:
    return ClaimCell(one.levels, ContrastValue(by, one.quantity, other.quantity))


def _unreadable_regions(stated: StatedClaim) -> Iterator[TableProblem]:
    units = {"expect": _unit(stated), "share_in": cell_unit(stated), "count_in": cell_unit(stated)}
    for key, unit in units.items():
        if text := getattr(stated, key):
            yield from _parsed(key, text, unit, ANY)[1]


def _regions(stated: StatedClaim, cells: int) -> tuple[Region, Region]:
    within = cell_range(stated)
    whole = estimate_range(stated, within, cells)
    region, mistakes = _parsed("expect", str(stated.expect), _unit(stated), whole)
    if region.low == region.high and not _counts(stated):
        reason = f"the two ends of {stated.expect!r} meet, and no interval lies in one value"
        mistakes = [*mistakes, TableProblem(("expect",), reason, "write a range around it")]
    cell_region = SMALLER[_rank_contrast(stated)] if stated.rank_of else region
    for key in ("share_in", "count_in"):
        if text := getattr(stated, key):
            cell_region, more = _parsed(key, text, cell_unit(stated), within)
            mistakes = [*mistakes, *more]
    require_none(mistakes)
    return region, cell_region


def _no_difference(stated: StatedClaim, expected: Region) -> Region | None:
    """Return the values that are no difference worth the name: within 2 % of no change."""
    if _aggregate(stated) != "every" or not is_change(stated):
        return None
    none = {"ratio": 1.0, "gain": 0.0}.get(stated.compare[-1].by)
    if none is None or {expected.low, expected.high} & {none} == set():
        return None
    return Region(none - SMALLEST_EFFECT, none + SMALLEST_EFFECT)


def _parsed(key: str, text: str, unit: str, values: Region) -> tuple[Region, list[TableProblem]]:
    try:
        region = parse_region(text, unit)
    except RejectedValueError as error:
        return Region(), [TableProblem((key,), error.reason, error.remedy)]
    return region, list(_range_problems(key, region, values, text))


def with_arms(claims: Sequence[StatedClaim], design: ClaimDesign) -> Iterator[CompiledClaim]:
    """Yield valid claims and their arms; claims that consist of others have no estimate."""
    for stated in claims:
        if not stated.parts:
            for claim in (stated, *map(stated.of_arm, stated.arm)):
                yield compile_claim(claim, design)


ANY = Region()
POSITIVE = Region(low=0.0)
SHARES = Region(0.0, 1.0)


def cell_unit(stated: StatedClaim) -> str:
    """Return the unit of a cell's value."""
    if stated.estimate in {"variation", "success", "violation"} or stated.metric is None:
        return PLAIN
    if stated.trend or stated.knee or stated.flip:
        return PLAIN
    relative = any(contrast.by != "difference" for contrast in stated.compare)
    return PLAIN if relative else METRICS[stated.metric].unit


def is_change(stated: StatedClaim) -> bool:
    """Return whether a cell's value is a change between treatments."""
    shape = stated.trend or stated.knee or stated.flip
    return bool(stated.compare) and not shape and stated.estimate in {"median", "mean"}


def cell_range(stated: StatedClaim) -> Region:
    """Return the values that a cell can have."""
    if stated.trend:
        return Region(-1.0, 1.0)
    if stated.knee:
        return ANY
    if stated.flip or stated.estimate == "violation":
        return SHARES
    possible = SHARES if stated.estimate == "success" else POSITIVE
    for contrast in stated.compare:
        if contrast.by == "difference" or possible.low < 0:
            possible = ANY
        elif contrast.by == "ratio":
            possible = POSITIVE
        else:
            lower = stated.metric is None or METRICS[stated.metric].lower_is_better
            possible = Region(high=1.0) if lower else Region(low=-1.0)
    return possible


def estimate_range(stated: StatedClaim, cell: Region, cells: int) -> Region:
    """Return the values that the whole estimate can have."""
    if stated.share_in:
        possible = SHARES
    elif stated.count_in:
        possible = Region(0.0, float(cells))
    elif stated.rank_of:
        possible = Region(1.0, float(cells + 1))  # the cells are its rivals
    elif stated.take == "spread":
        possible = Region(low=1.0)
    else:
        possible = cell
    if not (stated.minus or stated.minus_other):
        return possible
    return Region(possible.low - possible.high, possible.high - possible.low)


def _range_problems(key: str, region: Region, values: Region, text: str) -> Iterator[TableProblem]:
    """Find a region that no value can meet, or that every value meets."""
    if not region.meets(values.low, values.high):
        reason = f"no estimate can lie in {text!r}: it is always {_described(values)}"
        yield TableProblem((key,), reason, "correct the region or the estimate")
    elif region.contains_all(values.low, values.high):
        reason = f"every estimate lies in {text!r}, so that no result could contradict it"
        yield TableProblem((key,), reason, "narrow the region")


def _described(region: Region) -> str:
    if math.isinf(region.high):
        return f"at least {region.low:g}"
    if math.isinf(region.low):
        return f"at most {region.high:g}"
    return f"between {region.low:g} and {region.high:g}"
