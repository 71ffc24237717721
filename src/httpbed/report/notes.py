"""The answer in plain words, and notes that name what limits it and the way out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.analysis.compare import EQUAL_MARGIN, LEAST_BLOCKS, Ratio
from httpbed.analysis.estimate import CONFIDENCE
from httpbed.analysis.findings import Condition, Findings, Row
from httpbed.analysis.sample import OVER_BEFORE_THE_END, Tally
from httpbed.report import network, senders
from httpbed.report.manifest import uncovered
from httpbed.report.phrasing import (
    agreeing_blocks,
    base_name,
    duration,
    percent,
    ratio_interval,
    ratio_text,
    title,
    treatment,
)
from httpbed.store.results import Results

MOST_SENTENCES = 6
"""Above so many comparisons the answer sums up instead of telling each."""
MOST_OF_A_KIND = 3
"""Above so many notes of one kind the rest is counted in one line."""
HOPELESS_BLOCKS = 1000
MOST_REASON = 160
"""Characters of a foreign program's reason that are shown."""


def answer(findings: Findings, document: Mapping[str, Any]) -> list[str]:
    """Tell the comparisons of each condition in whole sentences."""
    compared = [(c, row, row.ratio) for c, row in findings.rows() if row.ratio]
    if not compared:
        return [_without_comparison(findings)]
    link = network.fixed(document)
    opening = [f"The link: {link}."] if link else []
    if len(compared) > MOST_SENTENCES:
        return [*opening, *_summed_up(findings, document, compared)]
    told = [
        f"{_at(document, condition)}{_comparison(findings, row, ratio)}."
        for condition, row, ratio in compared
    ]
    return [*opening, *(sentence[:1].upper() + sentence[1:] for sentence in told)]


def notes(findings: Findings, results: Results) -> list[str]:
    """List what limits the findings, each with its remedy."""
    document = results.document
    return [
        *_progress(findings),
        *_few(list(_endings(findings, document)), "treatments with trials that did not complete"),
        *_few(list(_gaps(findings, document)), "treatments with missing values"),
        *_few(list(_open(findings, document)), "comparisons within noise"),
        *_coverage(findings),
        *_uncovered(results.manifest),
        *_few(
            list(senders.warnings(results.manifest)),
            "senders failed or untested",
        ),
    ]


def _without_comparison(findings: Findings) -> str:
    valued = sum(1 for _, row in findings.rows() if row.estimate)
    if not valued:
        return f"No trial has given a value of {title(findings.metric)} yet."
    return f"Nothing is compared: {valued} treatment{'s' * (valued > 1)} with values, no pairs."


def _at(document: Mapping[str, Any], condition: Condition) -> str:
    return f"at {network.condition(document, condition.levels)}, " if condition.levels else ""


def _named(findings: Findings, document: Mapping[str, Any], c: Condition, row: Row) -> str:
    label = treatment(row.levels, findings.others)
    return f"{label} at {network.condition(document, c.levels)}" if c.levels else label


def _comparison(findings: Findings, row: Row, ratio: Ratio) -> str:
    subject = treatment(row.levels, findings.others)
    base = base_name(findings)
    size = ratio_text(ratio.median)
    evidence = _evidence(ratio)
    if findings.metric == "request_time":
        verb, same = f"needed {size} the time of {base}", f"needed the same time as {base}"
    else:
        metric = title(findings.metric)
        verb, same = f"had {size} the {metric} of {base}", f"had the same {metric} as {base}"
    if ratio.judgement == "equal":
        return f"{subject} {same}, to within {percent(EQUAL_MARGIN)} {evidence}"
    noise = ", which is within noise" if ratio.judgement == "open" else ""
    return f"{subject} {verb}{noise} {evidence}"


def _evidence(ratio: Ratio) -> str:
    if ratio.interval is None:
        return f"({ratio.n} block, so no interval)"
    covers = percent(min(CONFIDENCE, ratio.interval.coverage))
    sides = {"less": "less in ", "more": "more in "}.get(ratio.judgement)
    blocks = f"{sides}{agreeing_blocks(ratio)}" if sides else f"{ratio.n} blocks"
    return f"({covers} interval {ratio_interval(ratio.interval)}; {blocks})"


def _summed_up(
    findings: Findings, document: Mapping[str, Any], compared: list[tuple[Condition, Row, Ratio]]
) -> Iterator[str]:
    subjects = dict.fromkeys(treatment(row.levels, findings.others) for _, row, _ in compared)
    for subject in subjects:
        own = [
            (c, ratio)
            for c, row, ratio in compared
            if treatment(row.levels, findings.others) == subject
        ]
        yield _sum_of_one(findings, document, subject, own)


