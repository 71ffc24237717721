"""What a campaign has finished: the last attempt at each trial, and the damaged attempts.

It comes from the tables, so an attempt that an earlier reader verified is not parsed again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment.trial import Attempt, OutcomeKind, Record, Trial
from httpbed.store import attempts, layout, query, tables
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign
from httpbed.store.layout import Damage
from httpbed.store.results import Results


class LastAttempt(NamedTuple):
    """The last attempt at a trial."""

    number: int
    outcome: OutcomeKind


@dataclass(frozen=True)
class Finished:
    """The finished attempts of a campaign."""

    trials: pa.Table
    """A row per attempt (:data:`httpbed.store.results.TRIAL_FIELDS`)."""
    damaged: tuple[Damage, ...]
    """Attempts that are not as they were written, and so count as missing."""

    @cached_property
    def last(self) -> dict[str, LastAttempt]:
        """The last attempt at each trial, by the trial's identifier."""
        rows = self.trials.sort_by("attempt")
        columns = (rows[name].to_pylist() for name in ("trial", "attempt", "outcome"))
        return {trial: LastAttempt(*rest) for trial, *rest in zip(*columns, strict=True)}


def finished_attempts(campaign: Campaign) -> Finished:
    """Return what a campaign has finished."""
    made = tables.compact(campaign, [tables.TRIALS])
    return Finished(made.tables[tables.TRIALS], made.damaged)


def recent(campaign: Campaign, found: Finished, most: int) -> list[Attempt]:
    """Return the attempts that started last, in the order of their start."""
    rows = found.trials.sort_by("started")
    rows = rows.slice(max(0, len(rows) - most))
    columns = (rows[name].to_pylist() for name in ("block", "trial", "attempt"))
    return attempts_at(campaign, (layout.attempt(*key) for key in zip(*columns, strict=True)))


def attempts_at(campaign: Campaign, places: Iterable[str]) -> list[Attempt]:
    """Return the sound attempts among these folders of a campaign."""
    real = campaign.directory.resolve()
    parsed = (attempts.parse(attempts.read_files(real, place), None) for place in places)
    return [record.attempt for record in parsed if isinstance(record, Record)]


# A campaign that a run extends, read again and again.
#
# Finished attempts never change, so each is read and parsed once. Complete blocks are not even
# listed: a further reading costs as much as what is new.


MAX_CHUNKS = 64
"""A table of more pieces is joined into one, because each piece costs every query."""


class GrowingCampaign:
    """The results of a campaign as of the last reading."""

    def __init__(self, directory: Path) -> None:
        """Read the campaign.

        Raises:
            ConfigError: The folder is not a campaign.
        """
        campaigns.open_existing(directory)
        self.directory = directory
        self.results: Results
        self._read()

    def refresh(self) -> bool:
        """Read what has been added; return whether anything changed.

        Raises:
            ConfigError: The folder is no longer a campaign.
        """
        if _stamp(self.directory) != self._stamp:  # the campaign grew
            self._read()
            return True
        found = [*self._parsed()]
        records = [result for result in found if isinstance(result, Record)]
        damaged = tuple(sorted(result for result in found if isinstance(result, Damage)))
        if not records and damaged == self.results.damaged:
            return False
        added = tables.tabulate(records, list(self.results.experiment.factors))
        joined = {name: _joined(getattr(self.results, name), rows) for name, rows in added.items()}
        self.results = replace(self.results, damaged=damaged, **joined)
        self._note(
            (record.attempt.id, record.attempt.number, record.attempt.outcome.kind)
            for record in records
        )
        return True

    def _read(self) -> None:
        self._stamp = _stamp(self.directory)
        whole = query.read(self.directory)
        self.results = replace(whole, damaged=tuple(sorted(whole.damaged)))
        design = campaigns.open_existing(self.directory).design()
        self._design: dict[str, Trial] = {trial.id: trial for trial in design}
        self._open = Counter(trial.block for trial in design)
        """How many trials of each block have no valid attempt yet."""
        self._settled = set[str]()
        """Trials with a valid attempt, which get no other."""
        self._seen = set[tuple[str, int]]()
        names = ("trial", "attempt", "outcome")
        columns = (self.results.trials[name].to_pylist() for name in names)
        self._note(zip(*columns, strict=True))

    def _note(self, ended: Iterable[tuple[str, int, str]]) -> None:
        for trial, attempt, outcome in ended:
            self._seen.add((trial, attempt))
            if outcome != "invalid" and trial in self._design and trial not in self._settled:
                self._settled.add(trial)
                self._open[self._design[trial].block] -= 1

    def _parsed(self) -> Iterable[Record | Damage]:
        """Yield each attempt that is new, or was damaged and is still there."""
        real = self.directory.resolve()
        damaged = (damage.place for damage in self.results.damaged)
        still = [place for place in damaged if os.path.lexists(real / place)]
        for place in dict.fromkeys([*still, *layout.attempts(real, self._is_known)]):
            yield attempts.parse(attempts.read_files(real, place), self._design)

    def _is_known(self, place: str) -> bool:
        _, block, *rest = place.split("/")
        if not rest:
            return int(block) in self._open and not self._open[int(block)]
        trial, *number = rest
        return (trial, int(number[0])) in self._seen if number else trial in self._settled


def _stamp(directory: Path) -> tuple[int, int]:
    """Return what changes whenever the manifest is replaced."""
    try:
        status = (directory / layout.MANIFEST).stat()
    except OSError as error:
        reason = f"is not a campaign any more: {layout.MANIFEST}: {error.strerror}"
        raise ConfigError([Mistake(str(directory), reason)]) from None
    return status.st_ino, status.st_mtime_ns


def _joined(table: pa.Table, rows: pa.Table) -> pa.Table:
    joined = pa.concat_tables([table, rows])
    pieces = max((column.num_chunks for column in joined.columns), default=0)
    return joined.combine_chunks() if pieces > MAX_CHUNKS else joined
