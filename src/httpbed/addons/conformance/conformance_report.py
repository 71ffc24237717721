"""What a conformance test or a competition found: the terminal's table, and HTML with plots.

A competition shows each sender's share of the bottleneck, by queue length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from rich.table import Table
from rich.text import Text

from httpbed.addons.conformance import certificate, envelope_report
from httpbed.addons.conformance import windows_report as windows
from httpbed.addons.conformance.competition import (
    ONE_WAY_S,
    RATE_BIT_S,
    SharedTransfer,
    Split,
)
from httpbed.addons.conformance.identification import Identification
from httpbed.addons.conformance.judgement import ConformanceEvidence, Judgement
from httpbed.addons.conformance.properties import PropertyResult, SenderTransfer
from httpbed.base import units
from httpbed.report import markdown as written
from httpbed.report import svg, templating
from httpbed.report.figures import Plot
from httpbed.report.phrasing import few
from httpbed.report.terminal import Console

TEMPLATE = "conformance.html.j2"
KEY_WIDTH, COMPETITION_KEY_WIDTH = 9, 10
MARKS = {True: ("ok", "green"), False: ("FAILED", "red"), None: ("not seen", "yellow")}
MANY = 999.5
"""From here on, figures are written as whole numbers: three digits would need an exponent."""
YOURSELF = ("judge yourself", "dim")
RIGHT = frozenset({"seen", "reno", "cubic", "asked", "n"})
TONES = {True: "better", False: "worse", None: ""}


def show(judgement: Judgement, record: Path | None, page: Path | None, out: Console) -> None:
    """Print the judgement: a line for each property, then what it rests on."""
    out.print(Text(f"{'sender':<{KEY_WIDTH}}  {who(judgement)}"), soft_wrap=True)
    out.print(Text(f"{'question':<{KEY_WIDTH}}  {judgement.question}"), soft_wrap=True)
    out.print()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for name in head(judgement):
        table.add_column(name, justify="right" if name in RIGHT else "left")
    for finding in judgement.findings:
        table.add_row(*map(Text, cells(judgement, finding)), Text(*mark(finding)))
    out.print(table)
    out.print()
    for key, line in closing(judgement, record, page):
        out.print(Text(f"{key:<{KEY_WIDTH}}  {line}"), soft_wrap=True)


def who(tested: Judgement | Identification, control: str = "") -> str:
    """Name the sender in a line, with its ``control`` instead of the one it is said to use."""
    key = tested.key
    over = f"TCP of Linux {key.kernel}" if key.transport == "tcp" else "QUIC"
    named = f"{key.implementation} {key.version}".strip()
    texts = [named, over, control or key.congestion_control]
    texts += [f"{name} = {value}" for name, value in tested.sender.knobs.items()]
    return ", ".join(texts)


def references(judgement: Judgement) -> tuple[str, ...]:
    """Return the names of the senders whose figures stand beside."""
    return tuple(
        dict.fromkeys(name for finding in judgement.findings for name in finding.references)
    )


def _has_networks(judgement: Judgement) -> bool:
    return any(finding.network for finding in judgement.findings)


def head(judgement: Judgement) -> list[str]:
    """Return the columns of the findings; the last one is the verdict's."""
    first = ["criterion", "network"] if _has_networks(judgement) else ["property"]
    return [*first, "seen", *references(judgement), "asked", "unit", "n", ""]


def cells(judgement: Judgement, finding: PropertyResult) -> list[str]:
    """Return a finding's cells below :func:`head`, without the verdict."""
    return [
        finding.name,
        *([finding.network] if _has_networks(judgement) else []),
        figure(finding.observed),
        *(figure(finding.references.get(name)) for name in references(judgement)),
        tolerance(finding),
        finding.unit,
        str(finding.n),
    ]


def mark(finding: PropertyResult) -> tuple[str, str]:
    """Return the verdict's word and colour."""
    return YOURSELF if finding.is_for_the_reader else MARKS[finding.passed]


def figure(value: float | None) -> str:
    """Write a figure with three digits."""
    if value is None:
        return "-"
    text = f"{value:.3g}" if abs(value) < MANY else f"{value:.0f}"
    return "0" if text == "-0" else text


def tolerance(finding: PropertyResult) -> str:
    """Write the tolerance of a property."""
    low, high = finding.low, finding.high
    if finding.is_open:
        return ""
    if high == float("inf"):
        return f">= {figure(low)}"
    return f"<= {figure(high)}" if low == 0 else f"{low:g} .. {high:g}"


def outcome(judgement: Judgement) -> str:
    """Return the result of the test as a sentence."""
    transfers = judgement.evidence.transfers
    if not (transfers.every or transfers.shared):
        hindered = judgement.evidence.invalid
        return f"nothing judged: {'no trial is valid' if hindered else 'no download succeeded'}"
    findings = [finding for finding in judgement.findings if not finding.is_for_the_reader]
    left = len(judgement.findings) - len(findings)
    yours = f"; {left} figures for you to judge" if left else ""
    unseen = sum(finding.passed is None for finding in findings)
    if judgement.passed and not findings:
        return f"{left} figures for you to judge; none has a bound"
    if judgement.passed:
        as_what = f"as {judgement.sender.judged_as}" if not left else "with a bound"
        return f"passed: {len(findings)} of {len(findings)} properties {as_what}{yours}"
    texts = f"{len(judgement.failed)} of {len(findings)} properties out of tolerance"
    texts += f", {unseen} not seen{yours}" if unseen else yours
    blind = len(judgement.evidence.unreadable)
    return f"not passed: {texts}" + (f", {blind} trial(s) not read" if blind else "")


