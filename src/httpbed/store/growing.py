"""A campaign that a run extends, read again and again.

Finished attempts never change, so each is read and parsed once. Complete blocks are not even
listed: a further reading costs as much as what is new.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment.trial import Record, Trial
from httpbed.store import attempts, layout, query, tables
from httpbed.store import campaign as campaigns
from httpbed.store.damage import Damage
from httpbed.store.results import Results

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
        records = [one for one in found if isinstance(one, Record)]
        damaged = tuple(sorted(one for one in found if isinstance(one, Damage)))
        if not records and damaged == self.results.damaged:
            return False
        added = tables.tabulate(records, list(self.results.experiment.factors))
        joined = {name: _joined(getattr(self.results, name), rows) for name, rows in added.items()}
        self.results = replace(self.results, damaged=damaged, **joined)
        self._note(
            (one.attempt.id, one.attempt.number, one.attempt.outcome.kind) for one in records
        )
        return True

    def _read(self) -> None:
        self._stamp = _stamp(self.directory)
        self.results = replace(found := query.read(self.directory), damaged=_sorted(found))
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
        damaged = (one.place for one in self.results.damaged)
        still = [place for place in damaged if os.path.lexists(real / place)]
        for place in dict.fromkeys([*still, *layout.attempts(real, self._is_known)]):
            yield attempts.parse(attempts.read_files(real, place), self._design)

    def _is_known(self, place: str) -> bool:
        _, block, *rest = place.split("/")
        if not rest:
            return int(block) in self._open and not self._open[int(block)]
        trial, *number = rest
        return (trial, int(number[0])) in self._seen if number else trial in self._settled


def _sorted(results: Results) -> tuple[Damage, ...]:
    return tuple(sorted(results.damaged))


def _stamp(directory: Path) -> tuple[int, int]:
    """Return what changes whenever the manifest is replaced."""
    try:
        found = (directory / layout.MANIFEST).stat()
    except OSError as error:
        reason = f"is not a campaign any more: {layout.MANIFEST}: {error.strerror}"
        raise ConfigError([Mistake(str(directory), reason)]) from None
    return found.st_ino, found.st_mtime_ns


def _joined(table: pa.Table, rows: pa.Table) -> pa.Table:
    joined = pa.concat_tables([table, rows])
    pieces = max((column.num_chunks for column in joined.columns), default=0)
    return joined.combine_chunks() if pieces > MAX_CHUNKS else joined
