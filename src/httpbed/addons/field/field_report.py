"""The table of a measurement, its sentences, and its JSON.

Medians, intervals and ratios are those of reports (``results``). A request that fails has no time.
One that was still arriving at its time limit is censored there, as a trial that times out is.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.text import Text

from httpbed.addons.field.measurement import Measurement, Wanted
from httpbed.addons.field.request import REQUEST_S, Outcome
from httpbed.base.errors import visible
from httpbed.base.units import format_count, format_duration, format_size
from httpbed.report import phrasing, terminal
from httpbed.report.document import Cell, Column, Table, Tone
from httpbed.report.phrasing import DASH
from httpbed.report.terminal import Console
from httpbed.report.terminal_report import fitted
from httpbed.results.comparison import MIN_BLOCKS, Ratio, compare
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.sample import Sample, Tally

METRIC = "request_time"
NAME_WIDTH = 13
"""Width of a fact's name, with the blanks behind it."""
SCHEMA = 1
NOT_CONTROLLED = (
    "the server: its software, load, congestion control, and which machine answers which version",
    "caches: a cache may have answered; the first look at the URL may have filled it",
    "the route: its delay, losses and queues, and middleboxes that treat UDP and TCP differently",
    "this machine: other traffic over its network, and other programs on its CPUs",
)
"""What a bed controls and field mode does not."""
SEPARATE = (
    "A difference is one between HTTP versions as this server offers them on this path now, not"
    " between the protocols. These numbers are no campaign: httpbed pools them with no other"
    " result."
)
Time = Callable[[Outcome], float | None]


def sample(measured: Measurement, version: str, time: Time) -> Sample:
    """Return the times of a version by block."""
    outcomes = measured.of(version)
    observed = {
        outcome.block: seconds
        for outcome in outcomes
        if not outcome.failure and (seconds := time(outcome)) is not None
    }
    censored = {outcome.block: REQUEST_S for outcome in outcomes if outcome.is_censored}
    tally = Tally(measured.wanted.blocks)
    return Sample(METRIC, {"http_version": version}, observed, censored, ">", tally)


def request_times(measured: Measurement) -> dict[str, Sample]:
    """Return the request times of each version."""
    return {
        version: sample(measured, version, lambda outcome: outcome.request_s)
        for version in measured.wanted.versions
    }


def ratios(measured: Measurement) -> dict[str, Ratio | None]:
    """Compare each version with the base, paired by block; the base is left out."""
    samples, base = request_times(measured), measured.wanted.base
    return {
        version: compare(one, samples[base]) for version, one in samples.items() if version != base
    }


def round_trips_s(measured: Measurement) -> list[float]:
    """Return the time of each TCP handshake: one round trip of the path."""
    return [
        outcome.tcp_handshake_s
        for outcome in measured.outcomes
        if outcome.block and outcome.tcp_handshake_s
    ]


def show(measured: Measurement, out: Console) -> None:
    """Print the table and what belongs to it; without any time, only why there is none."""
    lines = [*_heading(measured), ""]
    facts_shown = [f"{name:<{NAME_WIDTH}}{visible(text)}" for name, text in facts(measured)]
    indented = " " * NAME_WIDTH
    wrapped = [line for text in facts_shown for line in _wrapped(text, out.width, indented)]
    if not any(one.n for one in request_times(measured).values()):
        terminal.show(out, map(Text, [*lines, "nothing was measured", *wrapped]))
        return
    outside = [
        line for text in NOT_CONTROLLED for line in _wrapped(f"  - {text}", out.width, "    ")
    ]
    below = ["", *wrapped, "", "not controlled", *outside, *_wrapped(SEPARATE, out.width, "")]
    terminal.show(
        out, [*map(Text, lines), fitted(table(measured), out.width)[0], *map(Text, below)]
    )


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)


