"""Every treatment of a report: as a matrix of its factors, and as a table.

The matrix has one cell for each treatment, in rows and columns of its factors. The table has number
of values, median, ratio to the base, and what else there is.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base.units import format_share
from httpbed.experiment.experiment import ReportOptions
from httpbed.experiment.metric import METRICS
from httpbed.report import experiment_words
from httpbed.report.document import COLUMNS, Cell, Column, RowName, Table, Tone
from httpbed.report.phrasing import (
    DASH,
    FEW_BLOCKS,
    NumberFormat,
    agreeing_blocks,
    base_name,
    bracketed,
    ceiling,
    coverage,
    done,
    goodput_number,
    number_format,
    open_word,
    ratio_brackets,
    ratio_text,
    sentence_case,
    table_format,
    title,
    treatment,
)
from httpbed.results.comparison import EQUAL_MARGIN, Ratio
from httpbed.results.estimate import CONFIDENCE
from httpbed.results.findings import FAIRNESS, Findings, Row
from httpbed.results.log_ratio import Standing

MAX_ROWS = 12
"""Most rows of a matrix whose rows the experiment does not choose."""
MAX_COLUMNS = 8
"""Most columns of such a matrix."""
MAX_PAGES = 6
"""Matrices that are shown unfolded."""
SHAPES: Mapping[Standing, str] = {"less": "▼", "more": "▲", "equal": "=", "open": "○"}
Levels = tuple[str, ...]
Ranks = Mapping[str, Mapping[str, int]]
"""The place of each level among those of its factor."""


@dataclass(frozen=True)
class Axes:
    """The factors of rows, columns and pages."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    pages: tuple[str, ...]


@dataclass(frozen=True)
class MatrixRow:
    """One combination of the levels of the row factors."""

    headings: tuple[tuple[str, int], ...]
    """Each level with the number of rows that it spans; 0 where an earlier row spans this one."""
    cells: tuple[Cell | None, ...]
    """The detail of each says how many of its trials completed, if not all did. None where the
    design has no such treatment."""


