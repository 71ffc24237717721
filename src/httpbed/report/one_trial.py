"""One trial, as lines, as JSON values and as figures: what the addons know of it, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from httpbed.base.addon import Seam
from httpbed.base.errors import ConfigError, Mistake, visible
from httpbed.report import terminal
from httpbed.report.phrasing import whole_treatment
from httpbed.report.terminal import Console
from httpbed.results import attempts
from httpbed.results.attempts import AttemptRow
from httpbed.store.layout import FIGURES
from httpbed.store.results import Results

if TYPE_CHECKING:
    from httpbed.report.svg import Plot

MAX_NAMED = 6


@dataclass(frozen=True)
class TrialPart:
    """What one addon shows of a trial."""

    lines: Sequence[tuple[str, str]]
    values: Mapping[str, Any]
    plots: Callable[[], list[Plot]]
    is_all: bool = False
    """Whether the views after it add nothing."""


@dataclass(frozen=True)
class TrialView:
    """A view of single trials."""

    name: str
    place: int
    make: Callable[[Results, AttemptRow], TrialPart | None]
    """Returns what it shows of an attempt; None where the attempt left nothing for it."""


TRIAL_VIEWS = Seam("views of a trial", TrialView)


@dataclass(frozen=True)
class ShownTrial:
    """The last attempt at a trial."""

    row: AttemptRow
    levels: Mapping[str, str]
    parts: tuple[TrialPart, ...] = field(default_factory=tuple)

    def lines(self) -> list[tuple[str, str]]:
        """List what happened when, each line with its key."""
        row = self.row
        where = f"{row['block']}/{row['trial']}, attempt {row['attempt']}: {row['outcome']}"
        course = [line for part in self.parts for line in part.lines]
        none = ("over time", "no record; links of the kernel and earlier versions keep none")
        known = [("trial", where), ("treatment", whole_treatment(self.levels))]
        return [*known, *(course or [none])]

    def values(self, figures: list[Path]) -> dict[str, Any]:
        """Return the trial as JSON values."""
        own = {name: self.row[name] for name in ("block", "trial", "attempt", "outcome")}
        parts = {key: value for part in self.parts for key, value in part.values.items()}
        levels = {"levels": dict(self.levels)}
        return {"schema": 1, **own, **levels, **parts, "figures": list(map(str, figures))}

    def save(self, directory: Path) -> list[Path]:
        """Write its figures into the campaign's folder, as SVG and PDF; return their paths."""
        folder = directory / FIGURES
        plots = [plot for part in self.parts for plot in part.plots()]
        for plot in plots:
            plot.save(folder, as_pdf=True)
        return [folder / f"{plot.name}.{kind}" for plot in plots for kind in ("svg", "pdf")]


def find(results: Results, text: str) -> ShownTrial:
    """Return the trial that ``BLOCK/TRIAL`` names, with what is shown of it.

    Raises:
        ConfigError: As :func:`find_row`.
    """
    return _shown(results, find_row(attempts.valid(results), text))


def find_row(rows: Sequence[AttemptRow], text: str) -> AttemptRow:
    """Return the row that ``BLOCK/TRIAL`` names; the first characters of TRIAL suffice.

    Raises:
        ConfigError: It names none, or several.
    """
    block, slash, name = text.partition("/")
    matching = [
        row
        for row in rows
        if slash
        and name
        and row["trial"].startswith(name)
        and str(row["block"]) == block.lstrip("0")
    ]
    if len(matching) == 1:
        return matching[0]
    found = f"{len(matching)} trials" if matching else "no trial with a valid attempt"
    reason = f"{text!r} matches {found}"
    some = [f"{row['block']}/{row['trial']}" for row in (matching or rows)]
    more = ", ..." if len(some) > MAX_NAMED else ""
    known = ", ".join(some[:MAX_NAMED]) + more
    remedy = f"write BLOCK/TRIAL as in the folder trials; there are: {known or 'none yet'}"
    raise ConfigError([Mistake("--trial", reason, remedy)])


def _shown(results: Results, row: AttemptRow) -> ShownTrial:
    parts: list[TrialPart] = []
    for view in sorted(TRIAL_VIEWS.provided(), key=lambda one: one.place):
        if part := view.make(results, row):
            parts.append(part)
            if part.is_all:
                break
    return ShownTrial(row, results.levels(row), tuple(parts))


def show(trial: ShownTrial, figures: list[Path], out: Console) -> None:
    """Print what happened when; the figures' paths are the last lines."""
    facts = [*trial.lines(), *(("figure", str(path)) for path in figures)]
    terminal.show_facts(((key, visible(text)) for key, text in facts), out)
