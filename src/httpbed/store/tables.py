"""Tidy tables of a campaign, cached as Parquet; the directories remain the truth.

# Theory of operation

A table has the rows of attempts whose files had their digests when they were read. The cache names
these attempts, each with the fingerprint of its files' content and with their state: inodes, sizes
and times of the last change. A reader asks for the state of every attempt, which opens no file:

- An attempt in the same state keeps its rows.
- Of an attempt in another state the files are read. If they have the same fingerprint, because the
  campaign was copied, it keeps its rows, too.
- All other attempts are parsed and verified: new ones, changed ones, and those that were damaged.

While a run works on the campaign no cache is written: the next attempt would outdate it, and the
writing would disturb the trial under way.

So the time that a report takes to read a campaign that grew depends on what is new. The rows stay
what was verified if a disk later loses bytes without changing a file's times; ``httpbed verify``
reads all bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc

from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.experiment.trial import Attempt, OutcomeKind, Record, Trial
from httpbed.store import attempts, campaign_design, campaign_folder, layout, table_cache
from httpbed.store.campaign import Campaign
from httpbed.store.layout import INDEX, Damage
from httpbed.store.results import (
    CHECK_FIELDS,
    LATER_FIELDS,
    OBSERVATION_FIELDS,
    OPTIONAL_FIELDS,
    TRIAL_FIELDS,
)
from httpbed.store.table_cache import StoredTables

TRIALS = "trials"
TABLES: Mapping[str, Mapping[str, pa.DataType]] = {
    TRIALS: TRIAL_FIELDS,
    "observations": OBSERVATION_FIELDS,
    "checks": CHECK_FIELDS,
}
ATTEMPTS = "attempts"
"""The table of the attempts that have rows."""
BATCH = 500
"""Records that are made into tables at a time: as objects they take several times the memory."""
ORDER = [("block", "ascending"), ("trial", "ascending"), ("attempt", "ascending")]
"""The order of :func:`httpbed.store.layout.attempts`."""


class KnownAttempt(NamedTuple):
    """An attempt that has rows."""

    place: str
    state: str
    """As :func:`httpbed.store.attempts.state` returned it before the files were read."""
    fingerprint: str


@dataclass(frozen=True)
class CampaignTables:
    """A campaign's attempts as tables."""

    tables: Mapping[str, pa.Table]
    """By the names in :data:`TABLES`."""
    damaged: tuple[Damage, ...]
    """Attempts that are not as they were written, and so in no table."""
    made_from: str
    """Digest of all that the tables are made from."""


@dataclass
class _Comparison:
    """The attempts of a campaign, compared with what the cache has."""

    kept: list[KnownAttempt] = field(default_factory=list)
    """Attempts whose cached rows hold."""
    added: list[KnownAttempt] = field(default_factory=list)
    """Attempts that were parsed."""
    parts: list[Mapping[str, pa.Table]] = field(default_factory=list)
    """Tables of the parsed attempts."""
    damaged: list[Damage] = field(default_factory=list)

    def every(self) -> list[KnownAttempt]:
        """Return all attempts that have rows, in order."""
        return sorted([*self.kept, *self.added], key=lambda attempt: _order(attempt.place))


def lacks_trials(campaign: Campaign) -> bool:
    """Whether a campaign has tables, but no longer the trials from which they were made."""
    real = campaign.directory.resolve()
    made = os.path.lexists(real / INDEX) and not campaign.is_archive
    return made and not os.path.lexists(real / layout.TRIALS)


