"""What a campaign has finished: the last attempt at each trial, and the damaged attempts.

It comes from the tables, so an attempt that an earlier reader verified is not parsed again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa

from httpbed.experiment.trial import Attempt, OutcomeKind, Record
from httpbed.store import attempts, layout, tables
from httpbed.store.campaign import Campaign
from httpbed.store.damage import Damage


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


def read(campaign: Campaign) -> Finished:
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
    return [one.attempt for one in parsed if isinstance(one, Record)]
