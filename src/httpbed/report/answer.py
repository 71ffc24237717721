"""The answer to an experiment's question: one sentence for each finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.analysis.comparison import EQUAL_MARGIN, Judgement, Ratio
from httpbed.analysis.estimate import CONFIDENCE
from httpbed.analysis.findings import Condition, Findings, Row
from httpbed.experiment.metric import METRICS
from httpbed.report import network
from httpbed.report.phrasing import (
    agreeing_blocks,
    base_in_sentence,
    listed,
    percent,
    ratio_interval,
    ratio_text,
    sentence_case,
    title,
    treatment_in_sentence,
)

MOST_SENTENCES = 6
"""With more findings the answer counts them for each treatment."""
Comparison = tuple[Condition, Row, Ratio]
WORDS: Mapping[Judgement, str] = {
    "less": "less",
    "more": "more",
    "equal": f"equal to within {percent(EQUAL_MARGIN)}",
    "open": "within noise",
}


@dataclass(frozen=True)
class Sentence:
    """One finding."""

    text: str
    """Without its full stop."""
    evidence: str = ""
    """Interval and number of blocks; empty for a sentence without figures of its own."""

    def __str__(self) -> str:
        return f"{self.text} ({self.evidence})." if self.evidence else f"{self.text}."


def answer(
    findings: Findings, document: Mapping[str, Any], *, with_link: bool = True
) -> list[Sentence]:
    """State what the comparisons show, condition by condition; at first what the link is."""
    compared = [(c, row, row.ratio) for c, row in findings.rows() if row.ratio]
    if not compared:
        return [Sentence(_without_comparison(findings))]
    link = network.fixed(document) if with_link else ""
    opening = [Sentence(f"The link: {link}")] if link else []
    if len(compared) > 1 and all(ratio.judgement == "open" for _, _, ratio in compared):
        return [*opening, _nothing_settled(findings, document, compared)]
    by_condition = [
        sentence
        for condition in findings.conditions
        for sentence in _of_condition(findings, document, condition)
    ]
    if len(by_condition) > MOST_SENTENCES:
        return [*opening, *_summed_up(findings, document, compared)]
    return [*opening, *by_condition]


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
    noisy = [(row, ratio) for row, ratio in compared if ratio.judgement == "open"]
    together = noisy if len(noisy) > 1 and all(ratio.interval for _, ratio in noisy) else []
    for row, ratio in compared:
        if (row, ratio) not in together:
            sentence = _comparison(findings, row, ratio)
            yield Sentence(sentence_case(place + sentence.text), sentence.evidence)
    if together:
        yield _within_noise(findings, place, together)


def _within_noise(findings: Findings, place: str, comparisons: list[tuple[Row, Ratio]]) -> Sentence:
    subjects = listed(treatment_in_sentence(row.levels, findings.others) for row, _ in comparisons)
    sizes = listed(ratio_text(ratio.median) for _, ratio in comparisons)
    metric = title(findings.metric)
    text = f"{place}the {metric} of {subjects} is {sizes} that of {base_in_sentence(findings)}"
    return Sentence(f"{sentence_case(text)}, which is within noise")


def _comparison(findings: Findings, row: Row, ratio: Ratio) -> Sentence:
    subject = treatment_in_sentence(row.levels, findings.others)
    base = base_in_sentence(findings)
    size = ratio_text(ratio.median)
    if findings.metric == "request_time":
        verb, same = f"needed {size} the time of {base}", f"needed the same time as {base}"
    elif findings.metric == "page_load_time":
        verb = f"loaded the page in {size} the time of {base}"
        same = f"loaded the page in the same time as {base}"
    else:
        metric = title(findings.metric)
        verb, same = f"had {size} the {metric} of {base}", f"had the same {metric} as {base}"
    if ratio.judgement == "equal":
        return Sentence(f"{subject} {same}, to within {percent(EQUAL_MARGIN)}", _evidence(ratio))
    return Sentence(f"{subject} {verb}{_reservation(ratio)}", _evidence(ratio))


def _reservation(ratio: Ratio) -> str:
    """Return why a comparison settles nothing; empty if it does."""
    if ratio.judgement != "open":
        return ""
    return ", which is within noise" if ratio.interval else " in a single block, which may be noise"


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
    lowest, *_, highest = sorted(compared, key=lambda one: one[2].median.value)
    ends = " to ".join(
        f"{ratio_text(ratio.median)} ({named(findings, document, condition, row)})"
        for condition, row, ratio in (lowest, highest)
    )
    sizes = sorted({ratio.n for _, _, ratio in compared})
    n = " .. ".join(dict.fromkeys(map(str, (sizes[0], sizes[-1]))))
    what = f"{title(findings.metric)} against {base_in_sentence(findings)}"
    all_of_them = "both" if len(compared) == 2 else f"all {len(compared)}"  # noqa: PLR2004
    why = "of a single block, without an interval" if sizes == [1] else "within noise"
    return Sentence(
        f"Nothing is settled at n = {n}: {all_of_them} comparisons are {why}."
        f" {sentence_case(what)} went from {ends}"
    )


def _summed_up(
    findings: Findings, document: Mapping[str, Any], compared: list[Comparison]
) -> Iterator[Sentence]:
    by_subject: dict[str, list[tuple[Condition, Ratio]]] = {}
    for condition, row, ratio in compared:
        subject = treatment_in_sentence(row.levels, findings.others)
        by_subject.setdefault(subject, []).append((condition, ratio))
    for subject, comparisons in by_subject.items():
        yield Sentence(_sum_of_one(findings, document, subject, comparisons))


def _sum_of_one(
    findings: Findings,
    document: Mapping[str, Any],
    subject: str,
    comparisons: list[tuple[Condition, Ratio]],
) -> str:
    what = sentence_case(
        f"{title(findings.metric)} of {subject} against {base_in_sentence(findings)}"
    )
    judgements = [ratio.judgement for _, ratio in comparisons]
    if len(comparisons) == 1:
        ((_, ratio),) = comparisons
        return f"{what}: {ratio_text(ratio.median)}, {WORDS[ratio.judgement]}"
    counts = {words: judgements.count(judgement) for judgement, words in WORDS.items()}
    texts = ", ".join(f"{words} in {count}" for words, count in counts.items() if count)
    ends = " to ".join(
        f"{ratio_text(ratio.median)} (at {network.condition(document, condition.levels)})"
        for condition, ratio in (
            min(comparisons, key=lambda pair: pair[1].median.value),
            max(comparisons, key=lambda pair: pair[1].median.value),
        )
    )
    return f"{what}, over {len(comparisons)} conditions: {texts}; from {ends}"
