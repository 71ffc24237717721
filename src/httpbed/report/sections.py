"""The report's own sections, and the whole document with those of addons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base.units import format_count, format_share
from httpbed.experiment.metric import METRICS
from httpbed.report import experiment_words, manifest, notes, templating, treatments
from httpbed.report.answer import answer, named, sums_up
from httpbed.report.document import (
    MAX_LISTED,
    SECTIONS,
    Block,
    Column,
    Drawn,
    Facts,
    Figure,
    Heading,
    Listing,
    Paragraph,
    ReportInput,
    RowName,
    Section,
    SectionMaker,
    Table,
    plain_table,
)
from httpbed.report.phrasing import (
    DASH,
    Sentence,
    base_name,
    covering,
    few,
    listed,
    sentence_case,
    title,
)
from httpbed.results.attempts import CheckSummary
from httpbed.results.findings import Findings
from httpbed.store.results import Results

MAX_UNFOLDED = 24
"""Treatments, or invalid attempts, in a plot or a table that is shown unfolded."""
MAX_CHANGES = 100
"""Changes of a link that the section on the network lists."""


@dataclass(frozen=True)
class Document:
    """The report of a campaign."""

    name: str
    question: str
    httpbed: str
    """The version that measured."""
    started: str
    clock: str
    """What stands beside results in virtual time; empty in real time."""
    programs: tuple[str, ...]
    """Those under test, with their versions."""
    heading: Facts
    """What the terminal says about the experiment before its results."""
    treatments: Table
    """All treatments, for terminal and Markdown."""
    answer: tuple[Sentence, ...]
    notes: tuple[str, ...]
    evidence: tuple[str, ...]
    sections: tuple[Section, ...]
    in_common: str = ""
    """The levels that all treatments have, where their names leave these out."""


def document(source: ReportInput) -> Document:
    """Build the report."""
    results, findings = source.results, source.findings
    makers = sorted([*OWN, *SECTIONS.provided(source.words)], key=lambda maker: maker.place)
    sections = [made for maker in makers if (made := maker.make(source))]
    if sections[0].id == "answer":  # then it follows the question
        sections[0] = replace(sections[0], title="")
    made_by = results.manifest
    beside = (line for section in sections for line in section.evidence)
    return Document(
        name=results.experiment.name,
        question=results.experiment.question,
        httpbed=str(made_by.get("httpbed", "")),
        started=str(made_by.get("started", "")),
        clock=manifest.clock(made_by),
        programs=manifest.versions(made_by),
        heading=Facts(tuple(_heading(results))),
        treatments=treatments.table(findings, results.document),
        answer=tuple(answer(findings, results.document, with_link=False)),
        notes=tuple(notes.notes(source)),
        evidence=(evidence(findings), *beside, manifest.certificate(made_by)),
        sections=tuple(sections),
    )


def _heading(results: Results) -> Iterator[tuple[str, str]]:
    text = results.document
    for line in filter(None, [manifest.clock(results.manifest)]):
        yield "clock", line
    for line in filter(None, [manifest.archived_tables(results)]):
        yield "tables", line
    yield from (("link", line) for line in experiment_words.sentences(text))
    yield from (("levels", experiment_words.line(one)) for one in experiment_words.legends(text))
    yield from experiment_words.further(text)
    yield from (("left out", line) for line in experiment_words.left_out(results.experiment))


def _answer(source: ReportInput) -> Section:
    findings = source.findings
    sentences = tuple(answer(findings, source.document))
    heading = "What each factor did" if sums_up(source.listed) else "All measurements"
    return Section("answer", heading, (Listing(sentences, "answer"),), in_contents="")


def _matrix(source: ReportInput) -> Section:
    findings = source.listed
    drawn = treatments.matrix(findings, source.results.experiment.report)
    blocks: list[Block] = [
        Drawn(templating.part("matrix.html.j2", matrix=drawn, metric=title(findings.metric)))
    ]
    if unlisted := _unlisted(source.findings):
        command = "httpbed report DIR --json"
        blocks.append(Paragraph(unlisted, command, "lists everything."))
    return Section("matrix", _matrix_title(findings), tuple(blocks), in_contents="Matrix")


def _matrix_title(findings: Findings) -> str:
    rows = [row for _, row in findings.rows()]
    metric = title(findings.metric)
    if any(row.ratio for row in rows):
        text = f"{sentence_case(metric)}: paired ratio to {base_name(findings)}"
        interval = covering(row.ratio.interval for row in rows if row.ratio)
    else:
        text = f"Median {metric}"
        interval = covering(row.estimate.interval for row in rows if row.estimate)
    return f"{text}, with its {interval}" if "%" in interval else text


def _unlisted(findings: Findings) -> str:
    """Say how much the tables leave out; empty if they have everything."""
    counts = {
        "treatments": sum(1 for _ in findings.rows()) - MAX_LISTED,
        "invalid attempts": len(findings.invalid) - MAX_LISTED,
    }
    texts = [f"{count} further {what}" for what, count in counts.items() if count > 0]
    if not texts:
        return ""
    return (
        f"This page lists the first {MAX_LISTED} of a kind, and leaves out {listed(texts)}. The"
        " answer and the notes count all of them."
    )


def _notes(source: ReportInput) -> Section | None:
    found = tuple(notes.notes(source))
    blocks = (Heading("Before relying on it"), Listing(found, "notes"))
    return Section("notes", "", blocks, in_contents="") if found else None


def _network(source: ReportInput) -> Section:
    legends = experiment_words.legends(source.document)
    blocks: list[Block] = [Facts(tuple(_conditions(source.results, source.findings)))]
    if legends:
        pairs = [
            (legend.factor, level, text) for legend in legends for level, text in legend.levels
        ]
        names = tuple(RowName(factor, level) for factor, level, _ in pairs)
        meanings = Column.of("meaning", (text for _, _, text in pairs), wraps=True)
        caption = "What the levels stand for"
        blocks.append(
            Table("Meaning of the levels", caption, (meanings,), names, name_header="level")
        )
    return Section("network", "Network and conditions", tuple(blocks), in_contents="Network")


def _conditions(results: Results, findings: Findings) -> Iterator[tuple[str, str]]:
    """Yield what is varied, left out and held, in the author's own levels."""
    text = results.document
    varied = set()
    for name, some in text.get("factors", {}).items():
        varied.add((title(name), " | ".join(some)))
        yield title(name), ", ".join(some) + (" (network)" if name in findings.network else "")
    yield from (("left out", line) for line in experiment_words.left_out(results.experiment))
    yield from (row for row in experiment_words.roles(text) if row not in varied)
    yield from (("link", line) for line in experiment_words.sentences(text, MAX_CHANGES))
    yield "workload", experiment_words.text_of(text, text.get("workload", {}))
    yield from experiment_words.further(text)