def notes(judgement: Judgement) -> Iterator[str]:
    """Yield what explains the figures."""
    causes: dict[str, list[str]] = {}
    for finding in judgement.findings:
        if finding.why:
            causes.setdefault(finding.why, []).append(finding.name)
    for why, names in causes.items():
        yield f"{', '.join(few(names, 'properties'))}: {why}"
    yield from judgement.remarks
    transfers = judgement.evidence.transfers
    trials: list[SenderTransfer | SharedTransfer] = [*transfers.every, *transfers.shared]
    strained = sum(trial.strained for trial in trials)
    if strained:
        ran = f"{strained} of {len(trials)} trials ran on a busy machine"
        busy = f"{ran}: what fails there is not judged"
        yield busy + (", but for a held window, which is certain" if _is_held(judgement) else "")
    yield from (f"not read: {blind}" for blind in judgement.evidence.unreadable)


def _is_held(judgement: Judgement) -> bool:
    return judgement.evidence.transfers.held_window() is not None


def delivered(judgement: Judgement) -> str:
    """Return how long short transfers take."""
    texts = (
        f"{units.format_size(size)} in {units.format_duration(seconds, units.SHORT_DIGITS)}"
        if seconds is not None
        else f"{units.format_size(size)} never"
        for size, seconds in judgement.short_s.items()
    )
    return ", ".join(texts)


def closing(
    judgement: Judgement, record: Path | None, page: Path | None
) -> Iterator[tuple[str, str]]:
    """Yield the lines below the table, each with its key."""
    yield "outcome", outcome(judgement)
    for note in notes(judgement):
        yield "note", note
    if judgement.short_s:
        yield "short", f"delivered, from the client's first packet: {delivered(judgement)}"
    if record is not None:
        yield "record", str(record)
    if page is not None:
        yield "page", str(page)


def render(judgement: Judgement) -> str:
    """Render the report."""
    columns = head(judgement)
    rows = [
        {
            "cells": list(zip(columns, cells(judgement, finding), strict=False)),
            "mark": mark(finding)[0],
            "tone": TONES[finding.passed],
        }
        for finding in judgement.findings
    ]
    return templating.render(
        TEMPLATE,
        __package__,
        sender=who(judgement),
        question=judgement.question,
        columns=columns,
        right=RIGHT,
        outcome=outcome(judgement),
        rows=rows,
        notes=list(notes(judgement)),
        delivered=delivered(judgement),
        plots=[
            {"caption": plot.caption, "name": plot.name, "svg": svg.inline(plot)}
            for plot in _plots(judgement)
        ],
        **certificate.shown(judgement.evidence),
    )


def _plots(judgement: Judgement) -> Iterator[Plot]:
    transfers = judgement.evidence.transfers
    yield from envelope_report.plots(transfers)
    yield from windows.plots(transfers, judgement.sender.judged_as)


def markdown(judgement: Judgement) -> str:
    """Write the report as Markdown, without its plots."""
    columns = head(judgement)
    rows = (
        map(written.escaped, (*cells(judgement, finding), mark(finding)[0]))
        for finding in judgement.findings
    )
    answer = outcome(judgement)
    lines = [
        f"# {written.escaped(judgement.question)}",
        "",
        f"{written.escaped(who(judgement))}. {written.escaped(answer[:1].upper() + answer[1:])}.",
        "",
        *written.table(columns, [name in RIGHT for name in columns], map(tuple, rows)),
        "",
        *(f"- {written.escaped(note)}" for note in notes(judgement)),
        "",
        *certificate.markdown(judgement.evidence),
    ]
    return "\n".join(lines) + "\n"


def show_competition(flows: Sequence[str], evidence: ConformanceEvidence, out: Console) -> None:
    """Print a line for each network, with the medians of its trials."""
    link = f"{units.format_rate(RATE_BIT_S)}, {units.format_duration(2 * ONE_WAY_S)} round trip"
    out.print(Text(f"{'bottleneck':<{COMPETITION_KEY_WIDTH}}  {link}, droptail"))
    out.print()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("queue")
    for name in (*flows, "Jain", "queue delay p50", "p95", "used", "n"):
        table.add_column(name, justify="right")
    for network in evidence.transfers.planned:
        if trials := evidence.transfers.sharing(network.name):
            table.add_row(*map(Text, _cells(network.name, [trial.split for trial in trials])))
    out.print(table)
    out.print()
    for reason in evidence.unreadable:
        out.print(Text(f"{'note':<{COMPETITION_KEY_WIDTH}}  not read: {reason}"), soft_wrap=True)


def _cells(queue: str, trials: Sequence[Split]) -> list[str]:
    shares = zip(*(trial.shares for trial in trials), strict=True)
    return [
        queue,
        *(units.format_share(round(median(share), 3)) for share in shares),
        f"{_of(trials, lambda split: split.jain):.2f}",
        _delay(trials, "p50"),
        _delay(trials, "p95"),
        units.format_share(round(_of(trials, lambda split: split.utilisation), 3)),
        str(len(trials)),
    ]


def _delay(trials: Sequence[Split], quantile: str) -> str:
    seconds = _of(trials, lambda split: split.queue_delay_s.get(quantile, 0.0))
    return units.format_duration(seconds, units.SHORT_DIGITS)


def _of(trials: Sequence[Split], figure: Callable[[Split], float]) -> float:
    return median(map(figure, trials))
