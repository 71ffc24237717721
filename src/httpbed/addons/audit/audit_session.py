"""Runs an audit, and judges whether trials side by side give the numbers of trials one at a time.

The same trials, with the same seeds, run three times: side by side, one at a time, and side by side
again, so that a drift of the machine falls on both alike. In each block, the geometric mean of both
values side by side over the value one at a time is one ratio. The estimate is the pseudo-median of
the blocks' ratios; the verdict on a treatment follows from its intervals:

same        the 90 % interval lies within 2 % of 1: two one-sided tests at 5 % (Schuirmann 1987)
disturbed   the interval lies outside. Its confidence is such that in 5 % of audits at most some
            treatment is called so by chance (Bonferroni)
open        neither. Where losses are random, ten blocks do not settle 2 %

The **null control** compares both runs side by side with each other. Nothing differs between them,
so intervals of 95 % may exclude 1 in 5 % of treatments. More than that means that the runs of one
block are not independent of what happens on the machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.text import Text
from scipy import stats

from httpbed.addons.claims import judging
from httpbed.base.units import format_share
from httpbed.campaign import campaign_setup
from httpbed.campaign import run as campaign_run
from httpbed.campaign.executor import Tell
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import ONE, Parallelism, RunSettings
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import TreatmentKey
from httpbed.programs.catalog import Catalog
from httpbed.report import phrasing, terminal
from httpbed.report.terminal import Console
from httpbed.results import comparison, sample
from httpbed.results.log_ratio import EQUIVALENCE_ERROR as ERROR
from httpbed.results.log_ratio import EQUIVALENCE_MARGIN as MARGIN
from httpbed.results.log_ratio import equivalence
from httpbed.results.sample import Bounded, Floats, Sample
from httpbed.store import query
from httpbed.store.results import Results

RUNS = ("side-by-side-1", "one-at-a-time", "side-by-side-2")
"""The folder of each run, in the order in which they run."""
CONTROLS = frozenset({"control"})
"""Claims of :func:`text` whose effect an audit must find."""

Say = Callable[[str], None]


def text() -> str:
    """Return the experiment that an audit runs if the user names none."""
    return (resources.files("httpbed.addons.audit") / "audit.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class AuditedExperiment:
    """The trials of an audit, and how they run side by side."""

    loaded: LoadedExperiment
    catalog: Catalog
    jobs: Parallelism
    options: RunSettings
    controls: frozenset[str]
    """Ids of claims that must be reproduced side by side."""


def run(audited: AuditedExperiment, folder: Path, *, tell: Tell, say: Say) -> Audit:
    """Run an audit in an empty folder.

    Raises:
        HostError: This machine cannot run the experiment.
    """
    ready = campaign_setup.prepare(audited.loaded, audited.catalog, audited.options, say=say)
    lasted_s = {}
    for name in RUNS:
        jobs = ONE if name == RUNS[1] else audited.jobs
        say(f"{name}: {len(audited.loaded.trials)} trials; at a time: {jobs}")
        lasted_s[name] = campaign_run.timed(ready, folder / name, jobs=jobs, tell=tell, say=say)
    results = {name: query.read(folder / name) for name in RUNS}
    return audit(results, lasted_s, audited.controls)


def audit(
    results: Mapping[str, Results], lasted_s: Mapping[str, float], controls: Iterable[str] = ()
) -> Audit:
    """Judge the three runs, by their folders' names."""
    first, alone, second = (results[name] for name in RUNS)
    metric = alone.experiment.report.metric
    samples = [sample.samples(one, metric) for one in (first, alone, second)]
    costs = [_cost(results[name], lasted_s[name]) for name in RUNS]
    return Audit(
        treatments=treatments(*samples),
        claims=_claims(alone, first),
        controls=frozenset(controls),
        alone=costs[1],
        beside=(costs[0], costs[2]),
    )


def _claims(alone: Results, beside: Results) -> dict[str, tuple[str, str]]:
    pairs = zip(judging.judge(alone), judging.judge(beside), strict=True)
    return {one.stated.id: (one.main.verdict, other.main.verdict) for one, other in pairs}


def _cost(results: Results, lasted_s: float) -> AuditedRun:
    outcomes = results.trials.column("outcome").to_pylist()
    return AuditedRun(lasted_s, len(outcomes), outcomes.count("invalid"))


Verdict = Literal["same", "disturbed", "open"]
ClaimVerdicts = Mapping[str, tuple[str, str]]
"""By a claim's id: its verdict one at a time, and side by side."""