def _medians(source: ReportInput) -> Section:
    table = treatments.table(source.listed, source.document)
    blocks = (table, Paragraph(treatments.EXPLANATION))
    heading = "Medians and paired ratios"
    return Section("medians", heading, blocks, in_contents="Medians and ratios")


def _plots(source: ReportInput) -> Section | None:
    if not source.draws:
        return None
    from httpbed.report import figures  # noqa: PLC0415 - loads matplotlib

    plots = figures.plots(source.findings, source.document)
    is_long = sum(1 for _ in source.findings.rows()) > MAX_UNFOLDED
    folds = ["Every trial of each configuration" if is_long else "", *[""] * len(plots)]
    blocks = tuple(map(Figure, plots, folds))
    return Section("plots", "Plots", blocks) if blocks else None


def _completion(source: ReportInput) -> Section:
    findings, tally = source.listed, source.findings.tally
    share = format_share(tally.completed / tally.planned) if tally.planned else DASH
    blocks: list[Block] = [
        Paragraph(
            f"{tally.completed} of {tally.planned} planned trials completed ({share}).", style=""
        )
    ]
    if reasons := _reasons(findings, source.document):
        headers = ("configuration", "outcome", "#trials", "reason")
        caption = "Why trials did not complete"
        blocks.append(plain_table("Reasons", caption, headers, reasons[:MAX_LISTED], brief=True))
    return Section("completion", "Completion", tuple(blocks))


