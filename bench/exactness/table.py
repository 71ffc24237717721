"""The result as tables in Markdown: programs by role and HTTP version, then other trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.exactness.evidence import Evidence, difference

from httpbed.addons.interop.pairings import Promise

EXACT = "exact"
NONE = "-"
NO_DATA = ("invalid", "unsupported")
"""Outcomes after which there is nothing to compare."""
VERSIONS = ("1.1", "2", "3")


@dataclass(frozen=True)
class Row:
    """A trial with its repetitions."""

    family: str
    name: str
    repetitions: Mapping[str, Evidence]
    """By the condition; the first one is what the others are compared with."""
    promises: tuple[Promise, ...] = ()

    def verdict(self) -> str:
        """Return whether the repetitions are the same, and by what they differ."""
        (_, first), *others = self.repetitions.items()
        found = {name: difference(first, one) for name, one in others}
        differing = [f"{name}: {words}" for name, words in found.items() if words]
        if differing:
            return f"differs ({'; '.join(differing)})"
        kind, _, reason = first.outcome.partition(": ")
        if kind in NO_DATA:
            return f"does not run ({reason})"
        return f"{EXACT}, {kind} ({reason})" if kind else EXACT

    def is_exact(self) -> bool:
        """Whether the trial runs and gives the same bytes, be it those of a failure."""
        return self.verdict().startswith(EXACT)


@dataclass
class Notes:
    """Numbered notes below a table; equal notes share a number."""

    texts: list[str] = field(default_factory=list)

    def cell(self, verdict: str) -> str:
        """Return a verdict as a short cell, and keep the rest as a note."""
        word, _, rest = verdict.partition(" (")
        if not rest:
            return word
        text = rest.removesuffix(")")
        if text not in self.texts:
            self.texts.append(text)
        return f"{word} [{self.texts.index(text) + 1}]"

    def lines(self) -> Iterator[str]:
        """Yield the notes."""
        for number, text in enumerate(self.texts, start=1):
            yield f"{number}. {text}"


def markdown(rows: Sequence[Row]) -> str:
    """Return all tables."""
    notes = Notes()
    lines = [*_of_programs(rows, notes), *_of_others(rows, notes)]
    exact = sum(row.is_exact() for row in rows)
    count = f"{exact} of {len(rows)} trials are exact."
    return "\n".join([*lines, count, "", *notes.lines()]).rstrip() + "\n"


def _of_programs(rows: Sequence[Row], notes: Notes) -> Iterator[str]:
    """Yield a line for each program and role.

    A program is exact where any trial with it is exact: then all programs of that trial are.
    """
    verdicts = dict[Promise, str]()
    for row in rows:
        for promise in row.promises:
            if verdicts.get(promise) != EXACT:
                verdicts[promise] = row.verdict()
    if not verdicts:
        return
    yield from (
        "| program | role | HTTP/1.1 | HTTP/2 | HTTP/3 |",
        "| --- | --- | --- | --- | --- |",
    )
    for name, role in sorted({(one.name, _role(one)) for one in verdicts}):
        own = {
            one.http_version: verdict
            for one, verdict in verdicts.items()
            if (one.name, _role(one)) == (name, role)
        }
        cells = (notes.cell(own[version]) if version in own else NONE for version in VERSIONS)
        yield f"| {name} | {role} | {' | '.join(cells)} |"
    yield ""


def _role(promise: Promise) -> str:
    version = promise.upstream_http_version
    return f"{promise.role}, HTTP/{version} upstream" if version else promise.role


def _of_others(rows: Iterable[Row], notes: Notes) -> Iterator[str]:
    others = [row for row in rows if not row.promises]
    if not others:
        return
    yield from ("| trials | | result |", "| --- | --- | --- |")
    for row in others:
        yield f"| {row.family} | {row.name} | {notes.cell(row.verdict())} |"
    yield ""
