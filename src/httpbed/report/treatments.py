"""The table of treatments: number of values, median, ratio to the base, and what else there is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from httpbed.base.units import format_share
from httpbed.report import experiment_words
from httpbed.report.document import COLUMNS, Cell, Column, RowName, Table
from httpbed.report.matrix import tone
from httpbed.report.phrasing import (
    DASH,
    NumberFormat,
    agreeing_blocks,
    base_name,
    bracketed,
    ceiling,
    coverage,
    done,
    goodput_number,
    open_word,
    ratio_brackets,
    ratio_text,
    sentence_case,
    shared,
    table_format,
    title,
    treatment,
)
from httpbed.results.comparison import EQUAL_MARGIN, Ratio
from httpbed.results.findings import Findings, Row

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
    for name, texts in shared(findings).items():
        if name != findings.metric:
            yield Column.of(title(name), texts, right=True)
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


def _folded(header: str, covered: str = "") -> str:
    """Write a heading in short lines, with the coverage of the intervals below it."""
    lines = textwrap.wrap(header, HEADER_WIDTH, break_long_words=False)
    return "\n".join([*lines, *([f"[{covered}]"] if covered else [])])


def _done(row: Row) -> Cell:
    return Cell(done(row), tone="" if row.tally.completed == row.tally.planned else "worse")
