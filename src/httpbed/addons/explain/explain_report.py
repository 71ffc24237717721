"""Explanations as a document of their own, and as a section of every report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from httpbed.addons.explain import difference, explain_figures, outline
from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.difference import Difference
from httpbed.addons.explain.explanation import (
    Divided,
    Explained,
    Unexplained,
    duration_text,
    explain,
    explained,
    largest_shares,
    typical_rows,
)
from httpbed.addons.explain.lifts import Rung
from httpbed.experiment.kept import PACKET_LOG
from httpbed.experiment.workload_kinds import UnreadWorkload
from httpbed.programs import catalog as catalogs
from httpbed.programs.catalog import Catalog
from httpbed.report import experiment_words, manifest
from httpbed.report.document import (
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Heading,
    Listing,
    NoteMaker,
    Paragraph,
    ReportInput,
    RowName,
    Section,
    SectionMaker,
    Table,
)
from httpbed.report.phrasing import (
    Namer,
    Sentence,
    listed,
    naming,
    shared_levels,
    title,
)
from httpbed.report.sections import Document
from httpbed.results import attempts
from httpbed.results.sample import scenario
from httpbed.store.results import Results

if TYPE_CHECKING:
    from httpbed.addons.explain.page_windows import HeldLoad

_MEANINGS = tuple(f": {cause.meaning}" for cause in BY_NAME.values())
MAX_BANDS = 6
"""Trials whose bands over time are drawn."""
MAX_SECTION = 24
"""Treatments that the section of a report explains; reading a trial takes some hundredths of a
second for each 10 MB."""
MAX_LOADS = 48
"""Loads of pages that are read for a note; each takes up to 0.04 s."""
HELD_SHARE = 0.1
"""Share of the time that a window costs, from which on every report says so."""
MAX_HELD = 4
"""Treatments that a sentence on a window names."""
MAX_BESIDE = 4
"""Trials that have columns side by side; more have a row each."""
MAX_CAUSES = 7
"""Causes in the table for a terminal; the others are summed up."""
OTHER = "other causes"
COARSE = (
    "Trials without packets are divided by what the emulator keeps of each: bytes over time. Late"
    " acknowledgements, pacing and computing are not told apart from windows."
)
FINER = "runs them again, with the same losses and draws, and divides them by their packets."
READING = (
    "Costs: the time for which the link was idle because of a cause, and the time before and after"
    " the answer. They add up to the whole."
)


@dataclass(frozen=True)
class Shown:
    """What ``httpbed explain`` shows of a campaign."""

    results: Results
    treatments: Sequence[Mapping[str, str]]
    """The levels of each trial, those that cannot be explained as well."""
    notes: Sequence[str] = field(default=(), kw_only=True)
    ladders: Mapping[tuple[int, str], Sequence[Rung]] = field(default_factory=dict, kw_only=True)
    """What was lifted, by block and trial."""
    is_pair: bool = field(default=False, kw_only=True)
    """Whether the difference of two treatments is the question."""

    @cached_property
    def name(self) -> Namer:
        """Names treatments by the levels in which they differ."""
        return naming(self.treatments)

    def ladder(self, block: int, trial: str) -> Sequence[Rung]:
        """Return what was lifted in a trial."""
        return self.ladders.get((block, trial), ())

    def _document(
        self,
        division: Table,
        answers: Iterable[Sentence],
        evidence: Iterable[str],
        sections: Iterable[Section],
    ) -> Document:
        """Return it as a document; its sections follow the answers and the notes."""
        results, answers = self.results, tuple(answers)
        first = [Section("answer", "", (Listing(answers, "answer"),), in_contents="")]
        if self.notes:
            blocks = (Heading("Before relying on it"), Listing(tuple(self.notes), "notes"))
            first.append(Section("notes", "", blocks, in_contents=""))
        shared = shared_levels(self.treatments).items()
        return Document(
            name=results.experiment.name,
            question=f"Why did it take so long? {results.experiment.question}",
            httpbed=str(results.manifest.get("httpbed", "")),
            started=str(results.manifest.get("started", "")),
            clock=manifest.clock(results.manifest),
            programs=manifest.versions(results.manifest),
            heading=Facts(
                tuple(("link", line) for line in experiment_words.sentences(results.document))
            ),
            treatments=division,
            answer=answers,
            notes=tuple(self.notes),
            evidence=tuple(evidence),
            sections=(*first, *sections),
            in_common="; ".join(f"{title(name)} {level}" for name, level in shared),
        )


@dataclass(frozen=True)
class ShownTransfers(Shown):
    """What ``httpbed explain`` shows of a campaign of transfers."""

    found: Sequence[Explained | Unexplained]

    @property
    def known(self) -> list[Explained]:
        """The trials that were divided."""
        return explained(self.found)

    @cached_property
    def difference(self) -> Difference | None:
        """Why the slowest took longer than the fastest."""
        return difference.of(self.known)

    def _answers(self) -> Iterator[Sentence]:
        for answer in self.found:
            name = f"{self.name(answer.levels)}: "
            if isinstance(answer, Unexplained):
                text = f"trial {answer.block}/{answer.trial} cannot be divided: {answer.reason}"
                yield Sentence(name + text)
                continue
            name = name if len(self.found) > 1 else ""
            yield Sentence(name + ". ".join(answer.sentences()))
            for rung in self.ladder(answer.block, answer.trial):
                yield Sentence(name + rung.sentence())
        if pair := self.difference:
            names = self.name(pair.fast.levels), self.name(pair.slow.levels)
            yield Sentence(pair.sentence(*names))
            ladder = self.ladder(pair.slow.block, pair.slow.trial)
            if self.is_pair and (closing := pair.closing(*names, ladder)):
                yield Sentence(closing)
        elif self.is_pair and len(self.known) == len(self.found):
            outcomes = {self.name(one.levels): one.outcome for one in self.known}
            yield Sentence(difference.absence(outcomes))

    def document(self, *, draws: bool) -> Document:
        """Return it as a document."""
        division = table(self.known, self.name)
        return self._document(
            division, self._answers(), self._evidence(), self._sections(draws=draws)
        )

    def _evidence(self) -> Iterator[str]:
        for row in self.known:
            packets = len(row.transfer.data) + len(row.transfer.answers)
            remarks = "; ".join(("", *row.transfer.remarks, *_kernel(row)))
            name = self.name(row.levels)
            yield f"{name}: trial {row.block}/{row.trial}, {packets} packets{remarks}"

    def _sections(self, *, draws: bool) -> Iterator[Section]:
        if self.known:
            shown = (*blocks(self.known, self.name, draws=draws),)
            yield Section("division", "Where the time went", shown)
        if self.known and draws:
            figures = tuple(
                block
                for one in self.known[:MAX_BANDS]
                for block in (Heading(self.name(one.levels)), Figure(explain_figures.bands(one)))
            )
            yield Section("bands", "Over time", figures)

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "schema": 1,
            "explained": [
                {
                    **one.values(),
                    "ladder": [rung.values() for rung in self.ladder(one.block, one.trial)],
                }
                for one in self.known
            ],
            "not_explained": [
                {
                    "block": unexplained.block,
                    "trial": unexplained.trial,
                    "levels": dict(unexplained.levels),
                    "why": unexplained.reason,
                }
                for unexplained in self.found
                if isinstance(unexplained, Unexplained)
            ],
            "difference": self.difference.values() if self.difference else None,
            "causes": {name: cause.meaning for name, cause in BY_NAME.items()},
            "notes": list(self.notes),
        }


def blocks(known: Sequence[Divided], name: Namer, *, draws: bool) -> Iterator[Block]:
    """Yield what shows the division of trials."""
    if draws:
        yield Figure(explain_figures.bars([(name(divided.levels), divided) for divided in known]))
    yield Paragraph(READING)
    yield details(known, name)


def table(known: Sequence[Divided], name: Namer) -> Table:
    """Return the table for terminal and Markdown; many trials have a row each, few a column.

    Without a trial it has no columns.
    """
    causes = _columns(known)
    layout = _by_trial if len(known) > MAX_BESIDE else _by_cause
    columns = layout(known, causes, name) if known else ()
    return Table("Division", "What the time was spent on", tuple(columns), brief=True)


def _by_cause(known: Sequence[Divided], causes: Sequence[str], name: Namer) -> Iterator[Column]:
    """Yield a column of costs for each trial, the whole in the last row."""
    yield Column.of("cause", (*causes, OTHER, "whole"), is_name=True)
    for divided in known:
        costs = divided.division.costs()
        rest = sum(value for cause, value in costs.items() if cause not in causes)
        cells = [_cell(costs[cause], divided) for cause in causes]
        whole = Cell(duration_text(divided.division.whole))
        yield Column(name(divided.levels), (*cells, _cell(rest, divided), whole), right=True)


def _by_trial(known: Sequence[Divided], causes: Sequence[str], name: Namer) -> Iterator[Column]:
    """Yield a column of shares for each cause."""
    yield Column.of("trial", (name(divided.levels) for divided in known), is_name=True)
    yield Column.of(
        "time", (duration_text(divided.division.whole) for divided in known), right=True
    )
    costs = [divided.division.costs() for divided in known]
    rest = [sum(value for each, value in cost.items() if each not in causes) for cost in costs]
    every = [(cause, [cost[cause] for cost in costs]) for cause in causes]
    for cause, values in [*every, (OTHER, rest)]:
        shares = (one.division.share(ns) for one, ns in zip(known, values, strict=True))
        cells = (f"{100 * share:.0f} %" if share else "" for share in shares)
        yield Column.of(cause.replace(" ", "\n"), cells, right=True)


def _columns(known: Sequence[Divided]) -> list[str]:
    """Return the causes that took most of some trial, in the order of the taxonomy."""
    shares = largest_shares(known)
    dearest = sorted(shares, key=lambda name: -shares[name])[:MAX_CAUSES]
    return [name for name in BY_NAME if name in dearest and shares[name] >= 0.02]


def details(known: Sequence[Divided], name: Namer) -> Table:
    """Return a row for each cause of each trial."""
    rows = [
        (divided, cause, costs[cause], forces[cause])
        for divided in known
        for costs, forces in [(divided.division.costs(), divided.division.forces())]
        for cause in BY_NAME
        if cause in forces or cause in costs
    ]
    columns = (
        Column("cost", tuple(_cell(cost, one) for one, _, cost, _ in rows), right=True),
        Column("in force", tuple(_cell(force, one) for one, _, _, force in rows), right=True),
        Column.of("how sure", (_surety(one, cause) for one, cause, _, _ in rows)),
        Column.of("lifted by", (BY_NAME[cause].lifted_by for _, cause, _, _ in rows), wraps=True),
    )
    return Table(
        "Every cause",
        "Every cause, with what it cost and for how long it was in force",
        columns,
        tuple(RowName(name(one.levels), cause) for one, cause, _, _ in rows),
        name_header="cause",
    )


def _surety(one: Divided, name: str) -> str:
    cost = one.division.costs()[name]
    seen = one.division.seen(name)
    if not cost or seen == cost:
        return "seen" if cost else ""
    return f"{100 * seen / cost:.0f} % seen" if seen else "inferred"


def _cell(ns: int, one: Divided) -> Cell:
    return Cell(one.took(ns) if ns else "", share=one.division.share(ns))


def _kernel(row: Explained) -> Iterator[str]:
    """Compare the receiver's window with what the sender's kernel counted."""
    kernel = row.kernel
    if kernel is None:
        return
    in_force = row.division.forces()["receiver's window"]
    if in_force or kernel.receiver_limited:
        counted = duration_text(kernel.receiver_limited)
        forced = duration_text(in_force)
        yield f"receiver's window in force {forced}, {counted} by the sender's kernel"
    if kernel.buffer_limited:
        yield f"sender's buffer full {duration_text(kernel.buffer_limited)} by its kernel"


def has_packets(results: Results, row: Mapping[str, Any]) -> bool:
    """Whether an attempt kept its packets."""
    return (results.artifact_folder(row) / PACKET_LOG).is_file()


def _rows(source: ReportInput) -> Sequence[Mapping[str, Any]]:
    """Return the row of each treatment's typical trial."""
    results = source.results
    return source.once("typical rows", lambda: typical_rows(results, attempts.valid(results)))