def _sum_of_one(
    findings: Findings,
    document: Mapping[str, Any],
    subject: str,
    own: list[tuple[Condition, Ratio]],
) -> str:
    counts = {
        words: sum(ratio.judgement == judgement for _, ratio in own)
        for judgement, words in (
            ("less", "less"),
            ("more", "more"),
            ("equal", f"equal to within {percent(EQUAL_MARGIN)}"),
            ("open", "within noise"),
        )
    }
    told = ", ".join(f"{words} in {count}" for words, count in counts.items() if count)
    lowest = min(own, key=lambda pair: pair[1].median.value)
    highest = max(own, key=lambda pair: pair[1].median.value)
    ends = " to ".join(
        f"{ratio_text(ratio.median)} (at {network.condition(document, condition.levels)})"
        for condition, ratio in (lowest, highest)
    )
    what = f"{title(findings.metric)} of {subject} against {base_name(findings)}"
    return f"{what[:1].upper()}{what[1:]}, over {len(own)} conditions: {told}; from {ends}."


def _progress(findings: Findings) -> Iterator[str]:
    tally = findings.tally
    started = sum(tally.outcomes.values())
    if started < tally.planned:
        yield (
            f"{started} of {tally.planned} trials have run so far; the same httpbed run goes on"
            " where it stopped"
        )
    if remaining := tally.outcomes["invalid"]:
        yield (
            f"{remaining} trial{'s' * (remaining > 1)} without a valid attempt, for the bed failed"
            f" each time: {_reason(tally, 'invalid')}; a quieter machine, fewer --jobs or a lower"
            " rate can mend it; the validity section of the report lists every attempt"
        )


def _endings(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    for condition, row in findings.rows():
        for outcome in ("timed out", "failed", "unsupported"):
            count = row.tally.outcomes[outcome]
            if not count:
                continue
            said = f"{count} of {row.tally.planned} {outcome}"
            if outcome == "timed out":
                why = f" ({_late(findings.metric, row)})"
            else:
                why = f": {_reason(row.tally, outcome)}"
            yield f"{_named(findings, document, condition, row)}: {said}{why}"


def _late(metric: str, row: Row) -> str:
    if row.sample.side:
        return f"ranked as longer than {duration(row.limit_s)}, left out of the mean"
    if metric in OVER_BEFORE_THE_END:
        return f"{title(metric)} was over before, and counts where observed"
    return f"left out: {title(metric)} is of whole transfers"


def _reason(tally: Tally, outcome: str) -> str:
    """Name the commonest reason, and how many others there are."""
    reasons = [said for (of, said), _ in tally.reasons.most_common() if of == outcome]
    reason, *others = reasons
    shown = reason if len(reason) <= MOST_REASON else reason[: MOST_REASON - 1] + "…"
    return shown + (f", and {len(others)} other reason{'s' * (len(others) > 1)}" if others else "")


def _gaps(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    for condition, row in findings.rows():
        name = _named(findings, document, condition, row)
        if missing := row.sample.not_observed:
            said = f"{title(findings.metric)} was not observed in {missing}"
            yield f"{name}: {said} of {row.tally.completed} completed trials"
        if row.ratio and row.ratio.undefined:
            yield (
                f"{name}: {row.ratio.undefined} blocks give no ratio, for both trials timed out"
                " or the base is zero"
            )


def _open(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    for condition, row in findings.rows():
        ratio = row.ratio
        if ratio is None or ratio.judgement != "open":
            continue
        what = f"{ratio_text(ratio.median)} of {_named(findings, document, condition, row)}"
        yield f"{what} is within noise for n = {ratio.n}; {_remedy(ratio)}"


def _remedy(ratio: Ratio) -> str:
    blocks = ratio.blocks_to_settle
    if blocks is None:
        return f"at least {LEAST_BLOCKS} blocks can settle it (replicates = {LEAST_BLOCKS})"
    if blocks > HOPELESS_BLOCKS:
        return f"more than {HOPELESS_BLOCKS} blocks would be needed to settle it"
    return f"about {blocks} blocks would settle it (replicates = {blocks})"


def _coverage(findings: Findings) -> Iterator[str]:
    intervals = [row.estimate.interval for _, row in findings.rows() if row.estimate]
    short = {i.coverage for i in intervals if i and not i.reaches_confidence}
    if short:
        covered = " or ".join(percent(share) for share in sorted(short))
        yield (
            f"with fewer than 6 blocks an interval runs from the smallest to the largest value and"
            f" covers {covered}, not 95 %; replicates = 6 reaches it"
        )
    if any(interval is None for interval in intervals):
        yield "a single value has no interval; replicates = 6 gives one of 95 %"


def _uncovered(manifest: Mapping[str, Any]) -> Iterator[str]:
    if reasons := uncovered(manifest):
        listed = "; ".join(_few(reasons, "reasons"))
        yield f"not covered by the link certificate: {listed}; httpbed calibrate makes a new one"


def _few(told: list[str], kind: str) -> list[str]:
    if len(told) <= MOST_OF_A_KIND:
        return told
    shown = told[: MOST_OF_A_KIND - 1]
    return [*shown, f"and {len(told) - len(shown)} more {kind}"]
