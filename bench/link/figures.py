"""Figures, the goals beside them, and the two forms in which they leave: a table and JSON."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

WIDTHS = (36, 28, 4, 12, 23, 10)


@dataclass(frozen=True)
class Goal:
    """What a median should be; nothing is asserted, the table only says."""

    how: Literal["at most", "at least", "within"]
    """``within`` is for signed deviations."""
    limit: float

    def met(self, value: float) -> bool:
        """Whether a value is within it."""
        if self.how == "at least":
            return value >= self.limit
        return (abs(value) if self.how == "within" else value) <= self.limit

    def __str__(self) -> str:
        sign = {"at most": "<=", "at least": ">=", "within": "+-"}[self.how]
        return f"{sign} {self.limit:g}"


@dataclass
class Figure:
    """One quantity of one subject, a value for each round."""

    what: str
    subject: str
    unit: str
    goal: Goal | None = None
    values: list[float] = field(default_factory=list)
    note: str = ""
    is_open: bool = False
    """Whether something else than the subject limited a value, so that no goal can be judged."""

    @property
    def median(self) -> float | None:
        """The median over the rounds; None where nothing could be measured."""
        return statistics.median(self.values) if self.values else None

    @property
    def verdict(self) -> str:
        """Say whether the goal is met."""
        if self.goal is None or self.median is None:
            return ""
        if self.is_open:
            return "open"
        return "met" if self.goal.met(self.median) else "missed"

    def as_json(self) -> dict[str, Any]:
        """Return it ready for :func:`json.dumps`, every value included."""
        goal = {"how": self.goal.how, "limit": self.goal.limit} if self.goal else None
        return {
            "what": self.what,
            "subject": self.subject,
            "unit": self.unit,
            "n": len(self.values),
            "median": self.median,
            "values": self.values,
            "goal": goal,
            "verdict": self.verdict or None,
            "note": self.note or None,
        }

    def row(self) -> str:
        """Write it as a line of the table."""
        if self.median is None:
            return f"{_cell(self.what, 0)}{_cell(self.subject, 1)}   -  {self.note}".rstrip()
        spread = f"{_short(min(self.values))} .. {_short(max(self.values))}"
        cells = (
            _cell(f"{self.what}, {self.unit}" if self.unit else self.what, 0),
            _cell(self.subject, 1),
            f"{len(self.values):>{WIDTHS[2]}}",
            f"{_short(self.median):>{WIDTHS[3]}}",
            f"{spread:>{WIDTHS[4]}}",
            f"{self.goal or ''!s:>{WIDTHS[5]}}",
        )
        return f"{''.join(cells)}  {self.verdict:7} {self.note}".rstrip()


@dataclass
class Section:
    """The figures of one comparison, measured in turns."""

    name: str
    title: str
    figures: list[Figure] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    """Subjects in the order in which they were measured."""
    load: list[tuple[float, float, float]] = field(default_factory=list)
    """Load averages before and after."""

    def begin(self) -> None:
        """Note the machine's load."""
        self.load.append(os.getloadavg())

    end = begin

    def figure(self, what: str, subject: str, unit: str, goal: Goal | None = None) -> Figure:
        """Return the figure of that name, made when first asked for."""
        for known in self.figures:
            if (known.what, known.subject) == (what, subject):
                return known
        self.figures.append(Figure(what, subject, unit, goal))
        return self.figures[-1]

    def lack(self, subject: str, why: str) -> None:
        """Say that a subject is missing, instead of leaving it out."""
        self.figures.append(Figure("not measured", subject, "", note=why))

    def against(self, what: str, own: str, other: str, goal: Goal) -> None:
        """Add the ratio of a figure to another subject's, round by round."""
        known = {each.subject: each for each in self.figures if each.what == what}
        if own in known and other in known:
            ratio = self.figure(f"{what} against {other}", own, "", goal)
            pairs = zip(known[own].values, known[other].values, strict=False)
            ratio.values = [mine / theirs for mine, theirs in pairs if theirs]

    def as_json(self) -> dict[str, Any]:
        """Return it ready for :func:`json.dumps`."""
        return {
            "name": self.name,
            "title": self.title,
            "order": self.order,
            "load_average": self.load,
            "figures": [figure.as_json() for figure in self.figures],
        }

    def table(self) -> str:
        """Write it for a terminal, quantity by quantity."""
        names = ("", "", "n", "median", "smallest .. largest", "goal")
        aligned = [f"{name:>{width}}" for name, width in zip(names, WIDTHS, strict=True)]
        load = " to ".join(f"{one:.2f}" for one, _, _ in self.load)
        quantities = list(dict.fromkeys(figure.what for figure in self.figures))
        ordered = sorted(self.figures, key=lambda figure: quantities.index(figure.what))
        lines = [f"{self.title}; load average {load}", "".join(aligned).rstrip()]
        return "\n".join([*lines, *(figure.row() for figure in ordered)])


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def _cell(text: str, column: int) -> str:
    width = WIDTHS[column]
    return f"{text:{width}}" if len(text) < width else f"{text} "


def _short(value: float) -> str:
    """Write four significant digits without an exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:  # no decimals where four digits stand before the point
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.6f}"
