"""The answer to an experiment's question: one sentence for each finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.experiment.metric import METRICS
from httpbed.report import network
from httpbed.report.phrasing import (
    FEW_BLOCKS,
    agreeing_blocks,
    base_in_sentence,
    by_rule,
    listed,
    percent,
    ratio_interval,
    ratio_text,
    sentence_case,
    signed,
    title,
    treatment_in_sentence,
)
from httpbed.results.comparison import EQUAL_MARGIN, MIN_BLOCKS, FactorEffect, LevelEffect, Ratio
from httpbed.results.estimate import CONFIDENCE
from httpbed.results.findings import Condition, Findings, Row
from httpbed.results.log_ratio import Standing


@dataclass(frozen=True)
class Sentence:
    """One finding."""

    text: str
    """Without its full stop."""
    evidence: str = ""
    """Interval and number of blocks; empty for a sentence without figures of its own."""
    about: str = ""
    """The factor that the sentence is about, if it is about one."""

    def __str__(self) -> str:
        lead = f"{self.about}: " if self.about else ""
        return f"{lead}{self.text} ({self.evidence})." if self.evidence else f"{lead}{self.text}."


MAX_SENTENCES = 6
"""Of single comparisons; of more, the answer sums up what each factor did."""
Comparison = tuple[Condition, Row, Ratio]


def answer(
    findings: Findings, document: Mapping[str, Any], *, with_link: bool = True
) -> list[Sentence]:
    """State what the campaign shows; at first what the link is.

    Few comparisons have a sentence each. Else each factor has one.
    """
    compared = _compared(findings)
    if not compared:
        return [Sentence(_without_comparison(findings))]
    link = network.fixed(document) if with_link else ""
    opening = [Sentence(f"The link: {link}")] if link else []
    if sums_up(findings):
        same = [Sentence(text) for text in _exact_summary(findings)]
        return [*opening, *same, *factor_sentences(findings.metric, findings.effects)]
    others = [
        one
        for one in findings.effects
        if one.levels and one.factor not in {*findings.base, *findings.network}
    ]
    beside = factor_sentences(findings.metric, others)
    undecided = [ratio for _, _, ratio in compared if _is_noisy(findings, ratio)]
    if len(compared) > 1 and len(undecided) == len(compared):
        return [*opening, _nothing_settled(findings, document, compared), *beside]
    return [*opening, *every_comparison(findings, document), *beside]


def sums_up(findings: Findings) -> bool:
    """Whether the answer sums up, because there are too many comparisons for a sentence each."""
    return len(_compared(findings)) > MAX_SENTENCES


def every_comparison(findings: Findings, document: Mapping[str, Any]) -> list[Sentence]:
    """State every comparison with the base, condition by condition."""
    return [
        sentence
        for condition in findings.conditions
        for sentence in _of_condition(findings, document, condition)
    ]


def _compared(findings: Findings) -> list[Comparison]:
    return [(c, row, row.ratio) for c, row in findings.rows() if row.ratio]


def named(findings: Findings, document: Mapping[str, Any], c: Condition, row: Row) -> str:
    """Name a treatment with its condition: ``HTTP/3 at 2 % loss``."""
    label = treatment_in_sentence(row.levels, findings.others)
    return f"{label} at {network.condition(document, c.levels)}" if c.levels else label


def _without_comparison(findings: Findings) -> str:
    valued = sum(1 for _, row in findings.rows() if row.estimate)
    if valued:
        return f"Nothing is compared: {valued} treatment{'s' * (valued > 1)} with values, no pairs"
    metric = METRICS[findings.metric]
    if metric.per_item:
        return f"No trial has a value of {metric.title}, which exists for single items only"
    applies = "" if metric.applies == "every trial" else f" (it applies to: {metric.applies})"
    return f"No trial has a value of {metric.title} yet{applies}"


def _of_condition(
    findings: Findings, document: Mapping[str, Any], condition: Condition
) -> Iterator[Sentence]:
    """State each settled comparison, then all that are within noise in one sentence."""
    at = network.condition(document, condition.levels)
    place = f"At {at}, " if at else ""
    compared = [(row, row.ratio) for row in condition.rows if row.ratio]
    groups = _with_one_reservation(findings, compared)
    for row, ratio in compared:
        if not any((row, ratio) in group for group in groups):
            sentence = _comparison(findings, row, ratio)
            yield Sentence(sentence_case(place + sentence.text), sentence.evidence)
    for group in groups:
        yield _within_noise(findings, place, group)


def _with_one_reservation(
    findings: Findings, compared: list[tuple[Row, Ratio]]
) -> list[list[tuple[Row, Ratio]]]:
    """Return groups of comparisons that share a sentence."""
    groups: dict[str, list[tuple[Row, Ratio]]] = {}
    for row, ratio in compared:
        if _is_noisy(findings, ratio) and ratio.interval:
            groups.setdefault(_reservation(ratio, is_exact=False), []).append((row, ratio))
    return [group for group in groups.values() if len(group) > 1]


def _within_noise(findings: Findings, place: str, comparisons: list[tuple[Row, Ratio]]) -> Sentence:
    subjects = listed(treatment_in_sentence(row.levels, findings.others) for row, _ in comparisons)
    sizes = listed(ratio_text(ratio.value) for _, ratio in comparisons)
    metric = title(findings.metric)
    text = f"{place}the {metric} of {subjects} is {sizes} that of {base_in_sentence(findings)}"
    return Sentence(f"{sentence_case(text)}{_reservation(comparisons[0][1], is_exact=False)}")


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
    if _found_none(findings, ratio):
        return Sentence(f"{subject} {same}{exactly}")
    if ratio.judgement == "equal":
        margin = f"to within {percent(EQUAL_MARGIN)}"
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
        return f", {by_rule(ratio)}"
    return ", which the blocks do not settle" if is_exact else ", which is within noise"


def _evidence(ratio: Ratio) -> str:
    if ratio.interval is None:
        return f"{ratio.n} block, so no interval"
    covers = percent(min(CONFIDENCE, ratio.interval.coverage))
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


def _found_none(findings: Findings, ratio: Ratio) -> bool:
    """Whether a comparison in virtual time found the same values in all blocks.

    There the machine adds nothing to any value, so a difference in a single block is already one of
    the programs. How large it is in general is another question, which the interval answers: other
    losses give another difference.
    """
    return findings.clock == "virtual" and ratio.identical


def _exact_words(findings: Findings, ratio: Ratio) -> str:
    """Write the differences within the blocks, to follow a sentence; empty in real time."""
    gaps = ratio.differences
    if findings.clock == "real" or gaps is None:
        return ""
    if ratio.identical:
        return f": identical in {_all_blocks(ratio.n)}"
    ends = dict.fromkeys(signed(findings.metric, one) for one in (gaps.least, gaps.most))
    same = f", {gaps.none} of them identical" if gaps.none else ""
    return f": exactly {' to '.join(ends)} in {_all_blocks(ratio.n)}{same}"


def _exact_summary(findings: Findings) -> Iterator[str]:
    """Count the comparisons without any difference; nothing in real time."""
    ratios = [row.ratio for _, row in findings.rows() if row.ratio]
    if findings.clock == "virtual" and ratios:
        same = sum(ratio.identical for ratio in ratios)
        yield f"{same} of {len(ratios)} comparisons are identical in all their blocks"


def _all_blocks(count: int) -> str:
    return f"all {count} blocks" if count > 1 else "the only block"


MAX_LEVELS = 4
"""Of a factor, that a sentence describes one by one."""
MAX_NAMED = 8
"""Levels that a list names."""
EQUAL = f"equal to within {percent(EQUAL_MARGIN)}"


def factor_sentences(metric: str, effects: Iterable[FactorEffect]) -> list[Sentence]:
    """Describe what each factor did to a metric."""
    return [_sentence(metric, effect) for effect in effects]


def less_and_more(metric: str) -> tuple[str, str]:
    """Return what a treatment with a smaller, and with a larger, value did."""
    if metric == "request_time":
        return "needed less time", "needed more time"
    if metric == "page_load_time":
        return "loaded the page in less time", "loaded the page in more time"
    return f"had a lower {title(metric)}", f"had a higher {title(metric)}"


def unsettled(ratios: Sequence[Ratio]) -> str:
    """Return ``not settled with 4 blocks``."""
    return f"not {_settled(ratios)}"


def _settled(ratios: Sequence[Ratio]) -> str:
    sizes = sorted({ratio.n for ratio in ratios})
    n = " to ".join(dict.fromkeys(map(str, (sizes[0], sizes[-1]))))
    return f"settled with {n} block{'s' * (sizes[-1] > 1)}"


def extremes(ratios: Sequence[Ratio]) -> str:
    """Return the smallest and the largest of some ratios: ``0.68x to 0.91x``."""
    ordered = sorted(ratios, key=lambda ratio: ratio.value.value)
    ends = (ratio_text(ordered[0].value), ratio_text(ordered[-1].value))
    return " to ".join(dict.fromkeys(ends))


def _sentence(metric: str, effect: FactorEffect) -> Sentence:
    about, against = sentence_case(title(effect.factor)), f"against {_name(effect)}"
    every = [ratio for one in effect.levels for ratio in one.ratios]
    if not every:
        return Sentence("no two treatments with values differ in this factor alone", about=about)
    judgements = {ratio.judgement for ratio in every}
    if judgements == {"open"}:
        none = {1: "the one cell is", 2: "neither cell is"}.get(len(every))
        text = f"{against}, {none or f'none of {len(every)} cells is'} "
        settled = _settled(every) if len(every) > 1 else unsettled(every)
        return Sentence(f"{text}{settled} ({extremes(every)})", about=about)
    if judgements <= {"equal", "open"}:
        text = f"changed nothing that is settled {against}: {', '.join(_undirected(every))}"
        return Sentence(text if "open" in judgements else _nothing(every, against), about=about)
    if len(effect.levels) > 1 and all(len(one.ratios) == 1 for one in effect.levels):
        return Sentence(f"{against}, {'; '.join(_by_direction(metric, effect))}", about=about)
    return Sentence(f"{against}, {'; '.join(_by_level(metric, effect))}", about=about)


def _nothing(every: Sequence[Ratio], against: str) -> str:
    return f"changed nothing {against}: {EQUAL} in {_of_all(every)}"


def _of_all(ratios: Sequence[Ratio]) -> str:
    count = len(ratios)
    return {1: "the one cell", 2: "both cells"}.get(count, f"all {count} cells")


def _by_level(metric: str, effect: FactorEffect) -> Iterator[str]:
    """Describe the levels with most settled differences, and count the others."""
    ordered = sorted(effect.levels, key=_weight, reverse=True)
    shown = [one for one in ordered if _differing(one)]
    if len(effect.levels) <= MAX_LEVELS:
        shown = list(effect.levels)
    for one in shown[:MAX_LEVELS]:
        yield _level(metric, _text(effect.factor, one.level), one.ratios)
    if more := shown[MAX_LEVELS:]:
        yield f"{_names(effect, more)} differed in some cells"
    if same := [one for one in ordered if one not in shown]:
        yield f"no difference is settled for {_names(effect, same)}"


def _level(metric: str, subject: str, ratios: Sequence[Ratio]) -> str:
    less, more = less_and_more(metric)
    by = {side: [one for one in ratios if one.judgement == side] for side in ("less", "more")}
    other = _undirected(ratios)
    if len(ratios) == 1:
        verb = f"{less if by['less'] else more} ({extremes(ratios)})"
        return f"{subject} {verb}" if by["less"] or by["more"] else f"{subject} was {other[0]}"
    first, second = ("less", "more") if len(by["less"]) >= len(by["more"]) else ("more", "less")
    if not by[first]:
        return f"{subject} differed in no settled cell: {', '.join(other)}"
    verbs = {"less": less, "more": more}
    texts = [f"{subject} {verbs[first]} in {_count(by[first], ratios)} ({extremes(by[first])})"]
    if len(by[first]) < len(ratios):
        found = f"{len(by[second])} ({extremes(by[second])})" if by[second] else "none"
        texts.append(f"{second} in {found}")
    if len(by["less"]) + len(by["more"]) <= (1 - CONFIDENCE) * len(ratios):
        texts.append("no more than chance gives")
    return ", ".join([*texts, *other])


def _count(some: Sequence[Ratio], ratios: Sequence[Ratio]) -> str:
    return _of_all(ratios) if len(some) == len(ratios) else f"{len(some)} of {len(ratios)} cells"


def _undirected(ratios: Sequence[Ratio]) -> list[str]:
    """Count the cells without a direction: equal, or not settled."""
    equal, open_ones = (
        [one for one in ratios if one.judgement == judgement] for judgement in ("equal", "open")
    )
    alone = len(ratios) == 1
    texts = [EQUAL if alone else f"{EQUAL} in {len(equal)}"] if equal else []
    if open_ones:
        texts.append(unsettled(open_ones) if alone else f"{len(open_ones)} {unsettled(open_ones)}")
    return texts


def _by_direction(metric: str, effect: FactorEffect) -> Iterator[str]:
    """Name the levels by what they did, each with its ratio: each has one cell."""
    less, more = less_and_more(metric)
    words: dict[Standing, str] = {"less": less, "more": more, "equal": f"were {EQUAL}"}
    for judgement, verb in words.items():
        if some := [one for one in effect.levels if one.ratios[0].judgement == judgement]:
            was = verb.replace("were", "was") if len(some) == 1 else verb
            yield f"{_names(effect, some, ratios=judgement != 'equal')} {was}"
    if left := [one for one in effect.levels if one.ratios[0].judgement == "open"]:
        verb = "is" if len(left) == 1 else "are"
        yield f"{_names(effect, left)} {verb} {unsettled([one.ratios[0] for one in left])}"


def _names(effect: FactorEffect, levels: Sequence[LevelEffect], *, ratios: bool = False) -> str:
    names = [
        _text(effect.factor, one.level) + (f" ({extremes(one.ratios)})" if ratios else "")
        for one in levels[:MAX_NAMED]
    ]
    left = len(levels) - len(names)
    return listed([*names, f"{left} more"] if left else names)


def _differing(effect: LevelEffect) -> int:
    return sum(one.judgement in {"less", "more"} for one in effect.ratios)


def _weight(effect: LevelEffect) -> tuple[int, float]:
    """Order levels: by the number of cells that differ, then by the largest difference."""
    sizes = (abs(math.log(one.value.value)) for one in effect.ratios if one.value.value > 0)
    return _differing(effect), max(sizes, default=0.0)


def _name(effect: FactorEffect) -> str:
    return _text(effect.factor, effect.reference)


def _text(factor: str, level: str) -> str:
    return f"HTTP/{level}" if factor == "http_version" else level