@dataclass(frozen=True)
class Page:
    """One matrix."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True)
class Matrix:
    """All matrices of a report."""

    corner: tuple[str, ...]
    """Titles of the row factors."""
    across: str
    """Titles of the column factors."""
    pages: tuple[Page, ...]
    folded: tuple[Page, ...]
    shapes: tuple[tuple[str, str], ...]
    """Each shape that occurs, with what it means."""
    by_chance: str
    """How many of so many comparisons differ by chance; empty if that is less than one."""


def matrix(findings: Findings, options: ReportOptions) -> Matrix:
    """Arrange all treatments."""
    axes = choose(findings, options)
    pages = list(_pages(findings, axes))
    rule = f"{FEW_BLOCKS} settle nothing"
    unsettled = "within noise" if findings.clock == "real" else "the blocks differ too much"
    why = [rule if word.startswith("n <") else unsettled for word in sorted(_why(findings))]
    meanings: dict[Standing, str] = {
        "less": "less",
        "more": "more",
        "equal": f"no difference: within {format_share(EQUAL_MARGIN)}",
        "open": f"not settled: {', or '.join(why)}",
    }
    judgements = {row.ratio.judgement for _, row in findings.rows() if row.ratio}
    compared = sum(row.ratio is not None for _, row in findings.rows())
    return Matrix(
        corner=tuple(map(title, axes.rows)),
        across=", ".join(map(title, axes.columns)),
        pages=tuple(pages[:MAX_PAGES]),
        folded=tuple(pages[MAX_PAGES:]),
        shapes=tuple((SHAPES[name], text) for name, text in meanings.items() if name in judgements),
        by_chance=_by_chance(compared),
    )


def _by_chance(compared: int) -> str:
    expected = (1 - CONFIDENCE) * compared
    if expected < 1:
        return ""
    return (
        f"Each cell is judged by itself: if no treatment differed from its base, about"
        f" {expected:.0f} of {compared} would be called different by chance."
    )


def choose(findings: Findings, options: ReportOptions) -> Axes:
    """Return the axes that the experiment names; what it does not name is chosen here."""
    levels = _levels(findings)
    varied = [name for name, some in levels.items() if len(some) > 1]
    named = {
        axis: tuple(name for name in getattr(options, axis) if name in varied)
        for axis in ("rows", "columns", "pages")
    }
    left = [name for name in varied if not any(name in names for names in named.values())]
    left.sort(key=lambda name: -len(levels[name]))
    columns, rows = named["columns"], named["rows"]
    if not columns and left:
        compared = [name for name in left if name in findings.base] or left[:1]
        chosen = set(_fitting(findings, compared, named["pages"], MAX_COLUMNS))
        columns = tuple(name for name in levels if name in chosen)
        left = [name for name in left if name not in chosen]
    if not rows:
        rows = tuple(_fitting(findings, left, named["pages"], MAX_ROWS))
        left = [name for name in left if name not in rows]
    few = len(_combinations(findings, rows)) <= MAX_COLUMNS < len(_combinations(findings, columns))
    if few and not options.rows and not options.columns:
        rows, columns = columns, rows
    return Axes(rows, columns, (*named["pages"], *left))


def _fitting(
    findings: Findings, names: Sequence[str], pages: tuple[str, ...], most: int
) -> Iterator[str]:
    """Yield the first factor, and others as long as a page has few enough combinations."""
    chosen: list[str] = []
    for name in names:
        together = (*pages, *chosen, name)
        per_page = len(_combinations(findings, together)) / len(_combinations(findings, pages))
        if not chosen or per_page <= most:
            chosen.append(name)
            yield name


def _levels(findings: Findings) -> dict[str, list[str]]:
    names = [*findings.others, *findings.network]
    return {
        name: list(dict.fromkeys(row.levels[name] for _, row in findings.rows())) for name in names
    }


def _combinations(findings: Findings, names: Sequence[str]) -> list[Levels]:
    """Return the combinations of levels that occur, in the order of the levels."""
    ranks = _ranks(findings)
    return _in_order({_of(row, names) for _, row in findings.rows()}, names, ranks)


def _ranks(findings: Findings) -> Ranks:
    return {
        name: {level: rank for rank, level in enumerate(some)}
        for name, some in _levels(findings).items()
    }


def _in_order(found: Iterable[Levels], names: Sequence[str], ranks: Ranks) -> list[Levels]:
    """Sort combinations of levels in the order of the levels."""
    return sorted(
        found, key=lambda at: [ranks[name][one] for name, one in zip(names, at, strict=True)]
    )


def _pages(findings: Findings, axes: Axes) -> Iterator[Page]:
    """Yield the matrices; each treatment is looked at once, because there may be thousands."""
    ranks, scale, gives_reason = _ranks(findings), table_format(findings), len(_why(findings)) > 1
    pages: dict[Levels, dict[tuple[Levels, Levels], Cell]] = {}
    for _, row in findings.rows():
        cells = pages.setdefault(_of(row, axes.pages), {})
        place = _of(row, axes.rows), _of(row, axes.columns)
        cells[place] = _cell(findings, scale, row, gives_reason=gives_reason)
    for at in _in_order(pages, axes.pages, ranks):
        yield _page(axes, at, pages[at], ranks)


def _page(
    axes: Axes, page_levels: Levels, cells: Mapping[tuple[Levels, Levels], Cell], ranks: Ranks
) -> Page:
    rows = _in_order({row for row, _ in cells}, axes.rows, ranks)
    columns = _in_order({column for _, column in cells}, axes.columns, ranks)
    return Page(
        name=_name(axes.pages, page_levels),
        columns=tuple(_name(axes.columns, one) for one in columns),
        rows=tuple(
            MatrixRow(headings, tuple(cells.get((row, column)) for column in columns))
            for row, headings in zip(rows, _headings(axes.rows, rows), strict=True)
        ),
    )


def _of(row: Row, names: Sequence[str]) -> Levels:
    return tuple(row.levels[name] for name in names)


def _name(names: Sequence[str], at: Levels) -> str:
    return treatment(dict(zip(names, at, strict=True)), names) if names else ""


def _headings(names: Sequence[str], rows: list[Levels]) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield the headings of each row; equal outer levels of neighbours become one heading."""
    for index, row in enumerate(rows):
        texts = []
        for depth, level in enumerate(row, start=1):
            begins = index == 0 or rows[index - 1][:depth] != row[:depth]
            spans = sum(1 for _ in _alike(rows[index:], depth)) if begins else 0
            name = names[depth - 1]
            texts.append((f"HTTP/{level}" if name == "http_version" else level, spans))
        yield tuple(texts)