def _heading(measured: Measurement) -> Iterator[str]:
    wanted, aim = measured.wanted, measured.target
    yield visible(f"{aim.url.text}, at {aim.address}, over this machine's own network")
    requests = format_count(len(wanted.versions), "request")
    yield (
        f"{format_count(wanted.blocks, 'block')} of {requests}, each on a new connection after a"
        f" pause of {format_duration(wanted.pause_s)}"
        f"; curl {measured.curl}; seed {wanted.seed}"
    )


def table(measured: Measurement) -> Table:
    """Return a row for each HTTP version."""
    samples, compared, base = request_times(measured), ratios(measured), measured.wanted.base
    estimates = {version: estimate(one) for version, one in samples.items()}
    intervals = [one.interval for one in estimates.values() if one]
    versions = measured.wanted.versions
    against = Column(
        f"against HTTP/{base}\n[interval of the ratio]",
        tuple(
            Cell("base", tone="base") if version == base else _ratio(compared[version])
            for version in versions
        ),
    )
    return Table(
        "request times",
        "",
        (
            Column.of("HTTP", versions, is_name=True),
            Column.of("done", (_done(measured, version) for version in versions), right=True),
            Column(f"request time, median\n[{phrasing.covering(intervals)}]", _times(estimates)),
            *([against] if compared else []),
            _medians("first byte", measured, lambda outcome: outcome.first_byte_s),
            _medians("handshake\nwith TLS", measured, lambda outcome: outcome.handshake_s),
            Column.of("body", (_size(measured.of(version)) for version in versions), right=True),
        ),
    )


def _done(measured: Measurement, version: str) -> str:
    outcomes = measured.of(version)
    return f"{sum(not outcome.failure for outcome in outcomes)}/{len(outcomes)}"


def _times(estimates: dict[str, Estimate | None]) -> tuple[Cell, ...]:
    known = [one for one in estimates.values() if one]
    values = [one.median.value for one in known]
    scale = phrasing.number_format(METRIC, values)
    return tuple(
        Cell(scale.bounded(one.median), phrasing.bracketed(scale, one.interval), "main")
        if one
        else Cell(DASH)
        for one in estimates.values()
    )


def _ratio(ratio: Ratio | None) -> Cell:
    if ratio is None:
        return Cell(DASH)
    tones: dict[str, Tone] = {"less": "better", "more": "worse", "open": "open"}
    word = {"open": f" {phrasing.open_word(ratio, 'real')}", "equal": " equal"}.get(
        ratio.judgement, ""
    )
    aside = f"{phrasing.ratio_brackets(ratio.interval)}{word}"
    return Cell(phrasing.ratio_text(ratio.value), aside, tones.get(ratio.judgement, ""))


def _medians(header: str, measured: Measurement, time: Time) -> Column:
    every = [
        sample(measured, version, time).observed.values() for version in measured.wanted.versions
    ]
    texts = (phrasing.brief_duration(median(values)) if values else DASH for values in every)
    return Column.of(header, texts, right=True)


def _size(outcomes: Sequence[Outcome]) -> str:
    sizes = sorted({outcome.bytes for outcome in outcomes if not outcome.failure})
    if not sizes:
        return DASH
    ends = dict.fromkeys(format_size(size, 3) for size in (sizes[0], sizes[-1]))
    return " to ".join(ends)


def facts(measured: Measurement) -> Iterator[tuple[str, str]]:
    """Yield what belongs to the table, by name."""
    if trips := round_trips_s(measured):
        least, middle, most = map(phrasing.brief_duration, (min(trips), median(trips), max(trips)))
        source = f"{format_count(len(trips), 'TCP handshake')} beside the requests"
        text = f"{middle} ({least} to {most}), from {source}; losses cannot be seen from here"
        yield "round trip", text
    elif any(outcome.block and not outcome.failure for outcome in measured.outcomes):
        yield "round trip", "not measured, for want of a TCP handshake: add 2 to --http"
    if any(outcome.block for outcome in measured.outcomes):
        yield "times", "from the first packet of a connection; the name was resolved once, before"
    yield from _about_the_server(measured)
    yield from _about_addresses(measured)
    for version, reasons in failures(measured).items():
        texts = (f"{reason} ({count} x)" for reason, count in reasons.items())
        yield "failed", f"HTTP/{version}: {'; '.join(texts)}"
    if measured.ended_early:
        yield "ended early", measured.ended_early
    yield from _notes(measured.wanted, [ratio for ratio in ratios(measured).values() if ratio])


