"""Whether two campaigns of one experiment, in real and in virtual time, give the same numbers.

    python -m bench.clocks.campaigns REAL VIRTUAL --by client,path --only size="10 MB"

A pair is a treatment and a block with a request time by both clocks; a group has the pairs with the
same levels of the named factors. Each row has the pseudo-median of the pairs' ratios (virtual over
real) with its 90 % interval, and a verdict, as of ``httpbed compare --clock both``. ``outcomes``
counts the pairs that completed by one clock only.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from httpbed.addons.compare import both_clocks
from httpbed.addons.compare.both_clocks import TreatmentByClocks
from httpbed.base.clock import CLOCKS
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.results import log_ratio, sample
from httpbed.results.sample import Sample
from httpbed.store import query

Groups = Mapping[TreatmentKey, list[TreatmentByClocks]]


def main() -> None:
    """Print a row for each group."""
    words = _arguments()
    by: list[str] = words.by.split(",")
    found = both_clocks.rows(_run(words.real), _run(words.virtual))
    groups = grouped(found, by, dict(words.only))
    rows = [(*by, "n", "ratio", "90 %", "verdict", "outcomes")]
    rows += [(*levels, *cells(group)) for levels, group in sorted(groups.items())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(padded).rstrip())


def _run(campaign: Path) -> Mapping[TreatmentKey, Sample]:
    """Return the samples of the treatments that a campaign, perhaps a part of a design, has run."""
    found = sample.samples(query.read(campaign), both_clocks.METRIC)
    return {key: one for key, one in found.items() if one.tally.recorded}


def grouped(
    treatments: Iterable[TreatmentByClocks], by: Iterable[str], only: Mapping[str, str]
) -> Groups:
    """Return the treatments with the levels ``only``, by the levels of ``by``."""
    factors, groups = tuple(by), defaultdict[TreatmentKey, list[TreatmentByClocks]](list)
    for one in treatments:
        if only.items() <= one.levels.items():
            groups[treatment_key(one.levels, factors)].append(one)
    return groups


def cells(group: Iterable[TreatmentByClocks]) -> tuple[str, ...]:
    """Return the cells of a group's row."""
    group = list(group)
    found = log_ratio.equivalence(np.concatenate([one.ratios for one in group]))
    counts = {clock: sum(one.only[clock] for one in group) for clock in CLOCKS}
    only = [f"{count} only {clock}" for clock, count in counts.items() if count]
    interval = f"{found.low:.3f} .. {found.high:.3f}"
    return (str(found.n), f"{found.ratio:.3f}", interval, found.verdict, ", ".join(only))


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
