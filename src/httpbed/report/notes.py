"""Notes: what limits the findings and what to do about it, one line for each kind of limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from httpbed.base import units
from httpbed.base.clock import Clock
from httpbed.base.errors import beginning
from httpbed.base.units import format_count, format_share
from httpbed.experiment import parser
from httpbed.experiment.check import all_checks
from httpbed.experiment.metric import METRICS, Censoring
from httpbed.report.answer import named
from httpbed.report.document import COLUMNS, NOTES, SECTIONS, NoteMaker, ReportInput
from httpbed.report.manifest import uncovered
from httpbed.report.phrasing import (
    FEW_BLOCKS,
    Remark,
    base_in_sentence,
    bits_per_second,
    duration,
    few,
    in_one_line,
    title,
)
from httpbed.results import attempts, estimate, selection
from httpbed.results.comparison import MIN_BLOCKS, Ratio
from httpbed.results.estimate import CONFIDENCE, MIN_VALUES
from httpbed.results.findings import FAIRNESS, Findings, Row
from httpbed.results.sample import Tally
from httpbed.store.results import Results

MAX_FORECAST = 100
"""Blocks, above which the spread of a few values forecasts nothing."""
ROUNDING = 1.005
"""A goodput above the rate by less is printed as the rate, with three digits."""
MAX_REASON = 160
"""Characters of a foreign program's reason that are shown."""


def notes(source: ReportInput) -> list[str]:
    """List what limits the findings, what matters most first, each with its remedy."""
    makers = sorted([*OWN, *NOTES.provided(source.words)], key=lambda maker: maker.place)
    return source.once("notes", lambda: [note for maker in makers for note in maker.make(source)])


def _damaged(results: Results) -> Iterator[str]:
    """Name the attempts whose files differ from what was written."""
    for damaged, left_out, remedy in (
        (results.damaged, "left out", "httpbed run repeats them"),
        (results.artifacts.damaged, "left out of figures", "httpbed verify names every file"),
    ):
        if texts := [str(damage) for damage in damaged]:
            yield (
                f"{format_count(len(texts), 'attempt')} {left_out}, because files"
                f" differ from what was written: {'; '.join(few(texts, 'attempts'))}; {remedy}"
            )


def _selected(findings: Findings) -> Iterator[str]:
    """Name programs whose invalid attempts exceed the others'."""
    if arms := findings.selected:
        places = "; ".join(few([*map(selection.in_words, arms)], "arms"))
        yield (
            f"{places}; httpbed claims and gate refuse such results; what made these attempts"
            " invalid stands in the validity section of the report; further blocks dilute an"
            " excess by chance"
        )


def _pauses(results: Results) -> Iterator[str]:
    """Name the blocks whose trials do not share the state of the machine.

    In virtual time that state does not matter.
    """
    if results.manifest.get("clock") != "virtual" and (pauses := attempts.pauses_s(results)):
        blocks = ", ".join(few([str(block) for block in pauses], "blocks"))
        longest = units.format_long_duration(max(pauses.values()))
        yield (
            f"trials of one block ran up to {longest} apart (blocks: {blocks}): what changed on the"
            " machine meanwhile counts as a difference of their treatments; further blocks"
            " (replicates) run without a pause"
        )


def _stopped(manifest: Mapping[str, Any]) -> Iterator[str]:
    if until := manifest.get("until"):
        yield (
            f"each treatment ran until its interval was narrow ({until}): such intervals miss the"
            f" true median in up to {format_share(estimate.MISSED)} of cases, not in 5 %;"
            " comparisons keep their error rate"
        )


