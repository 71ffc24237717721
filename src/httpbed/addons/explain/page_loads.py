"""Explains loads of pages: prints their critical paths, which the addon of pages reads.

A load leaves the browser's events in every attempt, so only loads of an archive have to run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from httpbed.addons.pages import loads
from httpbed.addons.pages.report import critical_path_report
from httpbed.addons.pages.report.critical_path_report import LoadPath
from httpbed.report import manifest, network
from httpbed.report.document import Facts, Listing, Paragraph, Section
from httpbed.report.phrasing import Sentence
from httpbed.report.sections import Document
from httpbed.store.results import Results


@dataclass(frozen=True)
class ShownLoads:
    """What ``httpbed explain`` shows of a campaign of page loads."""

    results: Results
    found: Sequence[LoadPath]
    unread: Sequence[str]
    """Trials without a path."""

    def with_others(self, others: ShownLoads) -> ShownLoads:
        """Return these loads and those of a repetition."""
        return replace(
            self, found=[*self.found, *others.found], unread=[*self.unread, *others.unread]
        )

    def document(self, *, draws: bool) -> Document:
        """Return it as a document; the waterfalls are in the campaign's report."""
        del draws
        made_by, results = self.results.manifest, self.results
        answers = tuple(self._answers())
        tables = [critical_path_report.steps_table([one]) for one in self.found]
        return Document(
            name=results.experiment.name,
            question=f"Why did it take so long? {results.experiment.question}",
            httpbed=str(made_by.get("httpbed", "")),
            started=str(made_by.get("started", "")),
            clock=manifest.clock(made_by),
            programs=tuple(
                f"{one.name} {one.version}".strip() for one in manifest.under_test(made_by)
            ),
            heading=Facts(tuple(("link", line) for line in network.sentences(results.document))),
            treatments=critical_path_report.shares_table(self.found),
            matrix=None,
            matrix_title="",
            answer=answers,
            notes=(),
            evidence=tuple(
                f"{one.name}: trial {one.trial.name}, {len(one.trial.load.requests)} requests"
                for one in self.found
            ),
            sections=(
                Section("answer", "", (Listing(answers, "answer"),), in_contents=""),
                Section(
                    "paths",
                    "Critical paths",
                    (Paragraph(critical_path_report.READING), *tables),
                ),
            ),
        )

    def _answers(self) -> Iterator[Sentence]:
        for one in self.found:
            name = f"{one.name}: " if len(self.found) > 1 else ""
            yield Sentence(name + ". ".join(critical_path_report.sentences(one)))
        yield from (Sentence(f"Trial {name} left no readable load") for name in self.unread)
        if found := critical_path_report.difference(self.found):
            yield Sentence(". ".join(found.sentences()))

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        difference = critical_path_report.difference(self.found)
        return {
            "schema": 1,
            "loads": [critical_path_report.values(one) for one in self.found],
            "not_explained": list(self.unread),
            "difference": difference.values() if difference else None,
        }


def is_readable(results: Results, row: Mapping[str, Any]) -> bool:
    """Whether an attempt left a load that can be read."""
    return loads.read(results, row) is not None


def read(results: Results, rows: Sequence[Mapping[str, Any]]) -> ShownLoads:
    """Read the critical paths of trials that load pages."""
    paths, unread = list[LoadPath](), list[str]()
    for row in rows:
        trial = loads.read(results, row)
        path = critical_path_report.of_trial(results, trial) if trial else None
        if path:
            paths.append(path)
        else:
            unread.append(f"{row['block']}/{row['trial']}")
    return ShownLoads(results, paths, unread)