def _reasons(findings: Findings, text: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """List why trials did not complete: treatment, outcome, number, reason."""
    return [
        (named(findings, text, condition, row), outcome, str(count), reason)
        for condition, row in findings.rows()
        for (outcome, reason), count in row.tally.reasons.most_common()
    ]


def _validity(source: ReportInput) -> Section:
    findings = source.findings
    kept, valid = len(findings.invalid), findings.tally.recorded
    blocks: list[Block] = [
        Paragraph(
            f"{valid} trial{'s have' if valid != 1 else ' has'} a valid attempt; {kept}"
            f" attempt{'s were' if kept != 1 else ' was'} invalid and kept aside. A failed check of"
            " the bed makes an attempt invalid, and httpbed repeats the trial. A failed check of"
            " the subject makes the trial's outcome failed, which is data.",
            style="",
        )
    ]
    if findings.checks:
        blocks.append(_checks(findings.checks))
    if findings.invalid:
        shown = findings.invalid[:MAX_LISTED]
        rows = [
            (
                attempt.trial,
                str(attempt.block),
                str(attempt.attempt),
                ", ".join(f"{factor} {level}" for factor, level in attempt.levels.items()),
                attempt.reason,
                "tried again" if attempt.retried else "given up",
            )
            for attempt in shown
        ]
        headers = ("trial", "#block", "#attempt", "configuration", "what broke", "then")
        fold = f"{len(shown)} invalid attempts" if len(shown) > MAX_UNFOLDED else ""
        blocks.append(plain_table("Invalid attempts", "Invalid attempts", headers, rows, fold=fold))
    return Section("validity", "Validity", tuple(blocks))


def _checks(checks: Iterable[CheckSummary]) -> Table:
    rows = [
        (
            check.name,
            check.of,
            str(check.passed),
            str(check.failed),
            str(check.not_observed),
            check.figure,
            check.limit,
        )
        for check in checks
    ]
    return plain_table(
        "Validity checks",
        "Checks on the attempts that count. The figure is that of failed checks; without any, all"
        " figures, or the largest of many.",
        ("check", "of the", "#passed", "#failed", "#not observed", "figure", "asked"),
        rows,
    )


def evidence(findings: Findings) -> str:
    """Sum up validity: how many trials are valid, and whether every check of them passed.

    Checks of directions, hops and parts share a name, and count as one. In virtual time, where
    programs never wait for a CPU, a check of such waits that was never observed is left out.
    """
    given_up = {attempt.trial for attempt in findings.invalid if not attempt.retried}
    repeated = {attempt.trial for attempt in findings.invalid} - given_up
    valid = findings.tally.recorded
    texts = [f"{format_count(valid, 'trial')} valid"]
    texts += [f"{len(repeated)} repeated"] if repeated else []
    texts += [f"{len(given_up)} without a valid attempt"] if given_up else []
    is_real = findings.clock == "real"
    checks = [check for check in findings.checks if is_real or not check.is_unobserved_strain]
    return _with_checks(", ".join(texts), checks)


def _with_checks(trials: str, checks: Iterable[CheckSummary]) -> str:
    """Add the checks that failed by name, and the number of the others.

    Of addons that are not installed, only those that failed count: notes name the unread ones.
    """
    kinds: dict[str, list[CheckSummary]] = {}
    for check in checks:
        known = check.descriptor
        if (known and not known.is_note) or (known is None and check.failed):
            kinds.setdefault(check.kind, []).append(check)
    broken = [check for same in kinds.values() for check in same if check.failed]
    unseen = [
        same
        for same in kinds.values()
        if not any(summary.passed + summary.failed for summary in same)
    ]
    passed = len(kinds) - len({check.kind for check in broken}) - len(unseen)
    counted = format_count(passed, "check")
    names = few([same[0].kind for same in unseen], "checks")
    beside = f"; never observed: {', '.join(names)}" if unseen else ""
    if broken:
        wrong = [f"{summary.name} ({summary.failed} of {summary.total})" for summary in broken]
        failed = f"failed: {', '.join(few(wrong, 'checks'))}"
        return f"{trials}; {failed}; the other {counted} passed{beside}"
    return f"{trials}, all {counted} passed{beside}" if passed else trials + beside


def _manifest(source: ReportInput) -> Section:
    made_by = source.results.manifest
    blocks: list[Block] = []
    if command := made_by.get("command", ""):
        text = "To reproduce, with the experiment file that the campaign keeps:"
        blocks += [Paragraph(text, style=""), Paragraph("", str(command), style="code")]
    blocks.append(Facts(tuple(manifest.facts(source.results))))
    if host := tuple(manifest.host(made_by)):
        blocks += [Heading("Machine"), Facts(host)]
    if programs := manifest.programs(made_by):
        rows = [(each["name"], each["version"], each.get("path", "")) for each in programs]
        headers = ("program", "version", "file")
        caption = "Programs with their versions; manifest.json has their digests"
        blocks += [Heading("Programs"), plain_table("Programs", caption, headers, rows)]
    return Section("manifest", "Manifest", tuple(blocks))


def _definitions(source: ReportInput) -> Section:
    """Define every metric that was observed, in the order of the descriptors."""
    table = source.results.observations
    sources: dict[str, set[str]] = {}
    columns = (table[name].to_pylist() for name in ("metric", "source"))
    for metric, observer in set(zip(*columns, strict=True)):
        sources.setdefault(metric, set()).add(observer)
    rows = [
        (
            title(name),
            metric.form if metric.unit == "1" else metric.unit,
            ", ".join(sorted(sources[name])),
            metric.meaning,
        )
        for name, metric in METRICS.items()
        if name in sources
    ]
    caption = (
        "Observed metrics and their observers: the emulator on the wire, the client, the server, or"
        " httpbed around them (bed)"
    )
    headers = ("metric", "unit", "observer", "definition")
    made = plain_table("Definitions", caption, headers, rows)
    return Section("definitions", "Definitions", (made,))


OWN = (
    SectionMaker("answer", 30, _answer),
    SectionMaker("matrix", 40, _matrix),
    SectionMaker("notes", 50, _notes),
    SectionMaker("network", 60, _network),
    SectionMaker("medians", 70, _medians),
    SectionMaker("plots", 100, _plots),
    SectionMaker("completion", 120, _completion),
    SectionMaker("validity", 130, _validity),
    SectionMaker("manifest", 150, _manifest),
    SectionMaker("definitions", 160, _definitions),
)
"""The core's sections. Claims and declared figures come before the answer (10, 20), hand-overs and
page loads after the medians (80, 90), the course of trials after the plots (110), machines after
the validity (140)."""