NULL_ERROR = 0.01
"""Probability that the null control fails by chance."""
OPPOSITE = {"reproduced": "contradicted", "contradicted": "reproduced"}


@dataclass(frozen=True)
class AuditedTreatment:
    """One treatment side by side, compared with one at a time."""

    levels: Mapping[str, str]
    n: int
    """Blocks with a value in all three runs."""
    alone: float
    """Median one at a time, in the metric's unit; nan without a value."""
    ratio: float
    """Pseudo-median of the blocks' ratios; nan without a value."""
    low: float
    high: float
    """The 90 % interval of the ratio; open (0, inf) if there are too few blocks."""
    lost: int
    """Blocks with a value one at a time, but not in both runs side by side."""
    verdict: Verdict
    differs_from_itself: bool
    """Whether the null control found a difference between both runs side by side."""


@dataclass(frozen=True)
class AuditedRun:
    """What one run cost."""

    lasted_s: float
    attempts: int
    invalid: int
    """Attempts that were thrown away because the bed failed."""


@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    treatments: tuple[AuditedTreatment, ...]
    claims: ClaimVerdicts
    controls: frozenset[str]
    """Ids of the claims that must be reproduced side by side."""
    alone: AuditedRun
    beside: tuple[AuditedRun, AuditedRun]

    @property
    def disturbed(self) -> int:
        """Number of disturbed treatments."""
        return self._count("disturbed")

    @property
    def same(self) -> int:
        """Number of treatments with the same value."""
        return self._count("same")

    @property
    def differing_nulls(self) -> int:
        """Number of treatments that differ from themselves."""
        return sum(treatment.differs_from_itself for treatment in self.treatments)

    @property
    def most_nulls(self) -> int:
        """Largest number of them that chance explains."""
        return int(stats.binom.ppf(1 - NULL_ERROR, len(self.treatments), ERROR))

    @property
    def changed_claims(self) -> list[str]:
        """Claims with opposite verdicts, and controls that are not reproduced side by side."""
        return [
            name
            for name, (alone, beside) in self.claims.items()
            if OPPOSITE.get(alone) == beside or (name in self.controls and beside != "reproduced")
        ]

    @property
    def lost(self) -> int:
        """Number of values that only one at a time gave."""
        return sum(treatment.lost for treatment in self.treatments)

    @property
    def failed(self) -> bool:
        """Whether something shows that trials side by side are not those of one at a time."""
        return bool(self.disturbed or self.changed_claims or self.differing_nulls > self.most_nulls)

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and at least one treatment is known to be the same."""
        return not self.failed and self.same > 0

    @property
    def speed_up(self) -> float:
        """Time one at a time over the mean time side by side."""
        return self.alone.lasted_s / (sum(one.lasted_s for one in self.beside) / len(self.beside))

    def as_json(self) -> dict[str, Any]:
        """Return it for :func:`json.dumps`; infinite ends and missing numbers are null."""
        return {
            "schema": 1,
            "passed": self.passed,
            "failed": self.failed,
            "margin": MARGIN,
            "treatments": [dict(_known(asdict(treatment))) for treatment in self.treatments],
            "null_control": {"differ": self.differing_nulls, "at_most": self.most_nulls},
            "claims": {name: list(verdicts) for name, verdicts in self.claims.items()},
            "changed_claims": self.changed_claims,
            "alone": asdict(self.alone),
            "side_by_side": [asdict(one) for one in self.beside],
            "speed_up": self.speed_up,
        }

    def _count(self, verdict: Verdict) -> int:
        return Counter(treatment.verdict for treatment in self.treatments)[verdict]


def treatments(
    first: Mapping[TreatmentKey, Sample],
    alone: Mapping[TreatmentKey, Sample],
    second: Mapping[TreatmentKey, Sample],
) -> tuple[AuditedTreatment, ...]:
    """Judge each treatment by its samples in the three runs."""
    each = ERROR / len(alone)
    return tuple(_treatment(first[key], one, second[key], each) for key, one in alone.items())


def _treatment(first: Sample, alone: Sample, second: Sample, each: float) -> AuditedTreatment:
    blocks = sorted(set(first.observed) & set(alone.observed) & set(second.observed))
    beside = np.sqrt(_values(first, blocks) * _values(second, blocks))
    base = _values(alone, blocks)
    known = (base > 0) & (beside > 0)
    comparison = equivalence(beside[known] / base[known], each)
    return AuditedTreatment(
        levels=alone.levels,
        n=comparison.n,
        alone=float(np.median([*alone.observed.values()])) if alone.observed else math.nan,
        ratio=comparison.ratio,
        low=comparison.low,
        high=comparison.high,
        lost=len(set(alone.observed) - set(blocks)),
        verdict="disturbed" if comparison.verdict == "different" else comparison.verdict,
        differs_from_itself=_differ(second, first),
    )


def _differ(sample: Sample, base: Sample) -> bool:
    """Return whether the 95 % interval of the paired ratio excludes 1."""
    found = comparison.compare(sample, base)
    return found is not None and found.judgement in {"less", "more"}


def _values(sample: Sample, blocks: Sequence[int]) -> Floats:
    return np.array([sample.observed[block] for block in blocks])


def _known(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        unknown = isinstance(value, float) and not math.isfinite(value)
        yield name, None if unknown else value


STYLES: dict[Verdict, str] = {"same": "green", "disturbed": "red", "open": "yellow"}


def show(audit: Audit, experiment: Experiment, jobs: str, out: Console) -> None:
    """Print a line for each treatment, then what the verdict rests on.

    ``jobs`` is the value of ``--jobs``.
    """
    metric = experiment.report.metric
    varying = [name for name in experiment.factors if _varies(audit, name)]
    figures = ("n", f"{phrasing.title(metric)} alone", "side by side", "90 % interval")
    table = terminal.grid((*map(phrasing.title, varying), *figures, ""), figures)
    number = phrasing.number_format(
        metric, [treatment.alone for treatment in audit.treatments if treatment.n]
    )
    for treatment in audit.treatments:
        levels = [treatment.levels[name] for name in varying]
        alone = (
            phrasing.DASH
            if math.isnan(treatment.alone)
            else number.bounded(Bounded(treatment.alone))
        )
        ends = [*levels, str(treatment.n), alone, _ratio(treatment), _interval(treatment)]
        table.add_row(*map(Text, ends), Text(treatment.verdict, STYLES[treatment.verdict]))
    out.print(table)
    out.print()
    terminal.show_facts(closing(audit, jobs), out)


def closing(audit: Audit, jobs: str) -> Iterator[tuple[str, str]]:
    """Yield what the verdict rests on, line by line, and the verdict."""
    yield "compared", _compared(audit)
    yield "null", _null(audit)
    for name, (alone, beside) in audit.claims.items():
        yield "claim", f"{name}: {alone} one at a time, {beside} side by side"
    if audit.lost:
        yield "lost", f"{audit.lost} blocks have a value one at a time, but not side by side"
    yield "cost", _cost_line(audit)
    yield "verdict", _verdict(audit, jobs)


def _compared(audit: Audit) -> str:
    total = len(audit.treatments)
    return (
        f"within {format_share(MARGIN)} of one at a time: {audit.same} of {total} treatments;"
        f" disturbed: {audit.disturbed}; not settled: {total - audit.same - audit.disturbed}"
    )


def _null(audit: Audit) -> str:
    return (
        f"both runs side by side differ in {audit.differing_nulls} of {len(audit.treatments)}"
        f" treatments; chance explains {audit.most_nulls}"
    )


def _cost_line(audit: Audit) -> str:
    beside = [phrasing.brief_duration(one.lasted_s) for one in audit.beside]
    invalid = [str(one.invalid) for one in (audit.alone, *audit.beside)]
    return (
        f"{phrasing.brief_duration(audit.alone.lasted_s)} one at a time,"
        f" {' and '.join(beside)} side by side ({audit.speed_up:.1f}x as fast);"
        f" invalid attempts {', '.join(invalid)}"
    )


def _verdict(audit: Audit, jobs: str) -> str:
    if audit.failed:
        return f"--jobs {jobs} changes the numbers of these trials: try fewer"
    if not audit.passed:
        return "open: no treatment is known to be the same; more replicates may settle it"
    return f"--jobs {jobs} gives the numbers of one at a time here"


def _varies(audit: Audit, name: str) -> bool:
    return len({treatment.levels[name] for treatment in audit.treatments}) > 1


def _ratio(one: AuditedTreatment) -> str:
    return phrasing.DASH if math.isnan(one.ratio) else f"{one.ratio:.3f}x"


def _interval(one: AuditedTreatment) -> str:
    if math.isinf(one.high):
        return phrasing.DASH
    return f"{one.low:.3f} .. {one.high:.3f}"
