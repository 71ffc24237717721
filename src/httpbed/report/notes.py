"""The answer in plain words, and notes that name what limits it and the way out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.analysis.comparison import EQUAL_MARGIN, LEAST_BLOCKS, Ratio
from httpbed.analysis.estimate import CONFIDENCE
from httpbed.analysis.findings import FAIRNESS, Condition, Findings, Row
from httpbed.analysis.sample import Tally
from httpbed.experiment.metric import METRICS, Censoring
from httpbed.report import ceilings, handovers, network, senders
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
Comparison = tuple[Condition, Row, Ratio]
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
    if len(compared) > 1 and all(ratio.judgement == "open" for _, _, ratio in compared):
        return [*opening, _nothing_settled(findings, document, compared)]
    if len(compared) > MOST_SENTENCES:
        return [*opening, *_summed_up(findings, document, compared)]
    told = [
        f"{_at(document, condition)}{_comparison(findings, row, ratio)}."
        for condition, row, ratio in compared
    ]
    return [*opening, *told]


def notes(findings: Findings, results: Results) -> list[str]:
    """List what limits the findings, each with its remedy."""
    document = results.document
    return [
        *_damaged(results),
        *_progress(findings),
        *_few(list(_endings(findings, document)), "treatments with trials that did not complete"),
        *_few(list(_gaps(findings, document)), "treatments with missing values"),
        *_ceilings(findings, document),
        *_without_base(findings, document),
        *_unshared(findings, document),
        *_few(list(_open(findings, document)), "comparisons within noise"),
        *_coverage(findings),
        *_moves(findings),
        *_uncovered(results.manifest),
        *_few(list(senders.failed(results.manifest)), "senders that did not pass"),
        *_few(list(senders.untested(results.manifest)), "senders never tested for conformance"),
    ]


def _damaged(results: Results) -> Iterator[str]:
    """Name the attempts that are not as they were written, in the tables' files or in others."""
    told = [str(one) for one in results.damaged]
    if told:
        listed = "; ".join(_few(told, "attempts"))
        yield (
            f"{len(told)} attempt{'s' * (len(told) > 1)} left out, for what is there differs from"
            f" what was written: {listed}; httpbed run makes what is missing again"
        )
    drawn = [str(one) for one in results.artifacts.damaged]
    if drawn:
        listed = "; ".join(_few(drawn, "attempts"))
        yield (
            f"{len(drawn)} attempt{'s' * (len(drawn) > 1)} left out of figures, for what is there"
            f" differs from what was written: {listed}; httpbed verify names every file"
        )


