"""Verifies a campaign: reads all its files and compares them with their digests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from httpbed.base import digests
from httpbed.base.errors import ConfigError
from httpbed.experiment.trial import Record, Trial
from httpbed.store import attempts, campaign_design, campaign_files, layout, table_cache, tables
from httpbed.store.campaign import Campaign
from httpbed.store.layout import EXPERIMENT, INDEX, LINKS, MANIFEST, RUNS, SIGNATURE, Damage
from httpbed.store.table_cache import StoredTables, UnreadableTablesError
from httpbed.store.tables import ATTEMPTS, BATCH, ORDER, TABLES, KnownAttempt

UNIT = "unit"
"""Column of a table of observations."""


@dataclass(frozen=True)
class Verification:
    """The result of verifying a campaign."""

    planned: int | None
    """Number of trials in the design; None if it cannot be read."""
    attempts: int
    """Number of finished attempts whose files are all as written."""
    without_attempt: int | None
    """Number of trials without such an attempt, which is no damage."""
    damaged: tuple[Damage, ...]
    """Attempts and files that differ from what was written."""
    notes: tuple[str, ...]
    """Things in the folder that take no part in any result."""


def verify(campaign: Campaign) -> Verification:
    """Read a whole campaign and compare it with its digests."""
    damaged = list(_own_files(campaign)) or list(_unreadable(campaign))
    design = _design(campaign)
    if not damaged and campaign.is_archive:
        return _of_archive(campaign)
    if tables.lacks_trials(campaign):
        damaged.append(Damage(f"{layout.TRIALS}/", ("is gone, and the tables were made from it",)))
    whole = dict[str, set[str]]()
    remade = None if damaged else RemadeTables(campaign)
    real = campaign.directory.resolve()
    for place in layout.attempts(real):
        record = _attempt(campaign, place, design, remade)
        if isinstance(record, Damage):
            damaged.append(record)
        else:
            whole.setdefault(record.attempt.id, set()).add(place)
    damaged += remade.contradictions() if remade else ()
    return Verification(
        planned=None if design is None else len(design),
        attempts=sum(map(len, whole.values())),
        without_attempt=None if design is None else len(design.keys() - whole.keys()),
        damaged=tuple(damaged),
        notes=tuple(_notes(campaign)),
    )


def _of_archive(campaign: Campaign) -> Verification:
    """Verify the tables: an archive has no files of attempts."""
    planned = len(campaign.design())
    notes = ("it is an archive, made without the files of its attempts", *_beside(campaign))
    if not os.path.lexists(campaign.directory / SIGNATURE):
        notes = (*notes, "unsigned tables: nobody vouches that they are those of the attempts")
    if INDEX not in campaign.files():
        notes = (*notes, f"{MANIFEST} does not cover the tables; that of a new archive of it does")
    try:
        trials = tables.compact(campaign).tables["trials"]
    except ConfigError as error:
        damaged = tuple(Damage(INDEX, (mistake.reason,)) for mistake in error.mistakes)
        return Verification(planned, 0, planned, damaged, notes)
    return Verification(planned, len(trials), planned - len(trials["trial"].unique()), (), notes)


def _own_files(campaign: Campaign) -> Iterator[Damage]:
    """Yield damage to the files with which a campaign began."""
    try:
        listed = campaign.files()
    except ConfigError as error:
        yield from (
            Damage(Path(mistake.place).name, (mistake.reason,)) for mistake in error.mistakes
        )
        return
    real = campaign.directory.resolve()
    for name, how in digests.differences(real, listed).items():
        if campaign_files.staged_content(real, name, listed[name]) is None:
            yield Damage(name, (how,))
    for name in (EXPERIMENT, campaign.design_file, *digests.names(real, LINKS)):
        if name not in listed and not campaign_files.is_unused_link(real, name):
            yield Damage(name, ("is not among the files that manifest.json names",))


def _unreadable(campaign: Campaign) -> Iterator[Damage]:
    """Yield what no reader accepts of files that are as somebody wrote them."""
    try:
        factors = campaign_design.read_experiment(campaign)[0].factors
    except ConfigError as error:
        yield Damage(
            EXPERIMENT, tuple(f"{mistake.place}: {mistake.reason}" for mistake in error.mistakes)
        )
        return
    try:
        campaign_design.refuse_design(campaign, campaign.design(), factors)
    except ConfigError as error:
        yield Damage(
            campaign.design_file,
            tuple(f"{mistake.place}: {mistake.reason}" for mistake in error.mistakes),
        )


def _design(campaign: Campaign) -> Mapping[str, Trial] | None:
    try:
        return campaign.trials_by_id()
    except ConfigError:
        return None


def _attempt(
    campaign: Campaign, place: str, design: Mapping[str, Trial] | None, remade: RemadeTables | None
) -> Record | Damage:
    real = campaign.directory.resolve()
    state, files = attempts.state(real, place), attempts.read_files(real, place)
    record = attempts.parse(files, design)
    if isinstance(record, Damage):
        return record
    if remade:
        remade.add(KnownAttempt(place, state, files.fingerprint), record)
    reasons = (*attempts.altered(real, place), *attempts.strangers(real, place))
    return Damage(place, reasons) if reasons else record


def _beside(campaign: Campaign) -> Iterator[str]:
    """Yield a note on reports and other files that no digest covers, if there are any."""
    if names := layout.beside(campaign.directory.resolve()):
        listed = ", ".join(names)
        yield f"no digest covers {listed}; the verb that wrote them can write them again"


def _notes(campaign: Campaign) -> Iterator[str]:
    yield from _beside(campaign)
    real = campaign.directory.resolve()
    if campaign_files.staged_names(real):
        yield "a run was killed while the campaign grew; the next run completes or forgets that"
    try:
        yield from (
            f"{RUNS}: line {number} is torn, and is ignored" for number in campaign.torn_runs()
        )
    except ConfigError as error:
        yield from (f"{RUNS}: {mistake.reason}" for mistake in error.mistakes)
    yield from (
        f"{place}: belongs to no attempt, and is ignored" for place in layout.unexpected(real)
    )
    yield from (
        f"{place}: was set aside by httpbed run, and is ignored" for place in layout.set_aside(real)
    )


# Makes the tables of a campaign again, and compares the stored ones with them.


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
        kept = [
            attempt for attempt in made_from if _is_as_then(attempt, self._found.get(attempt.place))
        ]
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
        _bits(one[name]).equals(_bits(other[name]))
        or (name == UNIT and _are_alike(one[name], other[name]))
        for name in one.column_names
    )


def _are_alike(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two columns differ only where one is empty.

    The unit is not in an attempt's files. It is empty in a table that was made without the addon
    that has the metric.
    """
    is_known = pc.and_(pc.not_equal(one, ""), pc.not_equal(other, ""))
    return bool(one.filter(is_known).equals(other.filter(is_known)))


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_floating(column.type):
        return column
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
