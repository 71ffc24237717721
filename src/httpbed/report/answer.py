"""The answer to an experiment's question: one sentence for each finding."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from httpbed.base.units import format_count, format_share
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import METRICS
from httpbed.report import experiment_words
from httpbed.report.factor_sentences import FactorSentences, factor_sentences
from httpbed.report.phrasing import (
    FEW_BLOCKS,
    Sentence,
    agreeing_blocks,
    base_in_sentence,
    ratio_interval,
    ratio_text,
    sentence_case,
    signed,
    title,
    treatment_in_sentence,
)
from httpbed.results.comparison import EQUAL_MARGIN, MIN_BLOCKS, Ratio, interaction
from httpbed.results.estimate import CONFIDENCE
from httpbed.results.findings import Condition, Findings, Row

MAX_SENTENCES = 6
"""Most comparisons that have a sentence each; of more, the answer sums up each factor."""
Comparison = tuple[Condition, Row, Ratio]
StatedComparison = tuple[TreatmentKey, Ratio]
"""A treatment with its ratio to the base."""


def answer(
    findings: Findings, document: Mapping[str, Any], *, with_link: bool = True
) -> list[Sentence]:
    """State what the campaign shows; at first what the link is.

    Few comparisons have a sentence each. Else each factor has one.
    """
    compared = _compared(findings)
    if not compared:
        return [Sentence(_without_comparison(findings))]
    link = experiment_words.fixed(document) if with_link else ""
    opening = [Sentence(f"The link: {link}")] if link else []
    if sums_up(findings):
        same = [Sentence(text) for text in _exact_summary(findings)]
        return [*opening, *same, *factor_sentences(findings, document)]
    others = [
        effect
        for effect in findings.effects
        if effect.levels and effect.factor not in {*findings.base, *findings.network}
    ]
    beside = factor_sentences(findings, document, others)
    undecided = [ratio for _, _, ratio in compared if _is_noisy(findings, ratio)]
    if len(compared) > 1 and len(undecided) == len(compared):
        return [*opening, _nothing_settled(findings, document, compared), *beside]
    interactions, stated = _interactions(findings, document)
    singly = [
        sentence
        for condition in findings.conditions
        for sentence in _of_condition(findings, document, condition, stated)
    ]
    return [*opening, *interactions, *singly, *beside]


def _interactions(
    findings: Findings, document: Mapping[str, Any]
) -> tuple[list[Sentence], set[StatedComparison]]:
    """State where a factor of the base gives less and where more, and which comparisons that are.

    Returns:
        The sentences; the treatments whose comparison with the base is in one of them.
    """
    describe, sentences = FactorSentences(findings, document), list[Sentence]()
    stated: set[StatedComparison] = set()
    for effect in findings.effects:
        for one in effect.levels if effect.factor in findings.base else ():
            if found := interaction(one, effect.factor):
                sentences.append(describe.interaction_alone(effect, one, found))
                stated |= {(treatment_key(cell), ratio) for cell, ratio in one.directed()}
    return sentences, stated


def sums_up(findings: Findings) -> bool:
    """Whether the answer sums up, because there are too many comparisons for a sentence each."""
    return len(_compared(findings)) > MAX_SENTENCES


def _compared(findings: Findings) -> list[Comparison]:
    return [(c, row, row.ratio) for c, row in findings.rows() if row.ratio]


def named(findings: Findings, document: Mapping[str, Any], c: Condition, row: Row) -> str:
    """Name a treatment with its condition: ``HTTP/3 at 2 % loss``."""
    label = treatment_in_sentence(row.levels, findings.others)
    return f"{label} at {experiment_words.condition(document, c.levels)}" if c.levels else label


def _without_comparison(findings: Findings) -> str:
    valued = sum(1 for _, row in findings.rows() if row.estimate)
    if valued:
        return f"Nothing is compared: {format_count(valued, 'treatment')} with values, no pairs"
    metric = METRICS[findings.metric]
    if metric.per_item:
        return f"No trial has a value of {metric.title}, which exists for single items only"
    applies = "" if metric.applies == "every trial" else f" (it applies to: {metric.applies})"
    return f"No trial has a value of {metric.title} yet{applies}"


def _of_condition(
    findings: Findings,
    document: Mapping[str, Any],
    condition: Condition,
    stated: Collection[StatedComparison],
) -> Iterator[Sentence]:
    """State each comparison of a condition."""
    at = experiment_words.condition(document, condition.levels)
    place = f"At {at}, " if at else ""
    for row in condition.rows:
        if row.ratio and (treatment_key(row.levels), row.ratio) not in stated:
            sentence = _comparison(findings, row, row.ratio)
            text = f"{place}{sentence.text}"
            if not _begins_with_a_level(findings, row):
                text = sentence_case(text)
            yield Sentence(text, sentence.evidence)


def _begins_with_a_level(findings: Findings, row: Row) -> bool:
    """Whether a treatment's name begins with a level, such as a program's name, as it is typed."""
    name = treatment_in_sentence(row.levels, findings.others)
    return any(name.startswith(row.levels[first]) for first in findings.others[:1])


def _comparison(findings: Findings, row: Row, ratio: Ratio) -> Sentence:
    subject = treatment_in_sentence(row.levels, findings.others)
    base = base_in_sentence(findings)
    size = ratio_text(ratio.value)
    if findings.metric == "request_time":
        verb, same = f"needed {size} the time of {base}", f"needed the same time as {base}"
    elif findings.metric == "page_load_time":
        verb = f"loaded the page in {size} the time of {base}"
        same = f"loaded the page in the same time as {base}"
    else:
        metric = title(findings.metric)
        verb, same = f"had {size} the {metric} of {base}", f"had the same {metric} as {base}"
    exactly = _exact_words(findings, ratio)
    if exactly and ratio.identical:
        return Sentence(f"{subject} {same}{exactly}")
    if ratio.judgement == "equal":
        margin = f"to within {format_share(EQUAL_MARGIN)}"
        return Sentence(f"{subject} {same}, {margin}{exactly}", _evidence(ratio))
    settles_nothing = _reservation(ratio, is_exact=findings.clock == "virtual")
    return Sentence(f"{subject} {verb}{settles_nothing}{exactly}", _evidence(ratio))


def _is_noisy(findings: Findings, ratio: Ratio) -> bool:
    """Whether a comparison is within noise; in virtual time each is exact."""
    return findings.clock == "real" and ratio.judgement == "open"


def _reservation(ratio: Ratio, *, is_exact: bool) -> str:
    """Return why a comparison settles nothing; empty if it does.

    Exact values have no noise, but other blocks may differ more or less.
    """
    if ratio.judgement != "open":
        return ""
    if ratio.interval is None:
        return " in a single block" if is_exact else " in a single block, which may be noise"
    if ratio.n < MIN_BLOCKS:
        return f", which is not settled: n = {ratio.n}, and {FEW_BLOCKS} settle nothing"
    return ", which the blocks do not settle" if is_exact else ", which is within noise"


def _evidence(ratio: Ratio) -> str:
    if ratio.interval is None:
        return f"{ratio.n} block, so no interval"
    covers = format_share(min(CONFIDENCE, ratio.interval.coverage))
    sides = {"less": "less in ", "more": "more in "}.get(ratio.judgement)
    blocks = f"{sides}{agreeing_blocks(ratio)}" if sides else f"{ratio.n} blocks"
    return f"{covers} interval {ratio_interval(ratio.interval)}; {blocks}"


def _nothing_settled(
    findings: Findings, document: Mapping[str, Any], compared: list[Comparison]
) -> Sentence:
    """Say once, with the extremes, that no comparison is more than noise."""
    lowest, *_, highest = sorted(compared, key=lambda one: one[2].value.value)
    ends = " to ".join(
        f"{ratio_text(ratio.value)} ({named(findings, document, condition, row)})"
        for condition, row, ratio in (lowest, highest)
    )
    sizes = sorted({ratio.n for _, _, ratio in compared})
    n = " .. ".join(dict.fromkeys(map(str, (sizes[0], sizes[-1]))))
    what = f"paired ratio of {title(findings.metric)} to {base_in_sentence(findings)}"
    all_of_them = "both" if len(compared) == 2 else f"all {len(compared)}"
    why = "within noise" if sizes[-1] >= MIN_BLOCKS else f"open: {FEW_BLOCKS} settle nothing"
    why = "of a single block, without an interval" if sizes == [1] else why
    return Sentence(
        f"Nothing is settled at n = {n}: {all_of_them} comparisons are {why}."
        f" The {what} went from {ends}"
    )


def _exact_words(findings: Findings, ratio: Ratio) -> str:
    """Write the differences within the blocks, to follow a sentence.

    Only where identity is the question, because the treatments are one program or two builds of it
    in virtual time: there the machine adds nothing, and a difference in a single block is already
    one of the builds. How large it is in general, the interval says.
    """
    gaps = ratio.differences
    if not findings.asks_identity or gaps is None:
        return ""
    if ratio.identical:
        return f": identical in {_all_blocks(ratio.n)}"
    ends = dict.fromkeys(signed(findings.metric, one) for one in (gaps.least, gaps.most))
    same = f", {gaps.none} of them identical" if gaps.none else ""
    return f": exactly {' to '.join(ends)} in {_all_blocks(ratio.n)}{same}"


def _exact_summary(findings: Findings) -> Iterator[str]:
    """Count the comparisons without any difference, where identity is the question."""
    ratios = [row.ratio for _, row in findings.rows() if row.ratio]
    if findings.asks_identity and ratios:
        same = sum(ratio.identical for ratio in ratios)
        yield f"{same} of {len(ratios)} comparisons are identical in all their blocks"


def _all_blocks(count: int) -> str:
    return f"all {count} blocks" if count > 1 else "the only block"