def _notes(wanted: Wanted, compared: Iterable[Ratio]) -> Iterator[tuple[str, str]]:
    """Yield what would settle the comparisons that are open, if the bounds permit it."""
    unsettled = [ratio for ratio in compared if ratio.judgement == "open"]
    if any(ratio.n < MIN_BLOCKS for ratio in unsettled):
        yield "note", f"fewer than {MIN_BLOCKS} blocks settle nothing (--replicates)"
    elif blocks := [ratio.blocks_to_settle for ratio in unsettled if ratio.blocks_to_settle]:
        text = f"about {max(blocks)} blocks would settle what is noise"
        if max(blocks) <= wanted.most_blocks:
            yield "note", f"{text} (--replicates)"
        else:
            lifted = "" if wanted.is_own else "; --i-own-this permits more"
            yield "note", f"{text}, more than the {wanted.most_blocks} permitted{lifted}"


def _about_the_server(measured: Measurement) -> Iterator[tuple[str, str]]:
    answered = [outcome for outcome in measured.outcomes if outcome.status]
    for name, header in (("Alt-Svc", "alt-svc"), ("server", "server")):
        if texts := dict.fromkeys(
            filter(None, (outcome.headers.get(header) for outcome in answered))
        ):
            yield name, " | ".join(texts)
        elif header == "alt-svc" and any(outcome.is_success for outcome in answered):
            yield name, "none: no response offers HTTP/3"
    cached = ("age", "x-cache", "cf-cache-status")
    lines = (
        f"{name}: {outcome.headers[name]}"
        for outcome in answered
        for name in cached
        if name in outcome.headers
    )
    if kinds := [*dict.fromkeys(lines)]:
        yield "cache", "; ".join(phrasing.few(kinds, "answers"))


def _about_addresses(measured: Measurement) -> Iterator[tuple[str, str]]:
    if measured.blocks_elsewhere:
        share = f"{measured.blocks_elsewhere} of {measured.wanted.blocks} blocks"
        text = f"in {share} the name no longer had the address {measured.target.address}"
        yield "address", f"{text}; all requests went there"
    if others := measured.target.others:
        shown = ", ".join(phrasing.few([*map(str, others)], "addresses"))
        yield "address", f"the name also has {shown}, which got no request"


def failures(measured: Measurement) -> dict[str, Counter[str]]:
    """Return how often requests failed, looks included, by version and reason."""
    found = dict[str, Counter[str]]()
    for outcome in measured.outcomes:
        if outcome.failure and (outcome.block or not outcome.status):
            found.setdefault(outcome.http_version, Counter())[outcome.failure] += 1
    return found


def values(measured: Measurement) -> dict[str, Any]:
    """Return the measurement for :func:`json.dumps`; times in seconds."""
    compared, wanted = ratios(measured), measured.wanted
    return {
        "schema": SCHEMA,
        "kind": "field",
        "url": measured.target.url.text,
        "address": str(measured.target.address),
        "curl": measured.curl,
        "blocks": wanted.blocks,
        "seed": wanted.seed,
        "pause_s": wanted.pause_s,
        "base": wanted.base,
        "versions": [
            {
                "http_version": version,
                METRIC: found and found.values(),
                "ratio": ratio and ratio.values(),
            }
            for version, times in request_times(measured).items()
            for found, ratio in [(estimate(times), compared.get(version))]
        ],
        "round_trips_s": round_trips_s(measured),
        "requests": [asdict(outcome) for outcome in measured.outcomes],
        "blocks_with_another_address": measured.blocks_elsewhere,
        "ended_early": measured.ended_early or None,
        "not_controlled": [*NOT_CONTROLLED],
    }
