"""Chooses the trials to explain, runs those again that kept no packets, and prints the answer.

Loads of pages are explained by their critical paths, which the addon of pages reads. A load leaves
the browser's events in every attempt, and packets on request.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log
from pathlib import Path
from statistics import median
from typing import Any

from httpbed.addons.explain import (
    again,
    evidence,
    explain_report,
    page_division,
    page_report,
)
from httpbed.addons.explain.again import Again, Reader
from httpbed.addons.explain.explain_report import ShownTransfers
from httpbed.addons.explain.explanation import explain, of_attempt, place_of, typical_rows
from httpbed.addons.explain.page_report import ShownLoads
from httpbed.addons.pages import loads
from httpbed.addons.pages.load.critical_path import goal_of
from httpbed.addons.pages.loads import METRIC_OF_PAGES
from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.cli import options
from httpbed.cli.echo import echo
from httpbed.experiment.factorial_mistakes import unknown_factor_at, unknown_level
from httpbed.programs.catalog import Catalog
from httpbed.report import (
    markdown,
    one_trial,
    publish,
    terminal,
    terminal_report,
)
from httpbed.report.phrasing import listed
from httpbed.report.sections import Document
from httpbed.results import attempts
from httpbed.results.sample import of_trials, scenario
from httpbed.store import query
from httpbed.store.results import Results

Row = Mapping[str, Any]
REPORT = "explain.html"
SEPARATOR = re.compile(r",(?=[^,=]*=)")
"""Between the levels of a treatment; a level may contain a comma, too."""
SHIFTED = 0.01
"""Relative difference of a repeated trial's time from which on a note says so."""


def select(
    directory: Path, treatments: Sequence[str], trial: str | None, why: tuple[str, str] | None
) -> tuple[Results, list[Row]]:
    """Read a campaign, and return it with the trials to explain.

    :raises ConfigError: when it cannot be read, or has no such trial.
    """
    results = query.read(directory)
    return results, pair(results, why) if why else _chosen(results, treatments, trial)


def run(
    results: Results,
    rows: Sequence[Row],
    how: Again | None,
    catalog: Catalog,
    *,
    is_pair: bool,
    tries: bool,
    form: str,
) -> None:
    """Explain trials of a campaign; ``how`` says how to run them again, None: not at all.

    Loads of pages run again that left nothing, as in an archive, or no packets of slow responses.
    Of a pair both need packets, and the slower one climbs.
    """
    is_of_pages, lifts = all(_is_page(results, row) for row in rows), tries or is_pair
    if not is_of_pages:
        require_covered(results, rows)
    is_archive = is_of_pages and any(loads.read(results, row) is None for row in rows)
    if how and (lifts or is_archive):
        how = again.exact(results, {place_of(results, row).cell for row in rows}, how)
    shown: ShownTransfers | ShownLoads
    read: Reader
    if is_of_pages:
        is_missing = partial(page_report.needs_packets, results, is_compared=is_pair)
        found = _with_packets(results, rows, how, is_missing)
        shown = page_report.read(results, found.rows, catalog)
        read = partial(page_division.of_attempt, metric=results.experiment.report.metric)
    else:
        found = _with_packets(results, rows, how, partial(_lacks_packets, results))
        answers = [explain(read_from, row, catalog) for read_from, row in found.rows]
        shown, read = ShownTransfers(results, [one.levels for one in answers], answers), of_attempt
    if how and lifts:
        pair = shown.difference if is_pair else None
        climbing = ([pair.slow] if pair else []) if is_pair else shown.known
        ladders = again.ladders(results, climbing, how, pair.fast if pair else None, read)
        shown = replace(shown, ladders=ladders)
    _print(replace(shown, notes=found.notes, is_pair=is_pair), form, found.directory)


@dataclass(frozen=True)
class _Found:
    """Rows to read, those of trials that ran again in place of their own."""

    rows: Sequence[tuple[Results, Row]]
    notes: Sequence[str]
    directory: Path
    """Where the page is written."""


def _with_packets(
    results: Results, rows: Sequence[Row], how: Again | None, is_missing: Callable[[Row], bool]
) -> _Found:
    """Run trials again whose evidence is missing, or all of them for another clock."""
    other_clock = how and how.clock not in {None, results.manifest.get("clock", "real")}
    missing = [row for row in rows if how and (other_clock or is_missing(row))]
    if how is None or not missing:
        return _Found([(results, row) for row in rows], (), results.directory)
    again.run(results, {place_of(results, row).cell for row in missing}, how)
    repeated, notes = query.read(how.directory), list[str]()
    found = list[tuple[Results, Row]]()
    for row in rows:
        other = _same(repeated, results, row) if row in missing else None
        if other is None:
            found.append((results, row))
            continue
        found.append((repeated, other))
        notes += _shift(results, row, repeated, other)
    return _Found(found, notes, how.directory)


def _is_page(results: Results, row: Row) -> bool:
    return scenario(results, results.levels(row)).workload.kind == "page"


def _chosen(results: Results, treatments: Sequence[str], trial: str | None) -> list[Row]:
    rows: list[Row] = [*attempts.valid(results)]
    if trial is not None:
        return [one_trial.find_row(rows, trial)]
    wanted = _levels(results, treatments)
    rows = [row for row in rows if _fits(row, wanted)]
    if not rows:
        reason = "no valid trial of such a treatment" if wanted else "no valid trial"
        remedy = "httpbed report --status says why; httpbed run again, or --clock virtual"
        raise ConfigError([Mistake(str(results.directory), f"has {reason}", remedy)])
    return typical_rows(results, rows)