def _name(source: ReportInput) -> Namer:
    """Name treatments by the factors whose levels differ in the campaign."""
    return naming([source.results.levels(row) for row in _rows(source)])


def _typical(source: ReportInput) -> list[Divided]:
    """Divide the typical trial of each treatment: by its packets, or else by its timeline."""
    return source.once("explain", lambda: [*_divisions(source)])


def _divisions(source: ReportInput) -> Iterator[Divided]:
    catalog = catalogs.load()
    for row in _rows(source)[:MAX_SECTION]:
        if one := _divided(source.results, row, catalog):
            yield one


def _divided(results: Results, row: Mapping[str, Any], catalog: Catalog) -> Divided | None:
    if has_packets(results, row):
        if _is_read_page(results, row):
            from httpbed.addons.explain import page_division  # needs the addon of pages

            load = page_division.of_row(results, row, catalog)
            return None if isinstance(load, Unexplained) else load.responses
        one = explain(results, row, catalog)
        if isinstance(one, Explained):
            return one
    return outline.outline(results, row, catalog)


def _section(source: ReportInput) -> Section | None:
    outlines = _typical(source)
    if not outlines:
        return None
    name = _name(source)
    shown: list[Block] = [
        Listing(tuple(_summaries(outlines, name))),
        *blocks(outlines, name, draws=source.draws),
        *_remarks(outlines, len(_rows(source))),
    ]
    return Section("explain", "Where the time went", tuple(shown))


