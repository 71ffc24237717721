"""Whether a campaign, or a build, is worse than its baseline: treatment by treatment.

The two campaigns ran at different times, so their blocks are not pairs: each treatment is compared
by ranks (Mann and Whitney 1947) of the logarithms. A **regression** is a treatment that is worse
than the baseline by more than the margin, or that completes less often (Fisher's exact test), or no
more. The p-values are adjusted together by Benjamini and Hochberg (1995): if nothing is worse, the
probability of any regression is 5 % at most. A treatment **passes** if it is certain to be within
the margin, also at 5 %; that all treatments pass needs no adjustment.

A campaign in which the invalid attempts of some programs exceed those of the others
(:mod:`httpbed.results.selection`) is **refused**: its results may be selected.

Two builds in one campaign ran in the same blocks: they are compared in pairs, by signed ranks.

In virtual time, no machine comes between the campaigns. The blocks in which both ran the same trial
are pairs then, compared by signed ranks (Wilcoxon 1945); a treatment with the same value twice in
every block passes, whatever their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import stats

from httpbed.addons.compare import campaign_comparison, diff_table
from httpbed.addons.compare.campaign_comparison import ComparedTreatment, Levels, levels_of, median
from httpbed.base.units import format_count, format_share
from httpbed.experiment.metric import METRICS
from httpbed.experiment.roles import BUILD, BUILDS
from httpbed.report import markdown
from httpbed.report.document import Cell, Column, Table, Tone
from httpbed.report.phrasing import counted
from httpbed.report.terminal import Console
from httpbed.results import log_ratio
from httpbed.results import sample as samples
from httpbed.results.log_ratio import LogRatio
from httpbed.results.sample import Sample, Tally
from httpbed.store.results import Results

GateVerdict = Literal["pass", "regression", "inconclusive", "refused"]
ERROR_RATE = 0.05
COMPLETES_LESS = "completes less often"
NEVER_COMPLETES = "completes no more"
MIN_TRIALS = 3
"""A treatment that completed so many times of so many, and now completes never, is a regression
whatever the number of treatments: a program that fails in half of its trials looks so in 1 of 64
comparisons, any other one less often."""


@dataclass(frozen=True, kw_only=True)
class TreatmentChange(ComparedTreatment):
    """One treatment against its baseline; each end of the interval fails in 5 %."""

    verdict: GateVerdict
    reason: str
    """What is worse, or why it is undecided; empty if it passes."""


@dataclass(frozen=True)
class _Tests:
    ratio: LogRatio | None
    worse: float
    """p-value of the hypothesis that it is not worse by more than the margin; 1 without values."""
    fails_more: float
    """p-value of the hypothesis that it completes as often as before."""
    fine: float
    """p-value of the hypothesis that it is worse by the margin or more."""
    pairs: int
    """Number of blocks that are pairs; 0 in real time."""


def compare(
    baseline: Results, campaign: Results, metric: str, margin: float
) -> tuple[TreatmentChange, ...]:
    """Compare each treatment that both campaigns hold.

    Args:
        baseline: The campaign before a change.
        campaign: The campaign after it.
        metric: A metric that is better in one direction.
        margin: A share: by how much a treatment may be worse; inf compares only completion.
    """
    pairs = campaign_comparison.matched(baseline, campaign, metric)
    paired = _paired_blocks(baseline, campaign)
    tests = [_tests(one, now, margin, paired.get(levels_of(now), ())) for one, now in pairs]
    return tuple(_judged(pairs, tests, margin))


def has_builds(campaign: Results) -> bool:
    """Whether a campaign ran two builds of a program."""
    return set(BUILDS) <= set(campaign.experiment.factors.get(BUILD, ()))


def compare_builds(campaign: Results, metric: str, margin: float) -> tuple[TreatmentChange, ...]:
    """Compare each treatment of the new build with the same of the old one.

    Args:
        campaign: A campaign that ran both in every block.
        metric: A metric that is better in one direction.
        margin: As for :func:`compare`.
    """
    by_build: dict[str, dict[Levels, Sample]] = {build: {} for build in BUILDS}
    for sample in samples.samples(campaign, metric).values():
        others = {name: level for name, level in sample.levels.items() if name != BUILD}
        by_build[sample.levels[BUILD]][frozenset(others.items())] = replace(sample, levels=others)
    old, new = (by_build[build] for build in BUILDS)
    pairs = [(old[levels], now) for levels, now in new.items() if levels in old]
    tests = [_tests(one, now, margin, sorted(one.presumed())) for one, now in pairs]
    return tuple(_judged(pairs, tests, margin))


def verdict(changes: Sequence[TreatmentChange]) -> GateVerdict:
    """Return the verdict on all treatments."""
    found = {change.verdict for change in changes}
    if "regression" in found:
        return "regression"
    return "pass" if found == {"pass"} else "inconclusive"


def _paired_blocks(old: Results, now: Results) -> Mapping[Levels, Sequence[int]]:
    """Return each treatment's blocks with the same trial in virtual time."""
    is_virtual = all(one.manifest.get("clock") == "virtual" for one in (old, now))
    return campaign_comparison.same_blocks(old, now) if is_virtual else {}


