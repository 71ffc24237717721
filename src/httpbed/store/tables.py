"""Tidy tables of a campaign, cached as Parquet; the directories remain the truth.

Each reader reads and hashes the files of every attempt, which is cheap; the cache saves parsing
them. ``tables.json`` ties the cache to what it was made from: it has the digest of all of that, and
the digest of each Parquet file. A cache of other files, or one that was edited, is made again.
Results that were published without the folder of trials have only the tables, which then count if
they have their digests.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.trial import Record
from httpbed.host.sandbox import untrusted_files
from httpbed.store import attempts, digests, durable_files, layout
from httpbed.store.campaign import Campaign
from httpbed.store.damage import Damage
from httpbed.store.layout import DESIGN
from httpbed.store.results import CHECK_FIELDS, OBSERVATION_FIELDS, TRIAL_FIELDS

TABLES: Mapping[str, Mapping[str, pa.DataType]] = {
    "trials": TRIAL_FIELDS,
    "observations": OBSERVATION_FIELDS,
    "checks": CHECK_FIELDS,
}
INDEX = "tables.json"
ARCHIVE = "archive"
"""What an archive's index names in place of a digest: its tables are all there is."""
SCHEMA = 1


@dataclass(frozen=True)
class CampaignTables:
    """A campaign's attempts as tables."""

    tables: Mapping[str, pa.Table]
    """By the names in :data:`TABLES`."""
    damaged: tuple[Damage, ...]
    """Attempts that are not as they were written, and so in no table."""


def compact(campaign: Campaign, factors: Iterable[str]) -> CampaignTables:
    """Return the tables, from the cache where it was made from what is there now.

    Raises:
        ConfigError: There are no attempts, and the tables lack their digests.
    """
    columns, real = list(factors), campaign.directory.resolve()
    index = _index(real)
    without_attempts = index is not None and not os.path.lexists(real / layout.TRIALS)
    if campaign.is_archive or without_attempts:
        return _tables_alone(campaign, index)
    if index is not None:
        now = _made_from(campaign, columns, map(_fingerprint, _found(real)))
        cached = _cached(real, index) if index["made_from"] == now else None
        if cached is not None:
            return cached
    design = {trial.id: trial for trial in campaign.design()}
    seen, records, damaged = list[str](), list[Record](), list[Damage]()
    for found in _found(real):
        seen.append(_fingerprint(found))  # again: an attempt may have been added meanwhile
        one = attempts.parse(found, design)
        records.append(one) if isinstance(one, Record) else damaged.append(one)
    made = CampaignTables(tabulate(records, columns), tuple(damaged))
    _keep(campaign.directory, made, _made_from(campaign, columns, seen))
    return made


def archive(directory: Path, made: Mapping[str, pa.Table]) -> None:
    """Write the tables of a campaign that has no attempts."""
    _write(directory, CampaignTables(made, ()), ARCHIVE)


def made_from(campaign: Campaign, factors: Iterable[str]) -> str:
    """Return the digest of all that the tables of a campaign are made from."""
    real = campaign.directory.resolve()
    return _made_from(campaign, list(factors), map(_fingerprint, _found(real)))


def _tables_alone(campaign: Campaign, index: Mapping[str, Any] | None) -> CampaignTables:
    real = campaign.directory.resolve()
    found = _cached(real, index) if index else None
    if found is None:
        reason = f"the tables differ from the digests in {INDEX}"
        remedy = f"restore its tables and {INDEX} from a copy"
        raise ConfigError([Mistake(str(campaign.directory), reason, remedy)])
    return found


def _found(real: Path) -> Iterator[attempts.AttemptFiles]:
    return (attempts.read_files(real, place) for place in layout.attempts(real))


def _fingerprint(found: attempts.AttemptFiles) -> str:
    return found.fingerprint


def _made_from(campaign: Campaign, factors: list[str], fingerprints: Iterable[str]) -> str:
    """Return the digest of all that tables are made from, and of how."""
    columns = [list(fields) for fields in TABLES.values()]
    design = campaign.files().get(DESIGN)
    parts = [SCHEMA, columns, factors, design.sha256 if design else "", *fingerprints]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def tabulate(records: Iterable[Record], factors: list[str]) -> dict[str, pa.Table]:
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
            common | observation.model_dump() | {"unit": observation.unit}
            for observation in record.observations
        ]
        rows["checks"] += [common | check.model_dump() for check in attempt.checks]
    return {name: _table(rows[name], TABLES[name], factors) for name in TABLES}


def _trial_columns(record: Record) -> dict[str, Any]:
    attempt = record.attempt
    return {
        "position": attempt.trial.position,
        "reason": attempt.outcome.reason,
        "time_limit_s": attempt.trial.time_limit_s,
        "started": attempt.started,
        "wall_s": sum(attempt.phases_s.values()),
    }


def _table(
    rows: list[dict[str, Any]], fields: Mapping[str, pa.DataType], factors: list[str]
) -> pa.Table:
    schema = pa.schema([*fields.items(), *((name, pa.string()) for name in factors)])
    return pa.Table.from_pylist(rows, schema=schema)


def _index(real: Path) -> dict[str, Any] | None:
    """Read the index of the cache; None if it is missing or damaged."""
    try:
        found = digests.unsealed(untrusted_files.data(real / INDEX))
    except (OSError, ValueError):
        return None
    return found if "made_from" in found else None


def _cached(real: Path, index: Mapping[str, Any]) -> CampaignTables | None:
    """Read the cache; None if it is damaged."""
    try:
        read = {name: _table_of(real / f"{name}.parquet", index["tables"][name]) for name in TABLES}
        damaged = tuple(Damage(place, tuple(reasons)) for place, reasons in index["damaged"])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None
    return CampaignTables(read, damaged)


def _table_of(file: Path, sha256: str) -> pa.Table:
    content = untrusted_files.data(file, most=untrusted_files.OWN_BYTES)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError("was edited")
    return pq.read_table(pa.BufferReader(content))


def _keep(directory: Path, made: CampaignTables, made_from: str) -> None:
    """Write the cache if the campaign's folder is writable; reading needs no such right."""
    with suppress(OSError):
        _write(directory, made, made_from)


def _write(directory: Path, made: CampaignTables, made_from: str) -> None:
    written = {name: _parquet(table) for name, table in made.tables.items()}
    index = {
        "schema": SCHEMA,
        "made_from": made_from,
        "tables": {name: hashlib.sha256(one).hexdigest() for name, one in written.items()},
        "damaged": [[one.place, one.reasons] for one in made.damaged],
    }
    for name, content in written.items():
        _replace(directory / f"{name}.parquet", content)
    _replace(directory / INDEX, digests.sealed(index))


def _parquet(table: pa.Table) -> bytes:
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def _replace(file: Path, content: bytes) -> None:
    unnamed = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        durable_files.write(unnamed, content)
        unnamed.replace(file)
    finally:
        with suppress(OSError):
            unnamed.unlink(missing_ok=True)
