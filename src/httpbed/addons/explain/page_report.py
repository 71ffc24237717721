"""What ``httpbed explain`` shows of page loads: critical paths, and what responses wait for.

The addon of pages reads the paths, which a load leaves in every attempt. The responses are
divided where its packets were kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from httpbed.addons.explain import (
    difference,
    evidence,
    explain_figures,
    explain_report,
    explanation,
    page_division,
    page_windows,
)
from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.difference import Difference
from httpbed.addons.explain.explain_report import Shown
from httpbed.addons.explain.explanation import Unexplained, duration_text
from httpbed.addons.explain.lifts import Rung
from httpbed.addons.explain.page_division import ExplainedLoad
from httpbed.addons.explain.page_windows import HeldLoad
from httpbed.addons.pages import loads
from httpbed.addons.pages.load.critical_path import BEHIND, SLOWER, WAITING, CriticalPath, Step
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import critical_path_report
from httpbed.addons.pages.report.critical_path_report import LoadPath, PathDifference
from httpbed.base.errors import ConfigError, Mistake
from httpbed.programs.catalog import Catalog
from httpbed.report.document import (
    Block,
    Column,
    Figure,
    Heading,
    Paragraph,
    RowName,
    Section,
    Table,
)
from httpbed.report.phrasing import Sentence, listed, naming, title
from httpbed.report.sections import Document
from httpbed.store.results import Results

Row = Mapping[str, Any]
SLOW = 0.05
"""Share of a path from which on waits, slow bodies or turns are worth packets."""
SINCE_NAVIGATION = "time since the navigation (s)"
SHOWN = 0.01
"""Share of a path below which a response has no row."""


def is_slow(path: CriticalPath) -> bool:
    """Whether responses on a path came later than they could, for long enough to ask why."""
    slow_s = sum(step.lasts_s for step in path.steps if _is_to_explain(path, step))
    return slow_s >= SLOW * path.whole_s


def _is_to_explain(path: CriticalPath, step: Step) -> bool:
    """Whether packets can tell more of a step: of a turn, unless the moment waits for both."""
    if step.what != BEHIND:
        return step.what in {SLOWER, WAITING}
    is_needed = step.behind is not None and step.behind.id in path.needed
    return not (is_needed and step.request == path.requests[-1])


def needs_packets(results: Results, row: Row, *, is_compared: bool = False) -> bool:
    """Whether running a load again would tell more of it.

    It left none, or it kept no packets and its responses are slow, or are compared with others.
    """
    trial = loads.read(results, row)
    if trial is None:
        return True
    path = critical_path_report.of_trial(results, trial)
    is_asked = path is not None and (is_compared or is_slow(path.path))
    return is_asked and not explain_report.has_packets(results, row)


@dataclass(frozen=True)
class ShownLoad:
    """A load with its critical path."""

    path: LoadPath
    divided: ExplainedLoad | Unexplained
    held: HeldLoad | None
    """What held bodies by their pace; None: nothing is known to."""

    def sentences(self) -> Iterator[str]:
        """Say it, each without its full stop."""
        if isinstance(self.divided, ExplainedLoad):
            yield from self.divided.sentences()
        else:
            yield from critical_path_report.sentences(self.path)
            if is_slow(self.path.path):
                yield f"The trial does not say why responses came late: {self.divided.reason}"
        if self.held and not self._names(self.held):
            yield self.held.sentence()

    def _names(self, held: HeldLoad) -> bool:
        """Whether the division names the same window."""
        one = self.divided
        window = one.held.of if isinstance(one, ExplainedLoad) and one.held else None
        return window is not None and str(window) == str(held.of)

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        one = self.divided
        return {
            **critical_path_report.values(self.path),
            "responses": one.values_of_responses() if isinstance(one, ExplainedLoad) else None,
            "not_divided": one.reason if isinstance(one, Unexplained) else "",
            "held": self.held.values() if self.held else None,
        }


@dataclass(frozen=True)
class Unread:
    """A trial without a critical path."""

    name: str
    trial: PageTrial | None
    """None: it left no load that can be read."""
    outcome: str

    def sentence(self) -> str:
        """Say why it has none, without a full stop."""
        if self.trial is None:
            return f"Trial {self.name} left no readable load"
        load = self.trial.load
        why = f"{load.ended}: {load.reason}" if load.reason else load.ended
        return f"Trial {self.name} {self.outcome}, and its browser fetched nothing ({why})"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.trial is None:
            return evidence.AGAIN
        return f"httpbed report DIR --trial {self.name} shows what its programs printed"


@dataclass(frozen=True)
class ShownLoads(Shown):
    """What ``httpbed explain`` shows of a campaign of page loads."""

    found: Sequence[ShownLoad]
    unread: Sequence[Unread]

    @property
    def paths(self) -> list[LoadPath]:
        """The critical path of each load."""
        return [load.path for load in self.found]

    @property
    def known(self) -> list[ExplainedLoad]:
        """The loads whose responses are divided."""
        return [one.divided for one in self.found if isinstance(one.divided, ExplainedLoad)]

    @cached_property
    def _path_difference(self) -> PathDifference | None:
        return critical_path_report.difference(self.paths)

    @cached_property
    def difference(self) -> Difference | None:
        """Why the slowest took longer than the fastest, by causes, if both are divided."""
        if (found := self._path_difference) is None:
            return None
        known = {one.path.trial.name: one for one in self.known}
        fast, slow = (known.get(path.trial.name) for path in (found.fast, found.slow))
        return Difference(fast, slow) if fast and slow else None

    def document(self, *, draws: bool) -> Document:
        """Return it as a document; the waterfalls are in the campaign's report."""
        evidence = (
            f"{path.name}: trial {path.trial.name}, {len(path.trial.load.requests)} requests"
            for path in self.paths
        )
        shares = critical_path_report.shares_table(self.paths)
        return self._document(shares, self._answers(), evidence, self._sections(draws=draws))

    def _sections(self, *, draws: bool) -> Iterator[Section]:
        if self.known:
            blocks = (*self._of_responses(draws=draws),)
            yield Section("responses", "What the responses on the path waited for", blocks)
        tables = [critical_path_report.steps_table([path]) for path in self.paths]
        reading = Paragraph(critical_path_report.READING)
        yield Section("paths", "Critical paths", (reading, *tables))

    def _of_responses(self, *, draws: bool) -> Iterator[Block]:
        responses = [one.responses for one in self.known]
        yield explain_report.table(responses, self.name)
        yield from explain_report.blocks(responses, self.name, draws=draws)
        yield responses_table(self.known)
        if draws:
            for one in self.known[: explain_report.MAX_BANDS]:
                yield Heading(one.path.name)
                yield Figure(explain_figures.bands(one, SINCE_NAVIGATION))

    def _ladder(self, path: LoadPath) -> Sequence[Rung]:
        return self.ladder(path.trial.block, path.trial.trial)

    def _answers(self) -> Iterator[Sentence]:
        for load in self.found:
            name = f"{load.path.name}: " if len(self.found) > 1 else ""
            rungs = [rung.sentence() for rung in self._ladder(load.path)]
            yield Sentence(name + ". ".join([*load.sentences(), *rungs]))
        yield from (Sentence(f"{one.sentence()}; {one.remedy}") for one in self.unread)
        yield from self._differences()

    def _differences(self) -> Iterator[Sentence]:
        """Say why the slowest load took longer than the fastest, and what was lifted of that."""
        found, pair = self._path_difference, self.difference
        if found is None:
            yield from self._absence()
            return
        by_cause = [f"By cause: {pair.named()}"] if pair else []
        yield Sentence(". ".join([*found.sentences(), *by_cause]))
        names, ladder = (found.fast.name, found.slow.name), self._ladder(found.slow)
        if pair and (closing := pair.closing(*names, ladder)):
            yield Sentence(closing)

    def _absence(self) -> Iterator[Sentence]:
        """Say why a pair has no difference."""
        if not self.is_pair or self.unread:
            return
        goals = {title(path.path.goal) for path in self.paths}
        if len(goals) > 1:
            yield Sentence(f"Their paths end at different moments: {listed(sorted(goals))}")
            return
        outcomes = {path.name: path.trial.outcome for path in self.paths}
        yield Sentence(difference.absence(outcomes))

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        found = self._path_difference
        return {
            "schema": 1,
            "loads": [
                {**load.values(), "ladder": [rung.values() for rung in self._ladder(load.path)]}
                for load in self.found
            ],
            "not_explained": [one.name for one in self.unread],
            "difference": found.values() if found else None,
            "difference_by_cause": self.difference.values() if self.difference else None,
            "notes": list(self.notes),
        }