def _ceilings(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    yield from _few(ceilings.never_in_force(findings), "buckets that hold a whole transfer")
    above = ceilings.exceeded(findings, lambda c, row: _named(findings, document, c, row))
    yield from _few(list(above), "treatments with a goodput above the rate")


def _moves(findings: Findings) -> Iterator[str]:
    for found, kind in (
        (handovers.silent, "treatments silent on the new link"),
        (handovers.answered, "treatments that were only answered on the new link"),
        (handovers.staying, "treatments that do not migrate"),
        (handovers.unvalidated, "treatments on paths that were not validated"),
        (handovers.twice, "treatments that fetched bytes twice"),
        (handovers.too_late, "treatments with trials that were over before"),
        (handovers.short_stalls, "notes on stalls"),
    ):
        yield from _few(list(found(findings)), kind)


def _without_comparison(findings: Findings) -> str:
    valued = sum(1 for _, row in findings.rows() if row.estimate)
    if not valued:
        return f"No trial has given a value of {title(findings.metric)} yet."
    return f"Nothing is compared: {valued} treatment{'s' * (valued > 1)} with values, no pairs."


def _at(document: Mapping[str, Any], condition: Condition) -> str:
    return f"At {network.condition(document, condition.levels)}, " if condition.levels else ""


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
    elif findings.metric == "page_load_time":
        verb = f"loaded the page in {size} the time of {base}"
        same = f"loaded the page in the same time as {base}"
    else:
        metric = title(findings.metric)
        verb, same = f"had {size} the {metric} of {base}", f"had the same {metric} as {base}"
    if ratio.judgement == "equal":
        return f"{subject} {same}, to within {percent(EQUAL_MARGIN)} {evidence}"
    noise = ", which is within noise" if ratio.judgement == "open" and ratio.interval else ""
    return f"{subject} {verb}{noise} {evidence}"


def _evidence(ratio: Ratio) -> str:
    if ratio.interval is None:
        return f"({ratio.n} block, so no interval)"
    covers = percent(min(CONFIDENCE, ratio.interval.coverage))
    sides = {"less": "less in ", "more": "more in "}.get(ratio.judgement)
    blocks = f"{sides}{agreeing_blocks(ratio)}" if sides else f"{ratio.n} blocks"
    return f"({covers} interval {ratio_interval(ratio.interval)}; {blocks})"


def _nothing_settled(
    findings: Findings, document: Mapping[str, Any], compared: list[Comparison]
) -> str:
    """Say it once, with the extremes, where no comparison is more than noise."""
    lowest, *_, highest = sorted(compared, key=lambda one: one[2].median.value)
    ends = " to ".join(
        f"{ratio_text(ratio.median)} ({_named(findings, document, condition, row)})"
        for condition, row, ratio in (lowest, highest)
    )
    sizes = sorted({ratio.n for _, _, ratio in compared})
    n = " .. ".join(dict.fromkeys(map(str, (sizes[0], sizes[-1]))))
    what = f"{title(findings.metric)} against {base_name(findings)}"
    all_of_them = "both" if len(compared) == 2 else f"all {len(compared)}"  # noqa: PLR2004
    why = "of a single block, without an interval" if sizes == [1] else "within noise"
    return (
        f"Nothing is settled at n = {n}: {all_of_them} comparisons are {why}."
        f" {what[:1].upper()}{what[1:]} went from {ends}."
    )


def _summed_up(
    findings: Findings, document: Mapping[str, Any], compared: list[Comparison]
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
    what = f"{what[:1].upper()}{what[1:]}"
    if len(own) == 1:
        (word,) = (words for words, count in counts.items() if count)
        return f"{what}: {ratio_text(lowest[1].median)}, {word}."
    return f"{what}, over {len(own)} conditions: {told}; from {ends}."


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
    limit = duration(row.limit_s)
    what = "loads" if row.bands is not None else "transfers"
    below = f"ranked below everything within {limit}, left out of the mean"
    by_censoring: Mapping[Censoring, str] = {
        "below body rate": below,
        "below response rate": below,
        "observed or longer": f"counted where observed, else ranked as longer than {limit}",
        "longer": f"ranked as longer than {limit}, left out of the mean",
        "observed": f"{title(metric)} ended before the limit and counts where observed",
        "unknown": f"left out: {title(metric)} needs whole {what}",
    }
    return by_censoring[METRICS[metric].censoring]


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


def _without_base(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    """Tell what cannot be compared, for the design leaves its base out."""
    lacking = [_named(findings, document, c, row) for c, row in findings.rows() if row.lacks_base]
    if lacking:
        verb = "is" if len(lacking) == 1 else "are"
        yield (
            f"{'; '.join(_few(lacking, 'treatments'))} {verb} compared with nothing: the design"
            f" has no {base_name(findings)} there; --base FACTOR=LEVEL names another base"
        )


def _unshared(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    """Tell where competitors never met the client."""
    if findings.metric in FAIRNESS or not document.get("competitors"):
        return
    apart = [
        _named(findings, document, condition, row)
        for condition, row in findings.rows()
        if row.tally.completed and row.share is None
    ]
    if apart:
        yield (
            f"{'; '.join(_few(apart, 'treatments'))}: nothing was shared, for the clients were"
            " never active at the same time for long enough; a larger size, or an earlier start,"
            " lets them meet"
        )


def _open(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    compared = [row.ratio for _, row in findings.rows() if row.ratio]
    alone = sum(ratio.interval is None for ratio in compared)
    if alone:
        what, it = ("comparisons", "them") if alone > 1 else ("comparison", "it")
        yield (
            f"{alone} {what} of a single block cannot be told from noise; at least {LEAST_BLOCKS}"
            f" blocks can settle {it} (replicates = {LEAST_BLOCKS})"
        )
    for condition, row in findings.rows():
        ratio = row.ratio
        if ratio is None or ratio.judgement != "open" or ratio.interval is None:
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
