"""Places the treatments of a design in a figure: panel, series and position of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from httpbed.addons.figures.stated import StatedFigure
from httpbed.base.errors import first_names
from httpbed.experiment.factorial import selects, treatment_key
from httpbed.experiment.stated_tables import TableProblem, TableProblemsError

Factors = Mapping[str, Sequence[str]]
Levels = tuple[str, ...]
"""Levels of some factors, in the order in which the figure names them."""
FigurePlace = tuple[Levels, Levels, str, str, Levels]
"""Panel, series, x, y and the levels over which a CDF is taken."""


@dataclass(frozen=True)
class FigureCell:
    """One treatment in a figure."""

    treatment: Mapping[str, str]
    base: Mapping[str, str] | None
    """The treatment that a ratio is taken to; None where the figure draws values."""
    panel: Levels
    series: Levels
    x: str
    """Level on the horizontal axis; empty in a CDF and of spans."""
    y: str
    """Level of a grid's row; empty in other figures."""
    over: Levels
    """Levels of the factors over which a CDF is taken."""

    @property
    def place(self) -> FigurePlace:
        """Where it stands; no other cell of the figure stands there."""
        return self.panel, self.series, self.x, self.y, self.over


@dataclass(frozen=True)
class PlacedFigure:
    """A figure with its cells."""

    stated: StatedFigure
    factors: Factors
    cells: tuple[FigureCell, ...]

    @cached_property
    def panels(self) -> tuple[Levels, ...]:
        """The panels' levels, in the order of the factors' levels."""
        return self._ordered(self.stated.panels, (cell.panel for cell in self.cells))

    @cached_property
    def series(self) -> tuple[Levels, ...]:
        """The series' levels, in the order of the factors' levels."""
        return self._ordered(self.stated.series, (cell.series for cell in self.cells))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The levels of the factor on the horizontal axis."""
        return self._of_axis(self.stated.x, (cell.x for cell in self.cells))

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The levels of the factor of a grid's rows."""
        return self._of_axis(self.stated.y, (cell.y for cell in self.cells))

    def _of_axis(self, name: str | None, levels: Iterable[str]) -> tuple[str, ...]:
        if name is None:
            return ()
        return tuple(level for (level,) in self._ordered([name], ((one,) for one in levels)))

    def _ordered(self, names: Sequence[str], keys: Iterable[Levels]) -> tuple[Levels, ...]:
        ranks = [{level: at for at, level in enumerate(self.factors[name])} for name in names]
        return tuple(
            sorted(
                set(keys),
                key=lambda levels: [rank[level] for rank, level in zip(ranks, levels, strict=True)],
            )
        )


def place(
    stated: StatedFigure, factors: Factors, treatments: Sequence[Mapping[str, str]]
) -> PlacedFigure:
    """Place the treatments that a figure selects. Every name in the figure is known.

    Raises:
        TableProblemsError: There is no such treatment, none has a base, or two have one place.
    """
    chosen = [one for one in treatments if not stated.where or _is_chosen(stated, one)]
    if not chosen:
        reason, remedy = "no treatment has these levels", "name other levels"
        raise TableProblemsError([TableProblem(("where",), reason, remedy)])
    cells = tuple(_cells(stated, chosen, treatments))
    if not cells:
        reason = "no treatment of the figure has a base with these levels"
        remedy = "name other levels, or add the base to a group"
        raise TableProblemsError([TableProblem(("ratio_to",), reason, remedy)])
    _demand_own_places(stated, cells)
    return PlacedFigure(stated, factors, cells)


def _is_chosen(stated: StatedFigure, treatment: Mapping[str, str]) -> bool:
    return any(selects(one, treatment) for one in stated.where)


def _cells(
    stated: StatedFigure,
    chosen: Iterable[Mapping[str, str]],
    treatments: Sequence[Mapping[str, str]],
) -> Iterable[FigureCell]:
    levels = {name: one[0] for name, one in stated.ratio_to.items()}
    known = {treatment_key(one) for one in treatments} if levels else set()
    for treatment in chosen:
        base = {**treatment, **levels} if levels else None
        if base is not None and (base == treatment or treatment_key(base) not in known):
            continue
        yield FigureCell(
            treatment=treatment,
            base=base,
            panel=tuple(treatment[name] for name in stated.panels),
            series=tuple(treatment[name] for name in stated.series),
            x=treatment[stated.x] if stated.x else "",
            y=treatment[stated.y] if stated.y else "",
            over=tuple(treatment[name] for name in stated.over),
        )


def _demand_own_places(stated: StatedFigure, cells: Iterable[FigureCell]) -> None:
    first: dict[FigurePlace, Mapping[str, str]] = {}
    differing: dict[str, None] = {}
    for cell in cells:
        other = first.setdefault(cell.place, cell.treatment)
        names = (name for name in other if other[name] != cell.treatment[name])
        differing |= dict.fromkeys(names)
    if differing:
        reason = f"several treatments have the same place: they differ in {first_names(differing)}"
        roles = {"grid": "x, y or panels", "cdf": "series, panels or over"}
        roles |= {"spans": "series or panels"}
        remedy = f"choose one level in where, or name the factor in {_roles(stated, roles)}"
        raise TableProblemsError([TableProblem(("where",), reason, remedy)])


def _roles(stated: StatedFigure, of_kind: Mapping[str, str]) -> str:
    return of_kind.get(stated.kind, "x, series or panels")
