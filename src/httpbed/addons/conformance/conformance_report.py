"""What a conformance test found, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from httpbed.addons.conformance import conformance_figures
from httpbed.addons.conformance.certificate import Certificate, Row
from httpbed.addons.conformance.competition import SharedTransfer
from httpbed.addons.conformance.identification import Identification
from httpbed.addons.conformance.judgement import Judgement
from httpbed.addons.conformance.properties import PropertyResult, SenderTransfer
from httpbed.base import units
from httpbed.report.phrasing import few

MARKS = {
    True: ("ok", "better", "green"),
    False: ("FAILED", "worse", "red"),
    None: ("not seen", "", "yellow"),
}
"""A verdict's word, and its tone on a page and on a terminal."""
MANY = 999.5
"""From here on, figures are written as whole numbers: three digits would need an exponent."""
YOURSELF = ("judge yourself", "", "dim")


def certificate(judgement: Judgement) -> Certificate:
    """Return what a test found, a row for each property."""
    names = tuple(dict.fromkeys(name for one in judgement.findings for name in one.references))
    has_networks = any(finding.network for finding in judgement.findings)
    first = ("criterion", "network") if has_networks else ("property",)
    return Certificate(
        sender=who(judgement),
        question=judgement.question,
        answer=outcome(judgement),
        columns=(*first, "seen", *names, "asked", "unit", "n", ""),
        right={"seen", *names, "asked", "n"},
        caption="Every property, from the packets as the emulator saw them",
        rows=[_row(finding, names, has_networks) for finding in judgement.findings],
        notes=list(notes(judgement)),
        evidence=judgement.evidence,
        plots=lambda: conformance_figures.plots(
            judgement.evidence.transfers, judgement.sender.judged_as
        ),
        delivered=delivered(judgement),
    )


def _row(finding: PropertyResult, references: Sequence[str], has_networks: bool) -> Row:
    mark, tone, style = YOURSELF if finding.is_for_the_reader else MARKS[finding.passed]
    cells = (
        finding.name,
        *([finding.network] if has_networks else []),
        figure(finding.observed),
        *(figure(finding.references.get(name)) for name in references),
        tolerance(finding),
        finding.unit,
        str(finding.n),
        mark,
    )
    return Row(cells, tone, style)


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
        is_held = transfers.held_window() is not None
        yield busy + (", but for a held window, which is certain" if is_held else "")
    yield from (f"not read: {blind}" for blind in judgement.evidence.unreadable)


def delivered(judgement: Judgement) -> str:
    """Return how long short transfers take."""
    texts = (
        f"{units.format_size(size)} in {units.format_duration(seconds, units.SHORT_DIGITS)}"
        if seconds is not None
        else f"{units.format_size(size)} never"
        for size, seconds in judgement.short_s.items()
    )
    return ", ".join(texts)