def _alike(rows: list[Levels], depth: int) -> Iterator[Levels]:
    """Yield the first rows, as long as they share so many levels with the first one."""
    return itertools.takewhile(lambda row: row[:depth] == rows[0][:depth], rows)


def _cell(findings: Findings, scale: NumberFormat, row: Row, *, gives_reason: bool) -> Cell:
    """Write a treatment: its ratio, or its median; ``gives_reason`` if ratios are open for two."""
    ratio, name = row.ratio, treatment(row.levels, (*findings.network, *findings.others))
    median = scale.bounded(row.estimate.median) if row.estimate else DASH
    interval = bracketed(scale, row.estimate.interval) if row.estimate else ""
    missing = done(row) if row.tally.completed < row.tally.planned else ""
    about = f"{name}: {title(findings.metric)} {median} {interval}".rstrip()
    if ratio is None:
        is_base: Tone = "base" if row.is_base else ""
        return Cell(median, interval, is_base, detail=missing, about=about)
    reason = open_word(ratio, findings.clock) if ratio.judgement == "open" and gives_reason else ""
    return Cell(
        ratio_text(ratio.value),
        f"{ratio_brackets(ratio.interval)} {reason}".strip(),
        tone(findings.metric, ratio),
        SHAPES[ratio.judgement],
        detail=missing,
        about=about,
    )


def _why(findings: Findings) -> set[str]:
    """Return why comparisons are open: too few blocks, noise, or both."""
    ratios = [row.ratio for _, row in findings.rows() if row.ratio]
    return {open_word(ratio, findings.clock) for ratio in ratios if ratio.judgement == "open"}


def tone(metric: str, ratio: Ratio) -> Tone:
    """Return ``better`` or ``worse`` for a settled ratio, else what it is."""
    better, judgement = METRICS[metric].better, ratio.judgement
    if judgement not in {"less", "more"}:
        return "open" if judgement == "open" else "settled"
    if better == "neither":
        return "settled"
    return "better" if better == ("lower" if judgement == "less" else "higher") else "worse"


HEADER_WIDTH = 18
"""Letters of a heading before its words go to the next line."""
EXPLANATION = (
    "Intervals of medians are by order statistics, without any assumption about the distribution."
    " A paired ratio is the pseudo-median of the blocks' ratios (the median of the geometric means"
    " of all pairs of them), and its interval inverts Wilcoxon's signed ranks. Less and more: the"
    " interval excludes 1. Equal: the whole interval lies within"
    f" {format_share(EQUAL_MARGIN)} of 1. Noise, or in virtual time open: neither. Fewer than five"
    " blocks settle nothing. Of medians: the ratio of both medians, where it differs from the"
    " paired ratio. A trial that timed out ranks as longer than its limit and is left out of means."
)


def table(findings: Findings, document: Mapping[str, Any]) -> Table:
    """Lay out every treatment of the findings."""
    compared = (
        f" A paired ratio is the pseudo-median over blocks of the treatment's value over that of"
        f" {base_name(findings)} in the same block, all other levels equal."
        if any(row.ratio for _, row in findings.rows())
        else ""
    )
    return Table(
        "Table of medians",
        f"{sentence_case(title(findings.metric))} of each configuration.{compared}",
        tuple(columns(findings)),
        names=row_names(findings, document),
    )


def row_names(findings: Findings, document: Mapping[str, Any]) -> tuple[RowName, ...]:
    """Name each treatment by its condition and its other levels."""
    return tuple(
        RowName(
            experiment_words.condition(document, condition.levels) or "all treatments",
            treatment(row.levels, findings.others),
        )
        for condition, row in findings.rows()
    )


def columns(findings: Findings) -> Iterator[Column]:
    """Yield the columns: levels, number of values, metric, ratio, what else there is."""
    rows = [row for _, row in findings.rows()]
    yield from name_columns(findings)
    yield Column.of("n", (str(row.sample.n) for row in rows), right=True)
    yield _values(findings, rows)
    yield _means(findings, rows)
    if any(row.ratio for row in rows):
        yield _ratios(findings, rows)
    if findings.metric != "goodput" and any(row.goodput for row in rows):
        yield _goodput(rows)
    for name in FAIRNESS:
        if name != findings.metric and any(name in row.fairness for row in rows):
            yield _fairness(name, rows)
    for maker in COLUMNS.provided({name for row in rows for name in row.extensions}):
        yield from (replace(column, shown="not in HTML") for column in maker.make(findings))
    yield Column("done", tuple(map(_done, rows)), right=True, wraps=True)


