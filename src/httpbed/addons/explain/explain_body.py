"""Chooses the trials to explain, runs those again that kept no packets, and prints the answer.

Loads of pages are explained by their critical paths, which the addon of pages reads. A load leaves
the browser's events in every attempt, so only loads of an archive have to run again.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from httpbed.addons.explain import (
    again,
    difference,
    evidence,
    explain_report,
    page_timeline,
    page_windows,
)
from httpbed.addons.explain.again import Again
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.explain_report import Shown
from httpbed.addons.explain.explanation import (
    Explained,
    Unexplained,
    explain,
    explained,
    typical_rows,
)
from httpbed.addons.explain.lifts import Rung
from httpbed.addons.explain.page_timeline import SlowBodies
from httpbed.addons.explain.page_windows import HeldLoad
from httpbed.addons.pages import loads
from httpbed.addons.pages.report import critical_path_report
from httpbed.addons.pages.report.critical_path_report import LoadPath
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.cli.echo import echo
from httpbed.cli.options import factor_levels
from httpbed.experiment.factorial import treatment_key
from httpbed.programs.catalog import Catalog
from httpbed.report import (
    markdown,
    one_trial,
    publish,
    terminal,
    terminal_report,
)
from httpbed.report.document import Block, Paragraph, Section
from httpbed.report.phrasing import Sentence
from httpbed.report.sections import Document
from httpbed.results import attempts
from httpbed.results.sample import of_trials, scenario
from httpbed.store import query
from httpbed.store.results import Results

Row = Mapping[str, Any]
REPORT = "explain.html"
SEPARATOR = re.compile(r",(?=[^,=]*=)")
"""Between the levels of a treatment; a level may have a comma of its own."""
SHIFTED = 0.01
"""Relative difference of a repeated trial's time from which on a note says so."""


def run(
    directory: Path,
    how: Again | None,
    catalog: Catalog,
    *,
    treatments: Sequence[str],
    trial: str | None,
    why: tuple[str, str] | None,
    tries: bool,
    form: str,
) -> None:
    """Explain trials of a campaign; ``how`` says how to run them again, None: not at all."""
    results = query.read(directory)
    rows = pair(results, why) if why else _chosen(results, treatments, trial)
    if all(_is_page(results, row) for row in rows):
        _explain_pages(results, rows, how, form, catalog, tries=tries and not why)
        return
    require_covered(results, rows)
    own_clock = results.manifest.get("clock", "real")
    if how and tries:
        how = again.exact(results, {_place(results, row) for row in rows}, how)
    missing = [
        row
        for row in rows
        if not _can_be_read(results, row) or (how and how.clock not in {None, own_clock})
    ]
    repeated, notes = None, list[str]()
    if missing and how is not None:
        again.run(results, {_place(results, row) for row in missing}, how)
        repeated = query.read(how.directory)
    answers = list[Explained | Unexplained]()
    for row in rows:
        other = _same(repeated, results, row) if repeated and row in missing else None
        if repeated and other:
            answers.append(explain(repeated, other, catalog))
            notes += _shift(results, row, repeated, other)
        else:
            answers.append(explain(results, row, catalog))
    compared = difference.of(explained(answers)) if why else None
    ladders = dict[tuple[int, str], list[Rung]]()
    if how and compared:
        ladders = again.ladders(results, [compared.slow], how, compared.fast)
    elif how and tries and not why:
        ladders = again.ladders(results, explained(answers), how)
    shown = Shown(results, answers, notes, ladders, is_pair=bool(why))
    _print(shown, form, how.directory if repeated and how else directory)


def _is_page(results: Results, row: Row) -> bool:
    levels = {name: row[name] for name in results.experiment.factors}
    return scenario(results, levels).workload.kind == "page"


