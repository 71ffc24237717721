"""The tables of both clocks, read from the campaigns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.clocks import costs, grid
from bench.clocks.costs import Cost
from bench.clocks.grid import Cell

from httpbed.base.clock import Clock
from httpbed.results import log_ratio, sample
from httpbed.results.log_ratio import Equivalence
from httpbed.results.sample import Floats, Sample
from httpbed.store import query

REQUEST, HANDSHAKE, LOST, OVERHEAD = METRICS = (
    "request_time",
    "handshake_time",
    "packet_loss",
    "wire_overhead",
)
Samples = Mapping[tuple[Clock, str, Cell], Sample]
"""By clock, metric and cell."""


@dataclass(frozen=True)
class Row:
    """A cell by both clocks."""

    cell: Cell
    blocks: Sequence[int]
    """Those with a request time by both clocks."""
    real: Floats
    virtual: Floats
    """Request times of these blocks, in seconds."""
    found: Equivalence
    without: Mapping[Clock, int]
    """Number of trials that ended without a request time, by each clock."""


def directory(folder: Path, layout: str, clock: Clock) -> Path:
    """Return the campaign of a layout by a clock."""
    return folder / f"{layout}-{clock}"


def show(folder: Path, cells: Sequence[Cell]) -> None:
    """Print the cells that have been run by both clocks."""
    found = _samples(folder, {grid.layout_of(cell[1]) for cell in cells})
    spent = costs.read(folder)
    rows = [row for cell in cells if (row := _row(cell, found)) is not None]
    print(
        f"{'':32}{'n':>3}{'real':>9}{'virtual':>9}{'ratio':>8}{'90 %':>15}  {'verdict':9}"
        f"{'CPU s':>6}{'':>6}{'wall s':>8}{'':>6}{'load':>6}"
    )
    print(f"{'':85}{'real':>6}{'virt.':>6}{'real':>8}{'virt.':>6}{'':>6}")
    for row in rows:
        print(_line(row, [cost for cost in spent if cost.cell == row.cell]))
    _show_differences([row for row in rows if _differs(row)], found)
    verdicts = [row.found.verdict for row in rows]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in ("same", "different", "open"))
    print(f"\n{len(rows)} of {len(cells)} cells: {counts}")


def _samples(folder: Path, layouts: Iterable[str]) -> Samples:
    found: dict[tuple[Clock, str, Cell], Sample] = {}
    for layout, clock in itertools.product(layouts, grid.CLOCKS):
        if not (place := directory(folder, layout, clock)).exists():
            continue
        results = query.read(place)
        for metric in METRICS:
            for one in sample.samples(results, metric).values():
                found[clock, metric, grid.cell_of(one.levels)] = one
    return found


def _row(cell: Cell, found: Samples) -> Row | None:
    """Return a cell's row; None if no block has run by both clocks."""
    real, virtual = found.get(("real", REQUEST, cell)), found.get(("virtual", REQUEST, cell))
    if real is None or virtual is None:
        return None
    blocks = sorted(real.observed.keys() & virtual.observed.keys())
    if not blocks:
        return None
    values = [np.array([one.observed[block] for block in blocks]) for one in (real, virtual)]
    return Row(
        cell=cell,
        blocks=blocks,
        real=values[0],
        virtual=values[1],
        found=log_ratio.equivalence(values[1] / values[0]),
        without={"real": _without(real), "virtual": _without(virtual)},
    )


def _without(one: Sample) -> int:
    return one.tally.outcomes.total() - len(one.observed)


def _differs(row: Row) -> bool:
    return abs(math.log(row.found.ratio)) > math.log1p(log_ratio.EQUIVALENCE_MARGIN)


def _line(row: Row, spent: Sequence[Cost]) -> str:
    one = row.found
    interval = f"{one.low:.3f} .. {one.high:.3f}" if one.high < math.inf else "-"
    cpu, wall = ({clock: _each(spent, clock, key) for clock in grid.CLOCKS} for key in _SPENT)
    loads = [cost.load for cost in spent]
    lost = ", ".join(f"{n} {clock} without a time" for clock, n in row.without.items() if n)
    return (
        f"{grid.title(row.cell):32}{one.n:>3}{np.median(row.real):>9.3f}"
        f"{np.median(row.virtual):>9.3f}{one.ratio:>7.3f}x{interval:>15}  {one.verdict:9}"
        f"{cpu['real']:>6.1f}{cpu['virtual']:>6.1f}{wall['real']:>8.1f}{wall['virtual']:>6.1f}"
        f"{max(loads, default=math.nan):>6.1f}{'  ' if lost else ''}{lost}"
    )


_SPENT = ("cpu_s", "wall_s")


def _each(spent: Sequence[Cost], clock: Clock, key: str) -> float:
    """Return the CPU or wall seconds of a trial by a clock; nan where no run was noted whole."""
    own = [cost for cost in spent if cost.clock == clock]
    trials = sum(cost.trials for cost in own)
    return sum(getattr(cost, key) for cost in own) / trials if trials else math.nan


def _show_differences(rows: Sequence[Row], found: Samples) -> None:
    """Print where in the transfer the clocks differ."""
    if not rows:
        return
    print("\nmedians of pairs: real less virtual; the same loss of packets; overhead on the wire")
    print(
        f"{'':32}{'request':>11}{'handshake':>11}{'after it':>11}{'same loss':>11}"
        f"{'real':>7}{'virtual':>9}"
    )
    for row in rows:
        whole = row.real - row.virtual
        handshake = np.subtract(*_pairs(row, HANDSHAKE, found))
        same = np.isclose(*_pairs(row, LOST, found))
        overhead = [np.median(pair) for pair in _pairs(row, OVERHEAD, found)]
        print(
            f"{grid.title(row.cell):32}{_ms(whole):>11}{_ms(handshake):>11}"
            f"{_ms(whole - handshake):>11}{f'{same.sum()} of {same.size}':>11}"
            f"{overhead[0]:>7.1%}{overhead[1]:>9.1%}"
        )


def _pairs(row: Row, metric: str, found: Samples) -> tuple[Floats, Floats]:
    """Return a metric of each pair in real and in virtual time; nan where it was not observed."""
    real, virtual = (
        np.array(
            [found[clock, metric, row.cell].observed.get(block, math.nan) for block in row.blocks]
        )
        for clock in grid.CLOCKS
    )
    return real, virtual


def _ms(seconds: Floats) -> str:
    return f"{1e3 * np.median(seconds):z.1f} ms"
