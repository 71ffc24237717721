"""``httpbed export --format bmf``: a campaign as the files that trackers of benchmarks read.

Each treatment becomes a benchmark with the median of the campaign's metric, in the metric's unit. A
treatment whose median is only known as a bound, because trials timed out, is left out and named.

* ``bmf``: Bencher Metric Format, with the ends of the median's interval.
* ``benchmark-action``: a list for github-action-benchmark's ``customSmallerIsBetter``, or
  ``customBiggerIsBetter`` if more is better.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from httpbed.base import disk
from httpbed.base.errors import visible
from httpbed.base.user_file import Kind
from httpbed.cli.echo import echo
from httpbed.cli.exports import Export, ExportChoice
from httpbed.experiment.metric import METRICS

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.results.estimate import Estimate
    from httpbed.store.results import Results


@dataclass(frozen=True)
class Benchmark:
    """One treatment of a campaign."""

    name: str
    metric: str
    estimate: Estimate

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the median's interval; None for a single value."""
        found = self.estimate.interval
        return (found.low.value, found.high.value) if found else None


def _bmf(benchmarks: Sequence[Benchmark]) -> dict[str, Any]:
    return {
        benchmark.name: {
            benchmark.metric.replace("_", "-"): {
                "value": benchmark.estimate.median.value,
                **dict(zip(("lower_value", "upper_value"), benchmark.interval or (), strict=False)),
            }
        }
        for benchmark in benchmarks
    }


def _benchmark_action(benchmarks: Sequence[Benchmark]) -> list[dict[str, Any]]:
    return [
        {
            "name": benchmark.name,
            "unit": METRICS[benchmark.metric].unit,
            "value": benchmark.estimate.median.value,
            **({"range": "{} to {}".format(*benchmark.interval)} if benchmark.interval else {}),
            "extra": f"{METRICS[benchmark.metric].title}, median of {benchmark.estimate.n}",
        }
        for benchmark in benchmarks
    ]


FORMATS: Mapping[str, Callable[[Sequence[Benchmark]], Any]] = {
    "bmf": _bmf,
    "benchmark-action": _benchmark_action,
}


def _write(campaigns: Sequence[Results], choice: ExportChoice) -> Iterator[str]:
    (results,) = campaigns
    benchmarks, left_out = benchmarks_of(results)
    text = json.dumps(FORMATS[choice.kind](benchmarks), indent=1, allow_nan=False)
    if choice.output:
        disk.write_output(choice.output, f"{text}\n".encode())
    else:
        echo(text)
    for name in left_out:
        yield visible(f"left out: {name}, whose median is not known")


def benchmarks_of(results: Results) -> tuple[list[Benchmark], list[str]]:
    """Return the treatments with a median, and the names of those without."""
    from httpbed.report.phrasing import treatment
    from httpbed.results.findings import find

    findings = find(results)
    benchmarks, left_out = list[Benchmark](), list[str]()
    for _, row in findings.rows():
        name = treatment(row.levels, row.levels)
        if row.estimate is None or row.estimate.median.beyond:
            left_out.append(name)
        else:
            benchmarks.append(Benchmark(name, findings.metric, row.estimate))
    return benchmarks, left_out


WRITTEN = Kind(
    "benchmarks as JSON",
    re.compile(rb'\{\s*".*": \{\s*"[a-z0-9-]+": \{\s*"value": |\[\s*\{\s*"name": '),
)
EXPORT = Export(
    name="benchmarks",
    help="bmf, benchmark-action: medians as JSON, for trackers of benchmarks.",
    what="a JSON file",
    formats=tuple(FORMATS),
    is_one_file=WRITTEN,
    write=_write,
)