def name_columns(findings: Findings) -> Iterator[Column]:
    """Yield a column of conditions, and one for each other factor."""
    rows = list(findings.rows())
    if findings.network:
        labels = (", ".join(condition.levels.values()) for condition, _ in rows)
        header = ", ".join(title(name) for name in findings.network)
        yield Column.of(_folded(header), labels, wraps=True, is_name=True)
    for name in findings.others:
        header = "http" if name == "http_version" else title(name)
        levels = (row.levels[name] for _, row in rows)
        yield Column.of(_folded(header), levels, wraps=True, is_name=True)


def _values(findings: Findings, rows: Sequence[Row]) -> Column:
    scale = table_format(findings)
    covered = coverage(row.estimate.interval for row in rows if row.estimate)
    cells = tuple(
        Cell(scale.bounded(found.median), bracketed(scale, found.interval), "main")
        if (found := row.estimate)
        else Cell(DASH)
        for row in rows
    )
    return Column(_folded(title(findings.metric), covered), cells)


def _means(findings: Findings, rows: Sequence[Row]) -> Column:
    scale = table_format(findings).finer()
    header = f"mean ± s.d., {scale.unit}" if scale.unit else "mean ± s.d."
    return Column.of(header, (_mean(scale, row) for row in rows), shown="in HTML")


def _mean(scale: NumberFormat, row: Row) -> str:
    estimate = row.estimate
    if estimate is None or estimate.mean is None:
        return DASH
    text = scale.number(estimate.mean)
    if estimate.deviation is not None:
        text += f" ± {scale.number(estimate.deviation)}"
    return f"{text} ({estimate.left_out} left out)" if estimate.left_out else text


def _ratios(findings: Findings, rows: Sequence[Row]) -> Column:
    base = base_name(findings).replace("HTTP/", "H")
    covered = coverage(row.ratio.interval for row in rows if row.ratio)
    cells = tuple(_ratio(findings, row) for row in rows)
    return Column(_folded(f"paired ratio to {base}", covered), cells)


def _ratio(findings: Findings, row: Row) -> Cell:
    if row.is_base:
        return Cell("base", tone="base")
    if row.ratio is None:
        return Cell(DASH)
    text, judgement = ratio_text(row.ratio.value), row.ratio.judgement
    if judgement in {"equal", "open"}:
        text += f" ({'equal' if judgement == 'equal' else open_word(row.ratio, findings.clock)})"
    return Cell(
        text,
        ratio_brackets(row.ratio.interval),
        "open" if judgement == "equal" else tone(findings.metric, row.ratio),
        detail="; ".join(_details(row.ratio)),
    )


def _details(ratio: Ratio) -> Iterator[str]:
    """Yield the blocks that agree, and the ratio of medians where it is another number."""
    if ratio.judgement in {"less", "more"}:
        yield f"{ratio.judgement} in {agreeing_blocks(ratio)}"
    of_medians = ratio_text(ratio.of_medians)
    if of_medians != ratio_text(ratio.value):
        yield f"of medians {of_medians}"


def _goodput(rows: Sequence[Row]) -> Column:
    ceilings = {ceiling(row) for row in rows}
    differ = len(ceilings) > 1
    texts = []
    for row in rows:
        text = goodput_number(row.goodput, row.ceiling_bit_s, 1) if row.goodput else DASH
        texts.append(f"{text} {ceiling(row)}" if differ and row.goodput else text)
    header = "goodput" if differ else "\n".join(["goodput", *ceilings])
    return Column.of(header, texts, shown="if there is room")


def _fairness(name: str, rows: Sequence[Row]) -> Column:
    medians = [row.fairness[name].median if name in row.fairness else None for row in rows]
    scale = number_format(name, (median.value for median in medians if median))
    texts = (scale.bounded(median) if median else DASH for median in medians)
    return Column.of(title(name), texts, right=True)


def _folded(header: str, covered: str = "") -> str:
    """Write a heading in short lines, with the coverage of the intervals below it."""
    lines = textwrap.wrap(header, HEADER_WIDTH, break_long_words=False)
    return "\n".join([*lines, *([f"[{covered}]"] if covered else [])])


def _done(row: Row) -> Cell:
    return Cell(done(row), tone="" if row.tally.completed == row.tally.planned else "worse")
