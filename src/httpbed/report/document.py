"""The report of a campaign as one value: sections of blocks, which the renderers only lay out.

``sections.document`` builds it once from the findings; ``html``, ``markdown`` and
``terminal_report`` render it. Texts in it are plain: each renderer escapes them. An addon adds a
section, columns or notes by registering a provider at one of the seams below.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from httpbed.base.addon import Seam
from httpbed.experiment.document import words as words_of
from httpbed.experiment.stated_tables import STATED_TABLES
from httpbed.report.phrasing import Sentence
from httpbed.results.findings import Findings
from httpbed.store.results import Results

if TYPE_CHECKING:
    from markupsafe import Markup

    from httpbed.report.svg import Plot

T = TypeVar("T")
MAX_LISTED = 500
"""Rows of a table in the HTML report: a browser takes seconds to lay out thousands."""
Tone = Literal["", "main", "better", "worse", "settled", "open", "base"]
"""What a cell says about its treatment: ``settled`` differs, and neither is better."""


@dataclass(frozen=True)
class Cell:
    """One value in a table, with what belongs to it."""

    text: str
    aside: str = ""
    """The value's interval, beside or below it."""
    tone: Tone = ""
    shape: str = ""
    """A sign before the text that repeats the tone without colour; HTML only."""
    detail: str = ""
    """Words after the interval; HTML only."""
    below: Cell | None = None
    """A second value of the same treatment, such as its ratio to the base."""
    share: float | None = None
    """Draws a bar before the text, from 0 to 1; HTML only."""
    about: str = ""
    """What it shows in words, where the reader points; HTML only."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    header: str
    cells: tuple[Cell, ...]
    right: bool = False
    """Whether it holds numbers."""
    wraps: bool = False
    """Whether its cells may be broken between words."""
    about: str = ""
    """A definition, shown where the reader points."""
    shown: Literal["always", "if there is room", "in HTML", "not in HTML"] = "always"
    """HTML has a section for what is ``not in HTML`` beside the metric."""
    is_name: bool = False
    """Whether its cells name the row."""

    @staticmethod
    def of(header: str, texts: Iterable[str], *, right: bool = False, **keywords: Any) -> Column:
        """Make a column of plain texts."""
        return Column(header, tuple(map(Cell, texts)), right, **keywords)


@dataclass(frozen=True)
class RowName:
    """What a row of a table is about: a treatment at a condition."""

    group: str
    """The condition in words; HTML writes it once above its rows."""
    name: str


@dataclass(frozen=True)
class Table:
    """A table, by columns.

    With ``names``, HTML names rows by group and name in place of the columns that are names.
    """

    label: str
    caption: str
    columns: tuple[Column, ...]
    names: tuple[RowName, ...] = ()
    name_header: str = "configuration"
    fold: str = ""
    """The words that unfold it in HTML; empty: it is not folded."""
    brief: bool = False
    """Whether Markdown has it, too."""
    style: str = ""
    """A class of the style sheet."""

    @property
    def heads(self) -> tuple[str, tuple[Column, ...]]:
        """The heading of the rows' names, and the columns beside them, as HTML shows them."""
        if self.names:
            shown = (
                column
                for column in self.columns
                if column.shown != "not in HTML" and not column.is_name
            )
            return self.name_header, tuple(shown)
        return self.columns[0].header, self.columns[1:]

    def groups(self) -> Iterator[tuple[str, list[tuple[str, tuple[Cell, ...]]]]]:
        """Yield each group and each row with its name, as HTML shows them."""
        rows = [*zip(*(column.cells for column in self.heads[1]), strict=True)]
        names = self.names or [RowName("", cell.text) for cell in self.columns[0].cells]
        rows = rows or [()] * len(names)
        named = zip(names, rows, strict=True)
        for group, members in itertools.groupby(named, lambda one: one[0].group):
            yield group, [(name.name, cells) for name, cells in members]


def plain_table(
    label: str, caption: str, headers: Sequence[str], rows: Sequence[Sequence[str]], **keywords: Any
) -> Table:
    """Make a table of plain texts; a header that begins with ``#`` is one of numbers."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in headers)
    shown = (
        Column.of(header.removeprefix("#"), texts, right=header.startswith("#"), wraps=True)
        for header, texts in zip(headers, columns, strict=True)
    )
    return Table(label, caption, tuple(shown), **keywords)


@dataclass(frozen=True)
class Facts:
    """Keys with their texts."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; ``command`` stands in it as code, with DIR for the campaign's folder."""

    text: str
    command: str = ""
    rest: str = ""
    style: str = "fine"


@dataclass(frozen=True)
class Listing:
    """A list of texts."""

    texts: tuple[str | Sentence, ...]
    style: str = "fine"


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Figure:
    """A figure; its files go to the campaign's folder."""

    plot: Plot
    fold: str = ""
    """The words that unfold it."""


@dataclass(frozen=True)
class Drawn:
    """Markup of a section's own template, which has escaped every text in it; HTML only."""

    markup: Markup


Block = Facts | Table | Paragraph | Listing | Heading | Figure | Drawn


@dataclass(frozen=True)
class Section:
    """A section of the report."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    in_contents: str | None = None
    """Its name in the contents, where that is not the title; empty: it is not there."""
    line: str = ""
    """What terminal and Markdown say about it, besides the answer."""
    evidence: tuple[str, ...] = ()
    """What it adds to the line of evidence."""

    def figures(self) -> Iterator[Plot]:
        """Yield its figures."""
        return (block.plot for block in self.blocks if isinstance(block, Figure))


@dataclass(frozen=True)
class ReportInput:
    """What a report is made of."""

    results: Results
    findings: Findings
    draws: bool = True
    """Whether figures are wanted; Markdown has none, and drawing takes seconds."""
    computed: dict[str, Any] = field(default_factory=dict)
    """What sections and notes share, by a name of their own: each is computed once.

    Input with and without figures shares it, so nothing in it depends on ``draws``.
    """

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """Return what has this name among the shared values; compute it at the first call."""
        if name not in self.computed:
            self.computed[name] = compute()
        found: T = self.computed[name]
        return found

    @property
    def document(self) -> Mapping[str, Any]:
        """The experiment file as parsed."""
        return self.results.document

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the experiment file, and its tables, which another file may replace."""
        stated = self.results.stated_experiment
        tables = (table.name for table in STATED_TABLES.provided() if getattr(stated, table.field))
        return words_of(self.document).union(tables)

    @cached_property
    def listed(self) -> Findings:
        """The findings of the treatments that HTML lists."""
        return self.findings.first(MAX_LISTED)


@dataclass(frozen=True)
class SectionMaker:
    """Makes a section of the report, where it applies."""

    name: str
    place: int
    """Sections come in the order of their places (``sections.OWN`` has the core's)."""
    make: Callable[[ReportInput], Section | None]


@dataclass(frozen=True)
class NoteMaker:
    """Makes notes: what limits the findings and what to do about it, one line each."""

    name: str
    place: int
    """Notes come in the order of their places, what matters most first."""
    make: Callable[[ReportInput], Iterable[str]]


@dataclass(frozen=True)
class ColumnMaker:
    """Makes columns of the table of treatments; none where they do not apply."""

    name: str
    make: Callable[[Findings], Iterable[Column]]


SECTIONS = Seam("report sections", SectionMaker)
NOTES = Seam("report notes", NoteMaker)
COLUMNS = Seam("report columns", ColumnMaker)