def _explain_pages(
    results: Results,
    rows: Sequence[Row],
    how: Again | None,
    form: str,
    catalog: Catalog,
    *,
    tries: bool,
) -> None:
    """Show the critical paths of loads; those that left nothing, as in an archive, run again."""
    if tries:
        reason = "lifts limits of transfers, and these trials load pages"
        raise ConfigError([Mistake("--try", reason, "leave it out")])

    missing = [row for row in rows if how and loads.read(results, row) is None]
    shown = read(results, [row for row in rows if row not in missing], catalog)
    if how and missing:
        places = {_place(results, row) for row in missing}
        how = again.exact(results, places, replace(how, kept=frozenset()))
        again.run(results, places, how)
        repeated = query.read(how.directory)
        others = [other for row in missing if (other := _same(repeated, results, row))]
        more = read(repeated, others, catalog)
        every = [*shown.found, *more.found]
        shown = ShownLoads(results, every, [*shown.unread, *more.unread])
    if not shown.found:
        reason = f"has no readable load: {', '.join(shown.unread)}"
        raise ConfigError([Mistake(str(results.directory), reason, "run the experiment again")])
    _print(shown, form, how.directory if how and missing else results.directory)


def _chosen(results: Results, treatments: Sequence[str], trial: str | None) -> list[Row]:
    rows: list[Row] = [*attempts.valid(results)]
    if trial is not None:
        return [one_trial.find_row(rows, trial)]
    wanted = _levels(results, treatments)
    rows = [row for row in rows if _fits(row, wanted)]
    if not rows:
        reason = "no valid trial of such a treatment" if wanted else "no valid trial"
        raise ConfigError([Mistake(str(results.directory), f"has {reason}")])
    return typical_rows(results, rows)


def pair(results: Results, why: tuple[str, str]) -> list[Row]:
    """Return a trial of each of two treatments, of one block if there is one of both.

    Trials of a block meet the same draws.

    :raises ConfigError: when a name has no trial, or fits several treatments.
    """
    levels, mistakes = list[dict[str, set[str]]](), list[Mistake]()
    for words in why:
        try:
            levels.append(_levels(results, SEPARATOR.split(words), "--why"))
        except ConfigError as error:
            mistakes += error.mistakes
    require_none(mistakes)
    rows = list[Row]()
    for words, wanted in zip(why, levels, strict=True):
        fitting = [row for row in attempts.valid(results) if _fits(row, wanted)]
        chosen = typical_rows(results, fitting) if fitting else []
        if len(chosen) != 1:
            mistakes.append(_no_treatment(results, words, wanted, len(chosen)))
            continue
        same = [row for row in fitting if rows and row["block"] == rows[0]["block"]]
        rows.append((same or chosen)[0])
    if not mistakes and rows[0] == rows[1]:
        mistakes.append(Mistake("--why", "both names are of one treatment", "name two"))
    require_none(mistakes)
    return rows


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
        name for name, some in results.experiment.factors.items() if name not in levels and some[1:]
    ]
    return Mistake("--why", f"{words!r} fits {count} treatments", f"add {', '.join(more)}")


def _levels(
    results: Results, treatments: Sequence[str], option: str = "--treatment"
) -> dict[str, set[str]]:
    """Return the levels to explain of each factor that is named."""
    mistakes, levels = list[Mistake](), defaultdict[str, set[str]](set)
    factors = results.experiment.factors
    for name, level in factor_levels(treatments, option, mistakes):
        if name not in factors:
            known = ", ".join(factors) or "none"
            mistakes.append(Mistake(option, f"no factor {name!r}; known: {known}"))
        elif level not in factors[name]:
            reason = f"{name} has no level {level!r}; known: {', '.join(factors[name])}"
            mistakes.append(Mistake(option, reason))
        levels[name].add(level)
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
    try:
        evidence.refuse(scenario(results, {name: row[name] for name in results.experiment.factors}))
    except NoTransferError as error:
        return str(error)
    return ""


def _can_be_read(results: Results, row: Row) -> bool:
    """Whether running a trial again would add nothing: it has packets, or no rule covers it."""
    return bool(_why_not_covered(results, row)) or explain_report.has_packets(results, row)


