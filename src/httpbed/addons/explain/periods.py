"""Periods of a time, each with its cause, and the division of a time into them."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from httpbed.addons.explain.causes import BY_NAME, Surety
from httpbed.addons.explain.rounds import Rounds


@dataclass(frozen=True)
class Period:
    """A part of the time, in ns since the client's first packet."""

    begin: int
    end: int
    cause: str
    surety: Surety
    detail: str = ""
    """The kind of a timeout or of other responses, or what went on behind a proxy."""

    @property
    def lasts(self) -> int:
        """Its length in ns."""
        return self.end - self.begin

    @property
    def kind(self) -> tuple[str, str, str]:
        """What neighbours have in common that are one period."""
        return self.cause, self.surety, self.detail


@dataclass(frozen=True)
class Division:
    """The periods of a transfer, which follow each other without a gap."""

    periods: tuple[Period, ...]
    in_force: tuple[Period, ...]
    """The same time by what was in force."""
    rounds: Rounds | None
    """None without an answer."""

    @cached_property
    def whole(self) -> int:
        """The time of all periods in ns."""
        return sum(period.lasts for period in self.periods)

    def share(self, ns: int) -> float:
        """Return a time as a share of the whole."""
        return ns / max(1, self.whole)

    def costs(self) -> Counter[str]:
        """Return the ns of each cause that occurs, in the order of the taxonomy."""
        return _totals(self.periods)

    def forces(self) -> Counter[str]:
        """Return for how many ns each cause was in force."""
        return _totals(self.in_force)

    def seen(self, cause: str) -> int:
        """Return the ns of a cause that were seen and not inferred."""
        return sum(
            period.lasts
            for period in self.periods
            if period.cause == cause and period.surety == "seen"
        )


def _totals(periods: Iterable[Period]) -> Counter[str]:
    totals = Counter[str]()
    for period in periods:
        totals[period.cause] += period.lasts
    return Counter({name: totals[name] for name in BY_NAME if totals[name]})


def joined(periods: Iterable[Period]) -> Iterator[Period]:
    """Leave out empty periods, and join neighbours of one cause."""
    last: Period | None = None
    for period in periods:
        if period.lasts <= 0:
            continue
        if last and last.kind == period.kind:
            last = replace(last, end=period.end)
            continue
        if last:
            yield last
        last = period
    if last:
        yield last


def recast(periods: Iterable[Period], cause: str, others: Sequence[Period]) -> Iterator[Period]:
    """Yield periods, within the times of others as those in place of a cause."""
    for part, other in cut(periods, cause, others):
        yield replace(other, begin=part.begin, end=part.end) if other else part


def cut(
    periods: Iterable[Period], cause: str, others: Sequence[Period]
) -> Iterator[tuple[Period, Period | None]]:
    """Yield periods, those of a cause in parts: each within the time of another with that one.

    The others are sorted, and none ends before an earlier one.
    """
    ends = [one.end for one in others]
    for period in periods:
        at = period.begin
        if period.cause == cause:
            for other in itertools.islice(others, bisect(ends, at), None):
                first, last = max(other.begin, at), min(other.end, period.end)
                if first >= period.end:
                    break
                if last > first:
                    yield replace(period, begin=at, end=first), None
                    yield replace(period, begin=first, end=last), other
                    at = last
        yield replace(period, begin=at), None