def responses_table(found: Sequence[ExplainedLoad]) -> Table:
    """Return a row for each response on each path, with what its connection waited for."""
    rows = [
        (load, one)
        for load in found
        for one in load.each
        if one.whole >= SHOWN * load.division.whole
    ]
    totals = dict.fromkeys(BY_NAME, 0)
    for _, one in rows:
        for name, cost in one.costs().items():
            totals[name] += cost
    dearest = sorted(totals, key=lambda name: -totals[name])[: explain_report.MAX_CAUSES]
    shown = [name for name in totals if name in dearest and totals[name]]
    columns = [
        Column.of("from", (duration_text(one.periods[0].begin) for _, one in rows), right=True),
        Column.of("lasts", (duration_text(one.whole) for _, one in rows), right=True),
    ]
    for name in shown:
        costs = [one.costs_of({name}) for _, one in rows]
        cells = (duration_text(cost) if cost else "" for cost in costs)
        columns.append(Column.of(name.replace(" ", "\n"), cells, right=True))
    names = tuple(RowName(load.path.name, load.path.resource(one.request)) for load, one in rows)
    caption = "Each response on a path, by what its connection waited for"
    return Table("Responses", caption, tuple(columns), names, name_header="response")


def read(results: Results, rows: Sequence[tuple[Results, Row]], catalog: Catalog) -> ShownLoads:
    """Read the critical paths of trials that load pages, and what their packets show.

    Each row comes with the campaign that it is of: its own, or that of its repetition.

    :raises ConfigError: when none of them has a path.
    """
    treatments = [campaign.levels(row) for campaign, row in rows]
    found, unread, name = list[ShownLoad](), list[Unread](), naming(treatments)
    for campaign, row in rows:
        trial = loads.read(campaign, row)
        path = None
        if trial:
            path = critical_path_report.of_trial(campaign, trial, name(trial.levels))
        if trial is None or path is None:
            unread.append(Unread(f"{row['block']}/{row['trial']}", trial, row["outcome"]))
            continue
        held = page_windows.of_trial(campaign, trial, catalog)
        left = explanation.remains(campaign, row, catalog)
        divided = left if isinstance(left, Unexplained) else page_division.of_path(left, path)
        found.append(ShownLoad(path, divided, held))
    if not found:
        first, *others = unread
        more = f", and so for {len(others)} more" if others else ""
        reason = f"has no load to explain: {first.sentence()}{more}"
        raise ConfigError([Mistake(str(results.directory), reason, first.remedy)])
    return ShownLoads(results, treatments, found, unread)