def compact(campaign: Campaign, wanted: Sequence[str] = tuple(TABLES)) -> CampaignTables:
    """Return some of the tables; parse only attempts that are not in the cache.

    Raises:
        ConfigError: Its attempts are gone; or it is an archive, and its tables are not as they were
            written, or too large.
    """
    real = campaign.directory.resolve()
    if campaign.is_archive:
        return _tables_alone(campaign, wanted)
    if lacks_trials(campaign):
        reason = f"has tables, but no {layout.TRIALS}/, without which its tables prove nothing"
        remedy = f"restore {layout.TRIALS}/ from a copy; httpbed export --archive keeps the tables"
        raise ConfigError([Mistake(str(campaign.directory), reason, remedy)])
    factors = factors_of(campaign)
    made_from = {"columns": columns_digest(factors), "design": _design_digest(campaign)}
    ledger = table_cache.read_own(real, [ATTEMPTS])
    comparison = _compare(campaign, _known(campaign, ledger, made_from), factors)
    is_current = ledger is not None and _describes(ledger, comparison, made_from)
    cached = table_cache.read_own(real, wanted if is_current else [*TABLES])
    if cached is not None and is_current:
        return CampaignTables(cached.tables, cached.damaged, _digest(made_from, comparison.kept))
    if cached is None and comparison.kept:  # a table is damaged
        comparison = _compare(campaign, {}, factors)
    stored = StoredTables(
        _joined(cached, comparison, factors), tuple(comparison.damaged), made_from
    )
    every = comparison.every()
    if every or stored.damaged:
        _keep(campaign.directory, stored, every)
    return CampaignTables(stored.tables, stored.damaged, _digest(made_from, every))


def archive(directory: Path, made: Mapping[str, pa.Table]) -> None:
    """Write the tables of a campaign that has no attempts."""
    table_cache.write(directory, StoredTables(made, (), {}))


def _tables_alone(campaign: Campaign, wanted: Sequence[str]) -> CampaignTables:
    real = campaign.directory.resolve()
    if os.path.lexists(real / layout.TRIALS):
        reason = f"is an archive, and has {layout.TRIALS}/, from which its tables were not made"
        remedy = f"move {layout.TRIALS}/ out of it"
        raise ConfigError([Mistake(str(campaign.directory), reason, remedy)])
    try:
        cached = table_cache.read(real, wanted)
    except table_cache.UnreadableTablesError as error:
        remedy = f"restore the tables and {INDEX} from a copy"
        raise ConfigError([Mistake(str(campaign.directory), str(error), remedy)]) from None
    made_from = {"design": _design_digest(campaign)}
    complete = {name: _completed(table, name) for name, table in cached.tables.items()}
    require_none([*wrong_columns(complete, campaign)] or [*_wrong_values(complete, campaign)])
    return CampaignTables(complete, cached.damaged, _digest(made_from, ()))


def _completed(table: pa.Table, name: str) -> pa.Table:
    """Add the columns that an archive of an earlier version lacks, without values."""
    for place, (column, kind) in enumerate(TABLES[name].items()):
        if column in LATER_FIELDS and column not in table.column_names:
            table = table.add_column(place, pa.field(column, kind), pa.nulls(len(table), kind))
    return table


def wrong_columns(found: Mapping[str, pa.Table], campaign: Campaign) -> Iterator[Mistake]:
    """Yield a mistake for each column that an archive should have, and has not or differently."""
    factors = dict.fromkeys(factors_of(campaign), pa.string())
    for name, table in found.items():
        for column, kind in {**TABLES[name], **factors}.items():
            if column not in table.column_names:
                reason = f"has no column {column!r}"
            elif (other := table.schema.field(column).type) != kind:
                reason = f"its column {column!r} has the type {other}, not {kind}"
            elif column not in OPTIONAL_FIELDS and table[column].null_count:
                reason = f"its column {column!r} has rows without a value"
            else:
                continue
            file = layout.table(campaign.directory, name)
            yield Mistake(str(file), reason, f"restore the tables and {INDEX} from a copy")


def _wrong_values(found: Mapping[str, pa.Table], campaign: Campaign) -> Iterator[Mistake]:
    for name, reason in problems(found):
        file = layout.table(campaign.directory, name)
        yield Mistake(str(file), reason, f"restore the tables and {INDEX} from a copy")


def factors_of(campaign: Campaign) -> list[str]:
    """Return the names of the factors, in the order of the experiment file.

    Raises:
        ConfigError: The experiment file cannot be read.
    """
    return [*campaign_design.experiment_header(campaign)[0].factors]


def columns_digest(factors: Sequence[str]) -> str:
    """Return the digest of the columns of all tables."""
    columns = [list(fields) for fields in TABLES.values()]
    return hashlib.sha256(json.dumps([columns, list(factors)]).encode()).hexdigest()


