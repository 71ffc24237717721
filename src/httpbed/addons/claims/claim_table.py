"""The tables ``[[claim]]`` of an experiment file."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.addons.claims import checking
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.stated import StatedClaim
from httpbed.experiment.document import KeyPath
from httpbed.experiment.stated_tables import StatedTable, StatedTables
from httpbed.experiment.table_problem import TableProblem
from httpbed.experiment.treatment import treatment_key


def _problems(stated: StatedTables) -> Iterator[tuple[KeyPath, TableProblem]]:
    design = ClaimDesign(stated.factors, frozenset(map(treatment_key, stated.treatments)))
    return checking.problems(stated.tables, design, stated.unread)


TABLE = StatedTable(
    "claim",
    "claims",
    StatedClaim,
    1000,
    "What the experiment's results should show, with the values that support it. Claims change"
    " nothing that runs.",
    _problems,
)
