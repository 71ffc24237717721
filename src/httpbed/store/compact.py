"""Tidy tables of a campaign, cached as Parquet; the directories remain the truth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from httpbed.model.trial import Record
from httpbed.store.campaign import Campaign
from httpbed.store.results import CHECK_FIELDS, OBSERVATION_FIELDS, TRIAL_FIELDS

TABLES: Mapping[str, Mapping[str, pa.DataType]] = {
    "trials": TRIAL_FIELDS,
    "observations": OBSERVATION_FIELDS,
    "checks": CHECK_FIELDS,
}
_STAMP = b"httpbed.stamp"


def tables(campaign: Campaign, factors: Iterable[str]) -> dict[str, pa.Table]:
    """Return the three tables, from the cache when no attempt was added since."""
    stamp = _stamp(campaign.directory)
    cached = {name: _cached(campaign.directory, name, stamp) for name in TABLES}
    if all(table is not None for table in cached.values()):
        return {name: table for name, table in cached.items() if table is not None}
    made = tabulate(campaign.records(), list(factors))
    for name, table in made.items():
        _keep(campaign.directory, name, table, stamp)
    return made


def tabulate(records: Iterable[Record], factors: list[str]) -> dict[str, pa.Table]:
    """Lay records out as rows."""
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


def _stamp(directory: Path) -> bytes:
    """Identify the set of finished attempts, by names and times, and what is told of them."""
    folders = sorted(directory.glob("trials/*/*/*"))
    said = [[str(folder.relative_to(directory)), folder.stat().st_mtime_ns] for folder in folders]
    columns = [list(fields) for fields in TABLES.values()]
    return json.dumps([columns, said]).encode()


def _cached(directory: Path, name: str, stamp: bytes) -> pa.Table | None:
    path = directory / f"{name}.parquet"
    try:
        if (pq.read_schema(path).metadata or {}).get(_STAMP) == stamp:
            return pq.read_table(path)
    except (OSError, pa.ArrowInvalid):
        pass
    return None


def _keep(directory: Path, name: str, table: pa.Table, stamp: bytes) -> None:
    """Write the cache if the campaign can be written; reading one needs no right to."""
    unnamed = directory / f".{name}.parquet"
    try:
        pq.write_table(table.replace_schema_metadata({_STAMP: stamp}), unnamed)
        unnamed.rename(directory / f"{name}.parquet")
    except OSError:
        with suppress(OSError):
            unnamed.unlink()