def _tests(old: Sample, now: Sample, margin: float, same: Sequence[int]) -> _Tests:
    table = [[sample.tally.completed, sample.tally.not_completed] for sample in (old, now)]
    fails_more = float(stats.fisher_exact(np.array(table), alternative="greater")[1])
    ratio, pairs = log_ratio.of_campaigns(now, old, same)
    if ratio is None:
        return _Tests(None, worse=1.0, fails_more=fails_more, fine=1.0, pairs=pairs)
    edge = math.log1p(margin)
    if METRICS[old.metric].lower_is_better:
        return _Tests(ratio, ratio.p_above(edge), fails_more, ratio.p_below(edge), pairs)
    return _Tests(ratio, ratio.p_below(-edge), fails_more, ratio.p_above(-edge), pairs)


def _judged(
    pairs: Sequence[tuple[Sample, Sample]], tests: Sequence[_Tests], margin: float
) -> list[TreatmentChange]:
    if not pairs:
        return []
    raw = [
        (
            test.worse if test.ratio is not None and math.isfinite(margin) else math.nan,
            test.fails_more if _have_failures(old, now) else math.nan,
        )
        for (old, now), test in zip(pairs, tests, strict=True)
    ]
    rejected = campaign_comparison.significant(raw, ERROR_RATE)
    return [
        _change(old, now, test, (bool(found[0]), bool(found[1])), margin)
        for (old, now), test, found in zip(pairs, tests, rejected, strict=True)
    ]


def _have_failures(old: Sample, now: Sample) -> bool:
    """Whether any result of Fisher's test could be significant (Tarone 1990)."""
    return any(sample.tally.not_completed for sample in (old, now))


def _change(
    old: Sample, now: Sample, test: _Tests, is_worse: tuple[bool, bool], margin: float
) -> TreatmentChange:
    low = high = ratio = math.nan
    if test.ratio is not None:
        ends = test.ratio.value, test.ratio.low(ERROR_RATE), test.ratio.high(ERROR_RATE)
        ratio, low, high = map(math.exp, ends)
    same = _identical(old, now, test.pairs)
    passes = same or test.fine <= ERROR_RATE
    change = TreatmentChange(
        levels=now.levels,
        verdict="pass" if passes else "inconclusive",
        reason=same if passes else _why_open(old, now, test),
        ratio=ratio,
        low=low,
        high=high,
        blocks=(old.n, now.n),
        coverage=1 - 2 * ERROR_RATE if test.ratio else 0.0,
        medians=(median(old), median(now)),
        tallies=(old.tally, now.tally),
        pairs=test.pairs,
    )
    slower, fails_more = is_worse
    if _never_completes(old.tally, now.tally):
        return replace(change, verdict="regression", reason=NEVER_COMPLETES)
    if not slower and not fails_more:
        return change
    text = f"worse by more than {format_share(margin)}"
    reasons = [text] if slower else []
    reasons += [COMPLETES_LESS] if fails_more else []
    return replace(change, verdict="regression", reason=" and ".join(reasons))


def _never_completes(old: Tally, now: Tally) -> bool:
    return (
        not now.completed
        and not old.not_completed
        and min(old.completed, now.not_completed) >= MIN_TRIALS
    )


