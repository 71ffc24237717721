"""What a conformance test found, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from httpbed.addons.conformance import certificate, conformance_figures
from httpbed.addons.conformance.competition import SharedTransfer
from httpbed.addons.conformance.identification import Identification
from httpbed.addons.conformance.judgement import Judgement
from httpbed.addons.conformance.properties import PropertyResult, SenderTransfer
from httpbed.base import units
from httpbed.report.document import Cell, Column, RowName, Table
from httpbed.report.phrasing import brief_duration, few
from httpbed.report.sections import Document

MARKS: Mapping[bool | None, Cell] = {
    True: Cell("ok"),
    False: Cell("FAILED", tone="worse"),
    None: Cell("not seen", tone="open"),
}
MANY = 999.5
"""From here on, figures are written as whole numbers: three digits would need an exponent."""
YOURSELF = Cell("judge yourself", tone="open")


def document(judgement: Judgement, *, draws: bool) -> Document:
    """Return what a test found, a row for each property; with figures if it ``draws``."""
    evidence = judgement.evidence
    plots = conformance_figures.plots(evidence.transfers) if draws else []
    short = delivered(judgement)
    return certificate.document(
        who(judgement),
        judgement.question,
        outcome(judgement),
        table(judgement.findings),
        evidence,
        notes=[*notes(judgement)],
        plots=plots,
        further=[f"delivered, from the client's first packet: {short}"] if short else [],
    )


def table(findings: Sequence[PropertyResult]) -> Table:
    """Return a row for each property."""
    others = tuple(dict.fromkeys(name for one in findings for name in one.references))
    has_networks = any(one.network for one in findings)
    names = [one.name for one in findings]
    head = "criterion" if has_networks else "property"
    network = [Column.of("network", (one.network for one in findings))] if has_networks else []
    columns = (
        Column.of(head, names, is_name=True),
        *network,
        Column.of("seen", (figure(one.observed) for one in findings), right=True),
        *(
            Column.of(name, (figure(one.references.get(name)) for one in findings), right=True)
            for name in others
        ),
        Column.of("asked", map(tolerance, findings), right=True),
        Column.of("unit", (one.unit for one in findings)),
        Column.of("n", (str(one.n) for one in findings), right=True),
        Column(
            "",
            tuple(YOURSELF if one.is_for_the_reader else MARKS[one.passed] for one in findings),
        ),
    )
    caption = "Every property, from the packets as the emulator saw them"
    return Table("Properties", caption, columns, tuple(RowName("", name) for name in names), head)


def who(tested: Judgement | Identification, control: str = "") -> str:
    """Name the sender in a line, with ``control`` in place of its stated congestion control."""
    key = tested.key
    over = f"TCP of Linux {key.kernel}" if key.transport == "tcp" else "QUIC"
    named = f"{key.implementation} {key.version}".strip()
    texts = [named, over, control or key.congestion_control]
    texts += [f"{name} = {value}" for name, value in tested.sender.knobs.items()]
    return ", ".join(texts)


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
    return f"not passed: {texts}" + (
        f", {units.format_count(blind, 'trial')} not read" if blind else ""
    )


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
        is_held = transfers.held_window() is not None
        yield busy + (", but for a held window, which is certain" if is_held else "")
    yield from (f"not read: {blind}" for blind in judgement.evidence.unreadable)


def delivered(judgement: Judgement) -> str:
    """Return how long short transfers take."""
    texts = (
        f"{units.format_size(size)} in {brief_duration(seconds)}"
        if seconds is not None
        else f"{units.format_size(size)} never"
        for size, seconds in judgement.short_s.items()
    )
    return ", ".join(texts)
