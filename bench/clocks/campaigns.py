"""Whether two campaigns of one experiment, in real and in virtual time, give the same numbers.

    python -m bench.clocks.campaigns REAL VIRTUAL --by client,path --only size="10 MB"

A pair is a treatment and a block with a request time by both clocks; a group has the pairs with the
same levels of the named factors. Each row has the pseudo-median of the pairs' ratios (virtual over
real) with its 90 % interval, and the verdict of two one-sided tests within 2 %
(:mod:`httpbed.results.log_ratio`). ``outcomes`` counts the pairs that completed by one clock
only.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.results import log_ratio, sample
from httpbed.results.sample import Sample
from httpbed.store import query

METRIC = "request_time"


@dataclass
class Group:
    """The pairs of some treatments."""

    ratios: list[float] = field(default_factory=list)
    """Virtual over real."""
    only_real: int = 0
    only_virtual: int = 0

    def add(self, real: Sample, virtual: Sample) -> None:
        """Add the pairs of one treatment."""
        both = real.observed.keys() & virtual.observed.keys()
        self.ratios += [virtual.observed[block] / real.observed[block] for block in sorted(both)]
        self.only_real += len(real.observed.keys() - virtual.observed.keys())
        self.only_virtual += len(virtual.observed.keys() - real.observed.keys())

    def cells(self) -> tuple[str, ...]:
        """Return the group's cells of the table."""
        found = log_ratio.equivalence(np.array(self.ratios))
        interval = f"{found.low:.3f} .. {found.high:.3f}"
        only = [f"{n} {clock}" for clock, n in self._only() if n]
        return (str(found.n), f"{found.ratio:.3f}", interval, found.verdict, ", ".join(only))

    def _only(self) -> Iterable[tuple[str, int]]:
        return (("only real", self.only_real), ("only virtual", self.only_virtual))


def main() -> None:
    """Print a row for each group."""
    words = _arguments()
    by: list[str] = words.by.split(",")
    real, virtual = (
        sample.samples(query.read(place), METRIC) for place in (words.real, words.virtual)
    )
    groups = grouped(real, virtual, by, dict(words.only))
    rows = [(*by, "n", "ratio", "90 %", "verdict", "outcomes")]
    rows += [(*levels, *group.cells()) for levels, group in sorted(groups.items())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def grouped(
    real: Mapping[TreatmentKey, Sample],
    virtual: Mapping[TreatmentKey, Sample],
    by: Iterable[str],
    only: Mapping[str, str],
) -> dict[TreatmentKey, Group]:
    """Return the pairs of treatments with the levels ``only``, by the levels of ``by``."""
    factors, groups = tuple(by), defaultdict[TreatmentKey, Group](Group)
    for treatment in real.keys() & virtual.keys():
        levels = real[treatment].levels
        ran = real[treatment].tally.recorded and virtual[treatment].tally.recorded
        if ran and all(levels[factor] == level for factor, level in only.items()):
            groups[treatment_key(levels, factors)].add(real[treatment], virtual[treatment])
    return groups


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.clocks.campaigns", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("real", type=Path, metavar="REAL", help="campaign in real time")
    parser.add_argument("virtual", type=Path, metavar="VIRTUAL", help="campaign in virtual time")
    parser.add_argument("--by", default="client,path", metavar="FACTOR,...")
    parser.add_argument("--only", action="append", default=[], type=_level, metavar="FACTOR=LEVEL")
    return parser.parse_args()


def _level(text: str) -> tuple[str, str]:
    factor, _, level = text.partition("=")
    return factor, level


if __name__ == "__main__":
    main()