def _place(results: Results, row: Row) -> again.Chosen:
    return row["block"], treatment_key({name: row[name] for name in results.experiment.factors})


def _same(repeated: Results, results: Results, row: Row) -> Row | None:
    """Return the row of the repetition of a trial."""
    wanted = _place(results, row)
    return next((one for one in attempts.valid(repeated) if _place(repeated, one) == wanted), None)


def _shift(results: Results, row: Row, repeated: Results, other: Row) -> list[str]:
    """Say that a repeated trial took another time."""
    before = of_trials(results, "request_time").get((row["trial"], row["attempt"]))
    after = of_trials(repeated, "request_time").get((other["trial"], other["attempt"]))
    if before is None or after is None or abs(after - before) <= SHIFTED * before:
        return []
    took = f"trial {row['block']}/{row['trial']} took {before:.3g} s, and {after:.3g} s when it"
    return [f"{took} ran again for its packets; the division is that of the repetition"]


def _print(shown: Shown | ShownLoads, form: str, directory: Path) -> None:
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


@dataclass(frozen=True)
class ShownLoad:
    """A load with its critical path, and what the link tells of it; None: nothing."""

    path: LoadPath
    held: HeldLoad | None
    slow: SlowBodies | None

    def sentences(self) -> Iterator[str]:
        """Say it, each without its full stop."""
        yield from critical_path_report.sentences(self.path)
        yield from (one.sentence() for one in (self.slow, self.held) if one)

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            **critical_path_report.values(self.path),
            "held": self.held.values() if self.held else None,
            "slow": self.slow.values() if self.slow else None,
        }


@dataclass(frozen=True)
class ShownLoads:
    """What ``httpbed explain`` shows of a campaign of page loads."""

    results: Results
    found: Sequence[ShownLoad]
    unread: Sequence[str]
    """Trials without a path."""

    @property
    def paths(self) -> list[LoadPath]:
        """The critical path of each load."""
        return [load.path for load in self.found]

    def document(self, *, draws: bool) -> Document:
        """Return it as a document; the waterfalls are in the campaign's report."""
        del draws
        tables = [critical_path_report.steps_table([path]) for path in self.paths]
        blocks: tuple[Block, ...] = (Paragraph(critical_path_report.READING), *tables)
        return explain_report.document(
            self.results,
            critical_path_report.shares_table(self.paths),
            tuple(self._answers()),
            evidence=tuple(
                f"{path.name}: trial {path.trial.name}, {len(path.trial.load.requests)} requests"
                for path in self.paths
            ),
            sections=(Section("paths", "Critical paths", blocks),),
        )

    def _answers(self) -> Iterator[Sentence]:
        for load in self.found:
            name = f"{load.path.name}: " if len(self.found) > 1 else ""
            yield Sentence(name + ". ".join(load.sentences()))
        yield from (Sentence(f"Trial {name} left no readable load") for name in self.unread)
        if found := critical_path_report.difference(self.paths):
            yield Sentence(". ".join(found.sentences()))

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        difference = critical_path_report.difference(self.paths)
        return {
            "schema": 1,
            "loads": [load.values() for load in self.found],
            "not_explained": list(self.unread),
            "difference": difference.values() if difference else None,
        }


def read(results: Results, rows: Sequence[Mapping[str, Any]], catalog: Catalog) -> ShownLoads:
    """Read the critical paths of trials that load pages, and what the link tells of them."""
    found, unread = list[ShownLoad](), list[str]()
    for row in rows:
        trial = loads.read(results, row)
        path = critical_path_report.of_trial(results, trial) if trial else None
        if trial is None or path is None:
            unread.append(f"{row['block']}/{row['trial']}")
            continue
        held, slow = None, None
        if timeline := page_timeline.read(results, trial):
            described = scenario(results, trial.levels)
            held = page_windows.of_load(timeline, trial.load, described, catalog)
            slow = page_timeline.slow_bodies(timeline, path.path)
        found.append(ShownLoad(path, held, slow))
    return ShownLoads(results, found, unread)
