"""``--clock both``: the same comparison by both clocks, side by side.

Real time shows what network and programs take together, virtual time what the network and the
protocols take. If a treatment takes the same by both, its real time is the network's, and what
virtual time shows holds for this machine, too. A pair is a treatment and a block, whose trials have
the same seed. The verdict is that of two one-sided tests within 2 % (:mod:`results.log_ratio`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from rich.text import Text

from httpbed.base.clock import CLOCKS, Clock
from httpbed.base.errors import visible
from httpbed.base.units import format_share
from httpbed.cli import run
from httpbed.experiment.factorial import TreatmentKey
from httpbed.report import publish, terminal
from httpbed.report.phrasing import DASH, duration, whole_treatment
from httpbed.report.terminal import Console
from httpbed.results import log_ratio, sample
from httpbed.results.findings import find
from httpbed.results.log_ratio import EQUIVALENCE_MARGIN, Equivalence
from httpbed.results.sample import Floats, Sample
from httpbed.store import query

METRIC = "request_time"


@dataclass(frozen=True)
class TreatmentByClocks:
    """A treatment by both clocks."""

    levels: Mapping[str, str]
    real_s: float | None
    """Median of the request time; None if no trial has one."""
    virtual_s: float | None
    only: Mapping[Clock, int]
    """Number of blocks with a request time by one clock only."""
    ratios: Floats
    """Virtual over real, of each pair."""

    @cached_property
    def found(self) -> Equivalence:
        """The pseudo-median of the ratios, and the verdict on them."""
        return log_ratio.equivalence(self.ratios)


def saved(directory: Path) -> int:
    """Save the report of one campaign, and return its exit code."""
    results = query.read(directory)
    findings = find(results)
    publish.save(publish.document(results, findings), directory)
    return run.exit_code(findings.tally)


def compared(places: Mapping[Clock, Path]) -> list[TreatmentByClocks]:
    """Compare the campaigns in two folders."""
    return rows(*(sample.samples(query.read(places[clock]), METRIC) for clock in CLOCKS))


def rows(
    real: Mapping[TreatmentKey, Sample], virtual: Mapping[TreatmentKey, Sample]
) -> list[TreatmentByClocks]:
    """Return each treatment that both campaigns have, in the order of the first."""
    return [_row(real[key], virtual[key]) for key in real if key in virtual]


def _row(real: Sample, virtual: Sample) -> TreatmentByClocks:
    times, others = real.observed, virtual.observed
    pairs = sorted(times.keys() & others.keys())
    ratios = np.array([others[block] / times[block] for block in pairs])
    only: dict[Clock, int] = {
        "real": len(times.keys() - others.keys()),
        "virtual": len(others.keys() - times.keys()),
    }
    return TreatmentByClocks(real.levels, _median(times), _median(others), only, ratios)


def _median(times: Mapping[int, float]) -> float | None:
    return float(np.median([*times.values()])) if times else None


def show(treatments: Sequence[TreatmentByClocks], out: Console) -> None:
    """Print a line for each treatment, and one for all."""
    headers = ("treatment", "pairs", "real", "virtual", "virtual / real", "90 %", "verdict")
    table = terminal.grid(headers)
    for clocks in treatments:
        has_ratio = clocks.found.n > 0
        table.add_row(
            Text(visible(whole_treatment(clocks.levels))),
            str(clocks.found.n),
            *(
                DASH if time is None else duration(time)
                for time in (clocks.real_s, clocks.virtual_s)
            ),
            f"{clocks.found.ratio:.3f}" if has_ratio else DASH,
            _interval(clocks.found) if has_ratio else DASH,
            clocks.found.verdict,
        )
    out.print(table)


def _interval(found: Equivalence) -> str:
    return f"{found.low:.3f} .. {found.high:.3f}" if found.low > 0 else DASH


def sentences(treatments: Sequence[TreatmentByClocks]) -> Iterator[str]:
    """Say how many treatments are the same by both clocks, and what the others mean."""
    verdicts = [clocks.found.verdict for clocks in treatments]
    margin = format_share(EQUIVALENCE_MARGIN, 0)
    yield (
        f"{verdicts.count('same')} of {len(verdicts)} treatments take the same by both clocks"
        f" within {margin}, {verdicts.count('different')} do not, {verdicts.count('open')} are open"
    )
    if "different" in verdicts:
        yield (
            "where they differ, computing takes part of the real time, or a receiver without a CPU"
            " lost packets: virtual time shows neither (docs/concepts/virtual-time.md)"
        )
    if "open" in verdicts:
        yield "more replicates settle an open one"
    for clock in CLOCKS:
        if count := sum(clocks.only[clock] for clocks in treatments):
            yield f"{count} trial{'s' * (count > 1)} ended with a time in {clock} time only"


def values(
    treatments: Sequence[TreatmentByClocks], places: Mapping[Clock, Path]
) -> Mapping[str, object]:
    """Return the comparison for :func:`json.dumps`."""
    return {
        "schema": 1,
        "metric": METRIC,
        "margin": EQUIVALENCE_MARGIN,
        "campaigns": {clock: str(place) for clock, place in places.items()},
        "treatments": [_values(clocks) for clocks in treatments],
    }


def _values(clocks: TreatmentByClocks) -> Mapping[str, object]:
    numbers = {
        name: value if not isinstance(value, float) or math.isfinite(value) else None
        for name, value in asdict(clocks.found).items()
    }
    return {
        "levels": dict(clocks.levels),
        "real": clocks.real_s,
        "virtual": clocks.virtual_s,
        "only": dict(clocks.only),
        **numbers,
    }