def _ceilings(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    buckets = few(_never_in_force(findings), "buckets that hold a whole transfer")
    if buckets:
        yield "; ".join(buckets)
    above = _exceeded(findings, document)
    yield from in_one_line(above, "treatments with a goodput above the rate")


def _never_in_force(findings: Findings) -> list[str]:
    """Name each bucket that holds a whole transfer, once for all treatments that pass it."""
    texts = (
        bucket.warning() for _, row in findings.rows() for bucket in row.buckets if bucket.holds_all
    )
    return list(dict.fromkeys(texts))


def _exceeded(findings: Findings, document: Mapping[str, Any]) -> Iterator[Remark]:
    """Name treatments whose median goodput is above the rate for another reason."""
    for condition, row in findings.rows():
        # A transfer that the time limit ended has a bound in place of a goodput.
        if not row.goodput or row.goodput.beyond or not row.ceiling_bit_s:
            continue
        is_marked = any(bucket.holds_all for bucket in row.buckets)
        if not is_marked and row.goodput.value > ROUNDING * row.ceiling_bit_s:
            goodput, rate = bits_per_second(row.goodput.value), bits_per_second(row.ceiling_bit_s)
            why, remedy = _why(row)
            name = named(findings, document, condition, row)
            yield Remark(name, f"goodput of {goodput} at {rate}, {why}", remedy)


def _why(row: Row) -> tuple[str, str]:
    """Return the reason of a goodput above the rate, and the remedy."""
    if deepest := max(
        row.buckets, key=lambda bucket: bucket.burst_bytes / max(bucket.size, 1), default=None
    ):
        burst, size = units.format_size(deepest.burst_bytes), units.format_size(deepest.size)
        return (
            f"because the bucket of {burst} passes that much of {size} at line speed",
            "lower burst, or fetch more",
        )
    return (
        "which is the mean of a rate that varies: a short transfer can meet its fast part",
        "fetch more to measure the mean",
    )


def _progress(findings: Findings, results: Results) -> Iterator[str]:
    tally = findings.tally
    started = sum(tally.outcomes.values())
    if started < tally.planned:
        yield (
            f"{started} of {tally.planned} trials have run so far; the same httpbed run goes on"
            " where it stopped"
        )
    if remaining := tally.outcomes["invalid"]:
        counted = attempts.why_invalid(results).most_common()
        reasons = few(
            [f"{count} by {beginning(why, MAX_REASON)}" for why, count in counted], "reasons"
        )
        ranks = ""
        if METRICS[findings.metric].side:
            ranks = " They rank as worst, and settle no comparison."
        yield (
            f"{format_count(remaining, 'trial')} without a valid attempt, because the bed"
            f" failed each time ({', '.join(reasons)}).{ranks}"
            f" {_again(findings.clock, results)}. The validity section of the report lists every"
            " attempt"
        )


def _again(clock: Clock, results: Results) -> str:
    """Write what helps, and what another attempt may change."""
    if clock == "virtual":
        return (
            "The same command repeats only attempts that were broken off, as by a guest that died"
            " or by a lost worker; others would end the same way"
        )
    again = "The same command tries again; a quiet machine, fewer --jobs or a lower rate can help"
    if attempts.lack_for_strain(results):
        return (
            f"{again}. --clock virtual, in another folder (-o), is not disturbed by other programs"
        )
    return again


def _endings(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    """State for each outcome how many trials ended so, where and why."""
    for outcome in ("timed out", "failed", "unsupported"):
        affected = [(c, row) for c, row in findings.rows() if row.tally.outcomes[outcome]]
        if not affected:
            continue
        places = [
            f"{named(findings, document, c, row)}:"
            f" {row.tally.outcomes[outcome]} of {row.tally.planned} {outcome}"
            for c, row in affected
        ]
        rows = [row for _, row in affected]
        if outcome == "timed out":
            late = dict.fromkeys(_late(findings.metric, row) for row in rows)
            why = f" ({'; or '.join(late)})"
        else:
            why = f": {_reason([row.tally for row in rows], outcome)}"
        yield "; ".join(few(places, "treatments")) + why


def _late(metric: str, row: Row) -> str:
    limit = duration(row.limit_s)
    below = f"ranked below everything within {limit}, left out of the mean"
    by_censoring: Mapping[Censoring, str] = {
        "below body rate": below,
        "below response rate": below,
        "observed or longer": f"counted where observed, else ranked as longer than {limit}",
        "longer": f"ranked as longer than {limit}, left out of the mean",
        "observed": f"{title(metric)} ended before the limit and counts where observed",
        "unknown": f"left out: {title(metric)} needs trials that complete",
    }
    return by_censoring[METRICS[metric].censoring]


def _reason(tallies: Iterable[Tally], outcome: str) -> str:
    """Name the commonest reason, and how many others there are."""
    reasons = sum((tally.reasons for tally in tallies), Counter())
    texts = dict.fromkeys(text for (of, text), _ in reasons.most_common() if of == outcome)
    reason, *others = texts
    more = f", and {format_count(len(others), 'other reason')}" if others else ""
    return beginning(reason, MAX_REASON) + more


def _gaps(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    missing = [
        f"{named(findings, document, c, row)} in {row.sample.not_observed} of"
        f" {row.tally.completed} completed trials"
        for c, row in findings.rows()
        if row.sample.not_observed
    ]
    if missing:
        places = "; ".join(few(missing, "treatments"))
        yield f"{title(findings.metric)} was not observed: {places}"
    undefined = [
        f"{format_count(row.ratio.undefined, 'block')} of {named(findings, document, c, row)}"
        for c, row in findings.rows()
        if row.ratio and row.ratio.undefined
    ]
    if undefined:
        places = "; ".join(few(undefined, "treatments"))
        yield f"no ratio, because both trials timed out or the base is zero: {places}"


def _without_base(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    """Name treatments without comparison, because the design leaves their base out."""
    lacking = [named(findings, document, c, row) for c, row in findings.rows() if row.lacks_base]
    if lacking:
        verb = "is" if len(lacking) == 1 else "are"
        yield (
            f"{'; '.join(few(lacking, 'treatments'))} {verb} compared with nothing: the design"
            f" has no {base_in_sentence(findings)} there; --base FACTOR=LEVEL names another base"
        )


def _unshared(findings: Findings, document: Mapping[str, Any]) -> Iterator[str]:
    """Name treatments whose competitors never met the client."""
    if findings.metric in FAIRNESS or not document.get("competitors"):
        return
    apart = [
        named(findings, document, condition, row)
        for condition, row in findings.rows()
        if row.tally.completed and "share" not in row.fairness
    ]
    if apart:
        yield (
            f"{'; '.join(few(apart, 'treatments'))}: nothing was shared, because the clients were"
            " never active at the same time for long enough; a larger size, or an earlier start,"
            " lets them meet"
        )


def _blocks(source: ReportInput) -> Iterator[str]:
    """Say in one note what the number of blocks leaves open, and how many would do."""
    findings, replicates = source.findings, source.results.experiment.blocks
    ratios = [row.ratio for _, row in findings.rows() if row.ratio]
    # Two builds that gave the same values in virtual time are the same, in any number of blocks.
    compared = [ratio for ratio in ratios if not (findings.asks_identity and ratio.identical)]
    few_blocks = [ratio for ratio in compared if ratio.n < MIN_BLOCKS]
    noisy = [ratio for ratio in compared if ratio.judgement == "open" and ratio.n >= MIN_BLOCKS]
    texts = []
    if few_blocks:
        subject, verb = _counted(len(few_blocks), len(compared))
        sizes = " or ".join(map(str, sorted({ratio.n for ratio in few_blocks})))
        texts.append(f"{subject} {verb} not settled: n = {sizes}, and {FEW_BLOCKS} settle nothing")
    if noisy:
        subject, verb = _counted(len(noisy), len(compared))
        is_real = findings.clock == "real"
        why = "within noise" if is_real else "not settled: the blocks differ too much"
        texts.append(f"{subject} {verb} {why}")
    texts += _short_intervals(findings, replicates)
    texts += _forecast(noisy)
    if texts:
        yield "; ".join(texts)


def _counted(count: int, compared: int) -> tuple[str, str]:
    if count == 1:
        return ("the comparison" if compared == 1 else "1 comparison"), "is"
    all_of_them = "both" if compared == 2 else f"all {compared}"
    return (f"{all_of_them if count == compared else count} comparisons"), "are"


def _short_intervals(findings: Findings, replicates: int) -> Iterator[str]:
    """State what intervals of few values cover, and how many blocks give them more."""
    intervals = [row.estimate.interval for _, row in findings.rows() if row.estimate]
    remedy = _least_replicates(findings, replicates)
    if short := {i.coverage for i in intervals if i and not i.reaches_confidence}:
        covered = " or ".join(format_share(share) for share in sorted(short))
        yield (
            f"with fewer than {MIN_VALUES} blocks an interval runs from the smallest to the"
            f" largest value and covers {covered}, not {format_share(CONFIDENCE)}{remedy}"
        )
    if any(interval is None for interval in intervals):
        yield f"a single value has no interval{'' if short else remedy}"


def _least_replicates(findings: Findings, replicates: int) -> str:
    """Name the replicates that give each treatment enough values for its interval.

    Empty if they have been asked for already, because then trials are missing, not blocks, and
    where blocks lack a value, because the next ones may lack it, too.
    """
    sizes = [row.sample.n for _, row in findings.rows()]
    is_reached = replicates >= MIN_VALUES or min(sizes, default=0) < replicates
    return "" if is_reached else f", which replicates = {MIN_VALUES} reaches"


def _forecast(noisy: Sequence[Ratio]) -> Iterator[str]:
    """Say how many blocks would settle the comparisons that are within noise, if a few would."""
    needed = [ratio.blocks_to_settle for ratio in noisy if ratio.blocks_to_settle]
    within_reach = [blocks for blocks in needed if blocks <= MAX_FORECAST]
    settled = len(within_reach)
    if needed and not within_reach:
        which = "it" if len(noisy) == 1 else "any of them"
        yield f"more than {MAX_FORECAST} blocks would be needed to settle {which}"
    elif within_reach:
        all_of_them = "it" if len(noisy) == 1 else "all"
        which = all_of_them if settled == len(noisy) else f"{settled} of them"
        yield f"about {max(within_reach)} replicates would settle {which}"


def _uncovered(manifest: Mapping[str, Any]) -> Iterator[str]:
    if reasons := uncovered(manifest):
        places = "; ".join(few(reasons, "reasons"))
        remedy = "httpbed doctor calibrate makes a new one"
        yield f"not covered by the link certificate: {places}; {remedy}"


def _unread_data(source: ReportInput) -> Iterator[str]:
    """Name each kind of data of addons that are not installed."""
    results = source.results
    if tables := parser.unread_tables(results.document):
        yield f"the tables {', '.join(tables)} of the experiment"
    if kinds := parser.unread_workloads(results.document):
        yield f"the workload {', '.join(kinds)}"
    for field, ids in parser.unread_entries(results.document).items():
        yield f"the {field} {', '.join(few(ids, field))} of the experiment"
    for what, column, known in (
        ("metrics", results.observations["metric"], METRICS.keys()),
        ("checks", results.checks["check"], all_checks().keys()),
    ):
        if names := sorted({*column.unique().to_pylist()} - known):
            yield f"the {what} {', '.join(names)}"
    for seam in (SECTIONS, COLUMNS, NOTES):
        if lacking := seam.lacking(source.words):
            yield f"the {seam.name} of {', '.join(lacking)}"


def _unread(source: ReportInput) -> Iterator[str]:
    if kinds := list(_unread_data(source)):
        yield f"unread: {'; '.join(kinds)}; this httpbed and its addons do not read them"


OWN = (
    NoteMaker("unread", 5, _unread),
    NoteMaker("damaged", 10, lambda source: _damaged(source.results)),
    NoteMaker("selected", 15, lambda source: _selected(source.findings)),
    NoteMaker("progress", 20, lambda source: _progress(source.findings, source.results)),
    NoteMaker("endings", 30, lambda source: _endings(source.findings, source.document)),
    NoteMaker("gaps", 40, lambda source: _gaps(source.findings, source.document)),
    NoteMaker("pauses", 50, lambda source: _pauses(source.results)),
    NoteMaker("blocks", 70, _blocks),
    NoteMaker("no base", 75, lambda source: _without_base(source.findings, source.document)),
    NoteMaker("ceilings", 80, lambda source: _ceilings(source.findings, source.document)),
    NoteMaker("competitors", 90, lambda source: _unshared(source.findings, source.document)),
    NoteMaker("stopped", 120, lambda source: _stopped(source.results.manifest)),
    NoteMaker("certificate", 130, lambda source: _uncovered(source.results.manifest)),
)
"""The core's notes. Machines have place 60, hand-overs 100, senders 110 and 140."""
