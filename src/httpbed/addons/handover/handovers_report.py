"""What hand-overs cost, in the tables' cells, the line of evidence and the notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from httpbed.addons.handover.handover_samples import (
    TABLED,
    HandoverCosts,
    costs_of,
    has_handovers,
)
from httpbed.experiment.metric import METRICS, Metric
from httpbed.experiment.trial import ANSWERED, MIGRATED, NEW_CONNECTION, NOTHING, UNKNOWN
from httpbed.report.document import Column, ColumnMaker, NoteMaker, ReportInput
from httpbed.report.phrasing import (
    DASH,
    Remark,
    brief_duration,
    brief_size,
    done,
    in_one_line,
    mark,
    number_format,
    treatment_in_sentence,
)
from httpbed.results.estimate import Estimate
from httpbed.results.findings import Findings
from httpbed.results.sample import Bounded

WORDS: Mapping[str, str] = {
    MIGRATED: "migrated",
    NEW_CONNECTION: "new connection",
    ANSWERED: "answered only",
    NOTHING: "silent",
    UNKNOWN: "not known",
}
WIDE = 2
"""Intervals are written where their ends differ by more than this factor."""


def brief(findings: Findings) -> Iterator[Column]:
    """Yield what stands beside the metric: the stall, and what became of connections."""
    if has_handovers(findings):
        yield _median_column(findings, METRICS["delivery_stall"])
        yield _column(findings, "hand-over", _verdict, right=False)


def whole(findings: Findings) -> list[Column]:
    """List all columns of the table of hand-overs; those without any value are left out."""
    columns = [
        Column.of("done", (done(row) for _, row in findings.rows()), right=True),
        _column(findings, "request time", _request_time(findings)),
        *(_median_column(findings, metric) for metric in TABLED),
        _column(findings, "migrations", _migrations),
        _column(findings, "on the wire", _verdict, right=False),
    ]
    return [column for column in columns if {cell.text for cell in column.cells} != {DASH}]


def evidence(findings: Findings) -> Iterator[str]:
    """Count all hand-overs by what the wire shows."""
    verdicts: Counter[str] = Counter()
    over_before = 0
    for costs in _every(findings):
        verdicts.update(costs.verdicts)
        over_before += costs.over_before
    words = {
        MIGRATED: "migrated, same connection on the wire",
        NEW_CONNECTION: "a new connection",
        ANSWERED: "answered on the new path, without data",
        NOTHING: "nothing on the new path",
        UNKNOWN: "not known",
    }
    texts = [
        f"{text} {verdicts[kind]}/{verdicts.total()}"
        for kind, text in words.items()
        if verdicts[kind]
    ]
    if over_before:
        texts.append(f"{over_before} when the client was done")
    if texts:
        yield f"hand-overs: {', '.join(texts)}"


def silent(findings: Findings) -> Iterator[Remark]:
    """Name treatments whose client got nothing on the new link."""
    for name, costs in _changing(findings):
        going = [cost for cost in costs if cost.kind != "route"]
        if count := _sum(going, NOTHING):
            text = f"silent on the new link in {count} of {_sum(going)} hand-overs"
            yield Remark(name, text, _way_out(going))


def _way_out(costs: Iterable[HandoverCosts]) -> str:
    """Advise what may help a client that fails, unless the experiment does it already."""
    if all(cost.retry == "none" and cost.kind != "blackhole" for cost in costs):
        return "a retry starts a failed client again, where the client and its server support it"
    return ""


def answered(findings: Findings) -> Iterator[Remark]:
    """Name treatments whose client got an answer on the new link, but no data."""
    for name, costs in _changing(findings):
        if count := _sum(costs, ANSWERED):
            yield Remark(
                name,
                f"answered on the new link in {count} of {_sum(costs)} hand-overs, without data: a"
                " refusal, a stateless reset or a path validation",
                "the check hand-over followed of a trial lists the packet sizes",
            )


def staying(findings: Findings) -> Iterator[Remark]:
    """Name treatments over QUIC that never migrated."""
    for name, costs in _changing(findings):
        total = _sum(costs)
        if all(cost.over_quic for cost in costs) and _sum(costs, NEW_CONNECTION) == total > 0:
            yield Remark(
                name,
                "does not migrate, though QUIC allows it: each of"
                f" {total} hand-overs made a new connection",
            )


def unvalidated(findings: Findings) -> Iterator[Remark]:
    """Name treatments that migrated to paths which no client reported as validated."""
    for name, costs in _changing(findings):
        if count := sum(cost.unvalidated for cost in costs):
            yield Remark(
                name,
                f"in {count} of {_sum(costs, MIGRATED)} hand-overs that migrated, no client"
                " reported that the new path was validated",
                "before that a server may send only three times what it receives there (RFC 9000"
                " section 8)",
            )


def twice(findings: Findings) -> Iterator[Remark]:
    """Name treatments that fetched bytes again."""
    for name, costs in _changing(findings):
        again = max((cost.median("bytes_fetched_twice") or 0 for cost in costs), default=0)
        if again:
            most = "up to " if len(costs) > 1 else ""
            yield Remark(
                name,
                f"{most}{brief_size(again)} of the body were fetched twice (median)",
                'retry = "resume" requests only the rest, where program and server support it',
            )


def too_late(findings: Findings) -> Iterator[Remark]:
    """Name treatments with trials that were over before anything changed."""
    for name, costs in _changing(findings):
        if early := sum(cost.before_any for cost in costs):
            trials = f"{early} trial{'s were' if early > 1 else ' was'}"
            yield Remark(
                name, f"{trials} over before the hand-over", "a larger size lets it come in time"
            )


def short_stalls(findings: Findings) -> Iterator[Remark]:
    """Name treatments whose stalls are shorter than a round trip."""
    for name, costs in _changing(findings):
        if any(0 < (cost.median("delivery_stall") or 0) < cost.rtt_s for cost in costs):
            yield Remark(
                name,
                "stalls shorter than the network's round trip may be gaps between packets",
                "compare longer ones only",
            )


def _changing(findings: Findings) -> Iterator[tuple[str, list[HandoverCosts]]]:
    """Yield treatments whose links change, with what they cost in each condition."""
    by_treatment: dict[str, list[HandoverCosts]] = {}
    for _, row in findings.rows():
        costs = costs_of(row)
        if costs and costs.happens:
            name = treatment_in_sentence(row.levels, findings.others)
            by_treatment.setdefault(name, []).append(costs)
    yield from by_treatment.items()


def _every(findings: Findings) -> Iterator[HandoverCosts]:
    yield from (costs for _, row in findings.rows() if (costs := costs_of(row)))


def _sum(costs: Iterable[HandoverCosts], verdict: str = "") -> int:
    """Count hand-overs that ended in one way, or all."""
    return sum(cost.verdicts[verdict] if verdict else cost.verdicts.total() for cost in costs)


def _column(
    findings: Findings, header: str, write: Callable[[HandoverCosts], str], *, right: bool = True
) -> Column:
    every = (costs_of(row) for _, row in findings.rows())
    return Column.of(
        header, (write(one) if one else DASH for one in every), right=right, wraps=True
    )


def _median_column(findings: Findings, metric: Metric) -> Column:
    return _column(findings, metric.handover_column, _of_median(metric.name, _WRITERS[metric.unit]))


_WRITERS: Mapping[str, Callable[[float], str]] = {
    "s": brief_duration,
    "byte": brief_size,
    "1": "{:g}".format,
}
"""Writes a median in the table, by the metric's unit."""