def pair(results: Results, why: tuple[str, str]) -> list[Row]:
    """Return a trial of each of two treatments, of the block in which they differ as usual.

    Trials of a block meet the same draws. The typical trial of one treatment may meet an unusual
    trial of the other, so the block is that in which the ratio of the two is nearest to that of
    their medians. Without a block of both it is the typical trial of each.

    :raises ConfigError: when a name has no trial, or fits several treatments.
    """
    levels, mistakes = list[dict[str, set[str]]](), list[Mistake]()
    for words in why:
        with collected(mistakes):
            levels.append(_levels(results, SEPARATOR.split(words), "--why"))
    require_none(mistakes)
    sides, typical = list[list[Row]](), list[Row]()
    for words, wanted in zip(why, levels, strict=True):
        fitting = [row for row in attempts.valid(results) if _fits(row, wanted)]
        chosen = typical_rows(results, fitting) if fitting else []
        if len(chosen) != 1:
            mistakes.append(_no_treatment(results, words, wanted, len(chosen)))
        sides.append([*fitting])
        typical += chosen
    if not mistakes and typical[0] == typical[1]:
        mistakes.append(Mistake("--why", "both names are of one treatment", "name two"))
    require_none(mistakes)
    return _usual_pair(results, *sides) or typical


def _usual_pair(results: Results, ones: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """Return the two of the block whose ratio is nearest to that of the medians; none without."""
    is_page = _is_page(results, ones[0])
    times = of_trials(
        results, goal_of(results.experiment.report.metric) if is_page else "request_time"
    )
    logs = [
        {row["block"]: log(time) for row in side if (time := attempts.value_of(row, times))}
        for side in (ones, others)
    ]
    blocks = sorted(logs[0].keys() & logs[1].keys())
    if not blocks:
        return []
    usual = median(logs[0].values()) - median(logs[1].values())
    block = min(blocks, key=lambda each: abs(logs[0][each] - logs[1][each] - usual))
    return [next(row for row in side if row["block"] == block) for side in (ones, others)]


def _fits(row: Row, levels: Mapping[str, set[str]]) -> bool:
    return all(row[name] in some for name, some in levels.items())


def _no_treatment(
    results: Results, words: str, levels: Mapping[str, set[str]], count: int
) -> Mistake:
    if not count:
        return Mistake(
            "--why", f"{words!r} has no valid trial", "httpbed report --status lists them"
        )
    more = [
        name
        for name, some in results.experiment.factors.items()
        if some[1:] and len(levels.get(name, ())) != 1
    ]
    remedy = f"choose one level of {listed(more)}"
    return Mistake("--why", f"{words!r} fits {count} treatments", remedy)


def _levels(
    results: Results, treatments: Sequence[str], option: str = "--treatment"
) -> dict[str, set[str]]:
    """Return the levels to explain of each factor that is named."""
    mistakes, levels = list[Mistake](), defaultdict[str, set[str]](set)
    factors = results.experiment.factors
    for name, level in options.factor_levels(treatments, option, mistakes):
        if name not in factors:
            mistakes.append(unknown_factor_at(option, name, factors))
        elif (meant := options.meant_level(level, factors[name])) is None:
            mistakes.append(Mistake(option, unknown_level(name, level, factors)))
        else:
            levels[name].add(meant)
    require_none(mistakes)
    return levels


def require_covered(results: Results, rows: Sequence[Row]) -> None:
    """Raise ConfigError if no rule covers any of these trials, such as those of page loads."""
    reasons = [_why_not_covered(results, row) for row in rows]
    if all(reasons):
        remedy = f"httpbed report {results.directory} shows each trial over time"
        raise ConfigError(
            Mistake(str(results.directory), f"has no trial that can be divided: {reason}", remedy)
            for reason in dict.fromkeys(reasons)
        )


def _why_not_covered(results: Results, row: Row) -> str:
    """Return why no rule covers a trial; empty if one does."""
    return evidence.refusal(scenario(results, results.levels(row)))


def _lacks_packets(results: Results, row: Row) -> bool:
    """Whether running a trial again would tell more: a rule covers it, and it has no packets."""
    return not (_why_not_covered(results, row) or explain_report.has_packets(results, row))


def _same(repeated: Results, results: Results, row: Row) -> Row | None:
    """Return the row of the repetition of a trial."""
    wanted = place_of(results, row).cell
    rows = attempts.valid(repeated)
    return next((one for one in rows if place_of(repeated, one).cell == wanted), None)


def _shift(results: Results, row: Row, repeated: Results, other: Row) -> list[str]:
    """Say that a repeated trial took another time."""
    before, after = _seconds(results, row), _seconds(repeated, other)
    if before is None or after is None or abs(after - before) <= SHIFTED * before:
        return []
    took = f"trial {row['block']}/{row['trial']} took {before:.3g} s, and {after:.3g} s when it"
    return [f"{took} ran again for its packets; the division is that of the repetition"]


def _seconds(results: Results, row: Row) -> float | None:
    """Return the time of a trial's requests."""
    metric = METRIC_OF_PAGES if _is_page(results, row) else "request_time"
    return attempts.value_of(row, of_trials(results, metric))


def _print(shown: ShownTransfers | ShownLoads, form: str, directory: Path) -> None:
    if form == "json":
        echo(json.dumps(shown.values()))
        return
    document = shown.document(draws=form == "text")
    if form == "markdown":
        echo(markdown.render(document), nl=False)
        return
    terminal_report.show(document, _save(document, directory), terminal.console())


def _save(document: Document, directory: Path) -> Path | None:
    """Write the HTML page and its figures into a campaign; None where that is read-only."""
    try:
        return publish.save(document, directory, name=REPORT)
    except OSError as error:
        echo(f"note: no HTML page: {error}", err=True)
        return None
