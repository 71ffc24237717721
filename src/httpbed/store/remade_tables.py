"""Makes the tables of a campaign again, and compares the stored ones with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from httpbed.experiment.trial import Record
from httpbed.store import layout, table_cache, tables
from httpbed.store.campaign import Campaign
from httpbed.store.damage import Damage
from httpbed.store.table_cache import StoredTables, UnreadableTablesError
from httpbed.store.tables import ATTEMPTS, BATCH, ORDER, TABLES, KnownAttempt


class RemadeTables:
    """The tables of attempts that are as written."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._factors = tables.factors_of(campaign)
        self._found = dict[str, KnownAttempt]()
        self._waiting = list[Record]()
        self._parts = [tables.tabulate([], self._factors)]

    def add(self, known: KnownAttempt, record: Record) -> None:
        """Add an attempt."""
        self._found[known.place] = known
        self._waiting.append(record)
        if len(self._waiting) == BATCH:
            self._tabulate()

    def _tabulate(self) -> None:
        self._parts.append(tables.tabulate(self._waiting, self._factors))
        self._waiting.clear()

    def contradictions(self) -> Iterator[Damage]:
        """Yield the stored tables that say something else than their attempts.

        Stored tables that no reader would believe, because they are torn or of another version, are
        left out.
        """
        self._tabulate()
        try:
            stored = table_cache.read(self._campaign.directory.resolve(), [*TABLES, ATTEMPTS])
            made_from = tables.listed(stored)
        except (KeyError, TypeError, UnreadableTablesError):
            return
        if stored.made_from.get("columns") == tables.columns_digest(self._factors):
            for name in TABLES:
                if reason := self._difference(name, stored, made_from):
                    yield Damage(layout.table(self._campaign.directory, name).name, (reason,))

    def _difference(
        self, name: str, stored: StoredTables, made_from: Sequence[KnownAttempt]
    ) -> str:
        """Say how a stored table differs from what its attempts say; empty if it does not."""
        table = stored.tables[name]
        for mistake in tables.wrong_columns({name: table}, self._campaign):
            return mistake.reason
        if len(tables.rows_of(table, made_from)) != len(table):
            return "has rows of attempts from which it was not made"
        kept = [one for one in made_from if _is_as_then(one, self._found.get(one.place))]
        remade = pa.concat_tables(part[name] for part in self._parts)
        ours, theirs = (tables.rows_of(one, kept).sort_by(ORDER) for one in (remade, table))
        if _are_equal(ours, theirs):
            return ""
        return "has other rows than the attempts from which it was made"


def _is_as_then(then: KnownAttempt, now: KnownAttempt | None) -> bool:
    """Whether a reader would believe the rows of an attempt."""
    if now is None:
        return False
    return then.fingerprint == now.fingerprint or (bool(now.state) and then.state == now.state)


def _are_equal(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same rows, numbers by their bits."""
    return one.num_rows == other.num_rows and all(
        _bits(one[name]).equals(_bits(other[name])) for name in one.column_names
    )


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_floating(column.type):
        return column
    return pa.chunked_array([one.view(pa.int64()) for one in column.chunks], pa.int64())