def _remarks(outlines: Sequence[Divided], every: int) -> Iterator[Paragraph]:
    if any(isinstance(one, outline.Outline) for one in outlines):
        yield Paragraph(COARSE, "httpbed explain DIR", FINER)
    if left := every - len(outlines):
        begin = f"Not divided here: {left} of {every} treatments."
        yield Paragraph(begin, "httpbed explain DIR", "divides them, or says why it cannot.")


def _summaries(outlines: Sequence[Divided], name: Namer) -> Iterator[Sentence]:
    """Say what took the time of each trial, and what a cause means where it comes first."""
    said = set[str]()
    for one in outlines:
        texts = []
        for text in one.sentences():
            meaning = next((end for end in _MEANINGS if text.endswith(end)), "")
            texts.append(text.removesuffix(meaning) if meaning in said else text)
            said.add(meaning)
        yield Sentence(f"{name(one.levels)}: {'. '.join(texts)}")


def _held(source: ReportInput) -> Iterator[str]:
    """Say which windows hold which treatments."""
    held, outlines, name = defaultdict[str, list[str]](list), _typical(source), _name(source)
    for one in outlines:
        share = one.division.share(one.division.costs()["fixed window"])
        if one.held and share >= HELD_SHARE:
            held[str(one.held.of or "a window of no known knob")].append(name(one.levels))
    pages = [*_pages(source)]
    for row, load in pages:
        if load and load.share >= HELD_SHARE:
            held[str(load.of)].append(name(source.results.levels(row)))
    total, every = len(outlines) + len(pages), len(_rows(source))
    read = f"{total} treatments" if total == every else f"the {total} treatments that were read"
    for window, some in held.items():
        count = f"{len(some)} of {read}" if every > 1 else "the only treatment"
        who = f"{listed(some[:MAX_HELD])}{', ...' if len(some) > MAX_HELD else ''}"
        yield f"{window} holds {count}, below what the link carries: {who}"


def _pages(source: ReportInput) -> Iterator[tuple[Mapping[str, Any], HeldLoad | None]]:
    """Yield the typical load of each treatment that loads a page, with what held its bodies."""
    results, catalog, read = source.results, catalogs.load(), 0
    divided = {(one.block, one.trial) for one in _typical(source)}
    for row in _rows(source):
        if not _is_read_page(results, row) or (row["block"], row["trial"]) in divided:
            continue
        from httpbed.addons.explain import page_windows  # few reports need the addon of pages
        from httpbed.addons.pages import loads

        described = scenario(results, results.levels(row))
        can_be_held = page_windows.can_hold(described, catalog)
        read += can_be_held
        if read > MAX_LOADS:
            return
        trial = loads.read(results, row) if can_be_held else None
        yield row, page_windows.of_trial(results, trial, catalog) if trial else None


def _is_read_page(results: Results, row: Mapping[str, Any]) -> bool:
    """Whether a trial loads a page that the addon of pages describes."""
    workload = scenario(results, results.levels(row)).workload
    return workload.kind == "page" and not isinstance(workload, UnreadWorkload)


SECTION = SectionMaker("explain", 105, _section)
HELD = NoteMaker("held windows", 45, _held)