def _identical(old: Sample, now: Sample, pairs: int) -> str:
    """Say that both have the same value in every block; empty if they have not."""
    all_known = all(one.presumed() == one.observed for one in (old, now))
    if not pairs or not all_known or old.observed != now.observed:
        return ""
    blocks = f"all {pairs} blocks" if pairs > 1 else "the only block"
    return f"identical in {blocks}"


def _why_open(old: Sample, now: Sample, test: _Tests) -> str:
    for name, one in (("the baseline", old), ("the campaign", now)):
        if not one.n:
            return f"{name} has no values"
        if one.unknown:
            trials = format_count(len(one.unknown), "trial")
            have = "has" if len(one.unknown) == 1 else "have"
            return f"{trials} of {name} {have} no valid attempt; run it again"
    if test.ratio is None:
        return "a value is zero, so there is no ratio"
    if test.ratio.least_p > ERROR_RATE:
        least = "5 blocks" if test.pairs else "4 in each campaign"
        return f"too few blocks for any verdict; run at least {least}"
    if test.worse <= ERROR_RATE:
        return "worse, but in too few blocks for so many treatments; more blocks would settle it"
    return "the interval contains the margin; more blocks would narrow it"


# How the changes are shown.

TONES: Mapping[GateVerdict, Tone] = {
    "pass": "settled",
    "regression": "worse",
    "inconclusive": "open",
}


def table(changes: Sequence[TreatmentChange], metric: str) -> Table:
    """Lay out a row for each treatment, with its verdict."""
    verdicts = (
        Cell(": ".join(filter(None, (change.verdict, change.reason))), tone=TONES[change.verdict])
        for change in changes
    )
    return diff_table.compared_table(
        changes, metric, Column("verdict", tuple(verdicts), wraps=True)
    )


def sentence(changes: Sequence[TreatmentChange]) -> str:
    """Sum up the treatments in one line."""
    return counted("treatment", [change.verdict for change in changes], TONES)


def causes(changes: Sequence[TreatmentChange]) -> Iterator[str]:
    """Say how many treatments are worse, and how many complete less often or no more."""
    worse = [change for change in changes if change.verdict == "regression"]
    never = sum(change.reason == NEVER_COMPLETES for change in worse)
    fewer = sum(change.reason == COMPLETES_LESS for change in worse)
    if len(worse) > fewer + never:
        yield f"{len(worse) - fewer - never} of {len(changes)} treatments worse than the baseline"
    if never:
        yield f"{never} {'treatment completes' if never == 1 else 'treatments complete'} no more"
    if fewer:
        yield f"{fewer} {'treatment completes' if fewer == 1 else 'treatments complete'} less often"


def show(changes: Sequence[TreatmentChange], metric: str, out: Console) -> None:
    """Print the table and its summary."""
    diff_table.show_table(table(changes, metric), out)
    out.print(sentence(changes), soft_wrap=True)


def in_markdown(
    question: str,
    changes: Sequence[TreatmentChange],
    metric: str,
    notes: Iterable[str],
    closing: str,
) -> str:
    """Write question, table, what differs else, and the verdict as GitHub Flavored Markdown."""
    shown = table(changes, metric) if changes else None
    parts = (
        [f"**{markdown.escaped(question)}**"],
        [markdown.escaped(f"{shown.caption}.")] if shown else [],
        markdown.lines_of(shown) if shown else [],
        markdown.listing("Before relying on it", notes),
        [markdown.escaped(closing)],
    )
    return "\n\n".join(filter(None, ("\n".join(part) for part in parts))) + "\n"


def values(changes: Sequence[TreatmentChange], metric: str, margin: float) -> Mapping[str, Any]:
    """Return the change for :func:`json.dumps`."""
    return {
        "metric": metric,
        "unit": METRICS[metric].unit,
        "margin": margin,
        "verdict": verdict(changes),
        "treatments": list(map(_values, changes)),
    }


def _values(change: TreatmentChange) -> Mapping[str, Any]:
    verdict = {"verdict": change.verdict, "reason": change.reason}
    return {**diff_table.compared_values(change), **verdict}