def _of_median(metric: str, write: Callable[[float], str]) -> Callable[[HandoverCosts], str]:
    """Return a writer of medians, which adds the interval where that is wide.

    Where some trials that ended have no value, it adds how many have one.
    """

    def cell(costs: HandoverCosts) -> str:
        median, whole = costs.medians.get(metric), costs.medians.get("request_time")
        if median is None:
            return DASH
        of = f" ({median.n}/{whole.n})" if whole and median.n < whole.n else ""
        middle = mark(median.median) + (write(median.median.value) if median.median.value else "0")
        return middle + _between(median, write) + of

    return cell


def _between(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Write an interval whose ends differ by a factor, because its middle may occur in no trial."""
    if estimate.interval is None:
        return ""
    low, high = estimate.interval.low, estimate.interval.high
    if not 0 < low.value * WIDE < high.value:
        return ""
    return f" ({mark(low)}{write(low.value)} .. {mark(high)}{write(high.value)})"


def _request_time(findings: Findings) -> Callable[[HandoverCosts], str]:
    medians = [costs.median("request_time") for costs in _every(findings)]
    chosen = number_format("request_time", [value for value in medians if value])
    return _of_median("request_time", lambda value: chosen.bounded(Bounded(value)))


def _migrations(costs: HandoverCosts) -> str:
    tried, failed = costs.counts["migrations"], costs.counts["migrations_failed"]
    if tried is None:
        return DASH
    return f"{tried} ({failed} failed)" if failed else str(tried)


def _verdict(costs: HandoverCosts) -> str:
    total = costs.verdicts.total()
    if not total:
        return DASH
    kind, count = max(costs.verdicts.items(), key=lambda pair: pair[1])
    stayed = kind == NOTHING and costs.kind == "route"
    return f"{'stayed' if stayed else WORDS[kind]} {count}/{total}"


def notes(source: ReportInput) -> Iterator[str]:
    """Yield a line for each kind of remark on treatments."""
    for remarks in (silent, answered, staying, unvalidated, twice, too_late, short_stalls):
        yield from in_one_line(remarks(source.findings), "treatments")


COLUMNS = ColumnMaker("handover", brief)
NOTES = NoteMaker("handover", 100, notes)