def _design_digest(campaign: Campaign) -> str:
    listed = campaign.files().get(campaign.design_file)
    return listed.sha256 if listed else ""


def _digest(made_from: Mapping[str, str], every: Iterable[KnownAttempt]) -> str:
    parts = [dict(made_from), [(attempt.place, attempt.fingerprint) for attempt in every]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _known(
    campaign: Campaign, ledger: StoredTables | None, made_from: Mapping[str, str]
) -> dict[str, KnownAttempt]:
    """Return the attempts in the cache, by place, whose trials the campaign's design has."""
    if ledger is None or ledger.made_from.get("columns") != made_from["columns"]:
        return {}
    known = {attempt.place: attempt for attempt in listed(ledger)}
    if ledger.made_from.get("design") == made_from["design"]:
        return known
    design = campaign.trials_by_id()
    return {place: one for place, one in known.items() if place.split("/")[2] in design}


def listed(ledger: StoredTables) -> list[KnownAttempt]:
    """Return the attempts from which tables were made."""
    columns = (ledger.tables[ATTEMPTS][name].to_pylist() for name in KnownAttempt._fields)
    return [KnownAttempt(*one) for one in zip(*columns, strict=True)]


def _describes(ledger: StoredTables, comparison: _Comparison, made_from: Mapping[str, str]) -> bool:
    """Whether the cache was made from what was found, and nothing else."""
    same = ledger.made_from == made_from and ledger.damaged == tuple(comparison.damaged)
    return same and not comparison.added and listed(ledger) == comparison.kept


def _compare(
    campaign: Campaign, known: Mapping[str, KnownAttempt], factors: Sequence[str]
) -> _Comparison:
    """Find the attempts whose cached rows hold, and parse the others."""
    comparison, records, real = _Comparison(), list[Record](), campaign.directory.resolve()
    design: Mapping[str, Trial] = {}
    for place in layout.attempts(real):
        before, state = known.get(place), attempts.state(real, place)
        if before and state and before.state == state:
            comparison.kept.append(before)
            continue
        files = attempts.read_files(real, place)
        now = KnownAttempt(place, state, files.fingerprint)
        if before and before.fingerprint == now.fingerprint:
            comparison.kept.append(now)
            continue
        design = design or campaign.trials_by_id()
        parsed = attempts.parse(files, design)
        if isinstance(parsed, Record):
            comparison.added.append(now)
            records.append(parsed)
        else:
            comparison.damaged.append(parsed)
        if len(records) == BATCH:
            comparison.parts.append(tabulate(records, factors))
            records.clear()
    if records:
        comparison.parts.append(tabulate(records, factors))
    return comparison


def _joined(
    cached: StoredTables | None, comparison: _Comparison, factors: Sequence[str]
) -> dict[str, pa.Table]:
    """Return the cached rows that hold and the new ones, in the order of the attempts."""
    parts = comparison.parts or [tabulate([], factors)]
    joined = {name: pa.concat_tables(part[name] for part in parts) for name in TABLES}
    if cached is None or not comparison.kept:
        return joined
    for name, new in joined.items():
        rows = rows_of(cached.tables[name], comparison.kept)
        joined[name] = pa.concat_tables([rows, new]).sort_by(ORDER) if len(new) else rows
    return joined


def rows_of(table: pa.Table, kept: Sequence[KnownAttempt]) -> pa.Table:
    """Return the rows of some attempts."""
    keys = [attempt.place.partition("/")[2].partition("/")[2] for attempt in kept]
    own = pc.binary_join_element_wise(table["trial"], pc.cast(table["attempt"], pa.string()), "/")
    return table.filter(pc.is_in(own, pa.array(keys, pa.string())))


def _keep(directory: Path, stored: StoredTables, every: Sequence[KnownAttempt]) -> None:
    """Write the cache if the campaign's folder is writable; reading needs no such right."""
    if campaign_folder.is_locked(directory):
        return
    columns = zip(*every, strict=True) if every else ([] for _ in KnownAttempt._fields)
    arrays = [pa.array(column, pa.string()) for column in columns]
    ledger = pa.table(dict(zip(KnownAttempt._fields, arrays, strict=True)))
    with suppress(OSError):
        tables = {**stored.tables, ATTEMPTS: ledger}
        table_cache.write_own(directory, StoredTables(tables, stored.damaged, stored.made_from))


def _order(place: str) -> tuple[int, str, int]:
    _, block, trial, number = place.split("/")
    return int(block), trial, int(number)


def tabulate(records: Iterable[Record], factors: Sequence[str]) -> dict[str, pa.Table]:
    """Return records as tables."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for record in records:
        attempt = record.attempt
        common = {
            "block": attempt.trial.block,
            "trial": attempt.id,
            "attempt": attempt.number,
            "outcome": attempt.outcome.kind,
            **attempt.trial.levels,
        }
        rows["trials"].append(common | _trial_columns(record))
        rows["observations"] += [
            common | vars(observation) | {"unit": observation.unit}
            for observation in record.observations
        ]
        rows["checks"] += [common | vars(check) for check in attempt.checks]
    return {name: _table(rows[name], TABLES[name], factors) for name in TABLES}


def _trial_columns(record: Record) -> dict[str, Any]:
    attempt = record.attempt
    return {
        "position": attempt.trial.position,
        "reason": attempt.outcome.reason,
        "time_limit_s": attempt.trial.time_limit_s,
        "started": attempt.started,
        "wall_s": sum(attempt.phases_s.values()),
        "machine": attempt.machine,
    }


def _table(
    rows: list[dict[str, Any]], fields: Mapping[str, pa.DataType], factors: Sequence[str]
) -> pa.Table:
    schema = pa.schema([*fields.items(), *((name, pa.string()) for name in factors)])
    return pa.Table.from_pylist(rows, schema=schema)


# What is wrong with the values of an archive's tables: nothing else vouches for them.

FIRST = ("block", "position", "attempt")
"""Columns that count from 1."""
TIMES = ("wall_s", "time_limit_s")
LONGEST_S = 1e9
NUMBERS = ("value", "measured", *TIMES)
OWNER = ("bed", "subject")


def problems(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, str]]:
    """Yield the name of a table with what is wrong in it, one reason for each column at most."""
    attempts = set(_attempts(tables["trials"])) if "trials" in tables else None
    for name, table in tables.items():
        for column, reason in _of_columns(table):
            yield name, f"its column {column!r} has {reason}"
        if attempts is not None and name != "trials":
            if strange := set(_attempts(table)) - attempts:
                yield name, f"has rows of {min(strange)}, an attempt that is not among the trials"
        elif attempts is not None and len(attempts) != len(table):
            yield name, "has an attempt twice"


def _attempts(table: pa.Table) -> Iterable[str]:
    numbers = pc.cast(table["attempt"], pa.string())
    found: list[str] = pc.binary_join_element_wise(table["trial"], numbers, "/").to_pylist()
    return found


def _of_columns(table: pa.Table) -> Iterator[tuple[str, str]]:
    columns = {*table.column_names}
    known = {"outcome": get_args(OutcomeKind), "of": OWNER}
    for name in known.keys() & columns:
        if strange := [
            value for value in table[name].unique().to_pylist() if value not in known[name]
        ]:
            yield name, f"{strange[0]!r}, which this httpbed does not know"
    for name in columns.intersection(FIRST) if len(table) else ():
        if (least := pc.min(table[name]).as_py()) < 1:
            yield name, f"{least}; it counts from 1"
    for name in columns.intersection(NUMBERS):
        if strange := [*_strange_numbers(name, table[name])]:
            yield name, f"{strange[0]}, which is no such number"
    dates = table["started"].unique().to_pylist() if "started" in columns else []
    if strange := [date for date in dates if not Attempt.is_date(date)]:
        yield "started", f"{strange[0][:40]!r}, which is no date and time with a zone"


def _strange_numbers(name: str, column: pa.ChunkedArray) -> Iterator[float]:
    if pc.any(pc.is_nan(column)).as_py():
        yield math.nan
    ends = pc.min_max(column).as_py().values()
    yield from (end for end in ends if end is not None and not _is_usual(name, end))


def _is_usual(name: str, number: float) -> bool:
    return 0 <= number <= LONGEST_S if name in TIMES else math.isfinite(number)
