"""The tables ``[[figure]]`` of an experiment file."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.addons.figures import checking
from httpbed.addons.figures.stated import StatedFigure
from httpbed.experiment.document import KeyPath
from httpbed.experiment.stated_tables import StatedTable, StatedTables
from httpbed.experiment.table_problem import TableProblem


def _problems(stated: StatedTables) -> Iterator[tuple[KeyPath, TableProblem]]:
    return checking.problems(stated.tables, stated.factors, stated.treatments)


TABLE = StatedTable(
    "figure",
    "figures",
    StatedFigure,
    100,
    "Figures that the report draws. They change nothing that runs.",
    _problems,
)
