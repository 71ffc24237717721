"""The table of a dataset: the last attempt of every trial of some campaigns."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from httpbed.addons.dataset import network_columns, trial_columns
from httpbed.addons.dataset.dataset_column import ARROW_TYPES, Cell, Cells, DatasetColumn
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.results import sample
from httpbed.store.results import Results

Rows = Mapping[tuple[str, int], list[dict[str, Any]]]
"""Rows of a table by trial and attempt."""


@dataclass(frozen=True)
class TrialDataset:
    """One row per trial, with the description of every column."""

    columns: tuple[DatasetColumn, ...]
    rows: tuple[Mapping[str, Cell], ...]
    """By the names of columns; a missing value is absent or None."""

    @cached_property
    def table(self) -> pa.Table:
        """The rows as a typed table; units and descriptions are metadata of its fields."""
        schema = pa.schema([_field(column) for column in self.columns])
        arrays = [
            pa.array(
                [_typed(column, row.get(column.name)) for row in self.rows], schema.types[index]
            )
            for index, column in enumerate(self.columns)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)


def make(campaigns: Sequence[Results]) -> TrialDataset:
    """Return the dataset of all finished trials of some campaigns.

    A column without any value is left out. A trial without a valid attempt has a row with the
    outcome ``invalid`` and no metrics.
    """
    names = campaign_names([one.directory for one in campaigns])
    trials = [
        cells
        for name, results in zip(names, campaigns, strict=True)
        for cells in _trials(name, results)
    ]
    columns = _merged(trials)
    rows = tuple({column.name: value for column, value in one.items()} for one in trials)
    return TrialDataset(columns, rows)


def campaign_names(directories: Sequence[Path]) -> list[str]:
    """Name each campaign by the last folders of its path, as few as tell all of them apart."""
    parts = [Path(os.path.realpath(one)).parts for one in directories]
    depth = 1
    while len({one[-depth:] for one in parts}) < len({*parts}):
        depth += 1
    return ["/".join(one[-depth:]) for one in parts]


def _trials(name: str, results: Results) -> Iterator[Cells]:
    experiment = results.experiment
    observed, checked = _by_attempt(results.observations), _by_attempt(results.checks)
    features: dict[TreatmentKey, Cells] = {}
    for row in sorted(results.last_attempts, key=lambda one: (one["block"], one["position"])):
        key = treatment_key(row, experiment.factors)
        if key not in features:
            features[key] = _features(results, dict(zip(experiment.factors, key, strict=True)))
        attempt = row["trial"], row["attempt"]
        is_data = row["outcome"] != "invalid"
        yield {
            **trial_columns.identity(
                name, experiment, row, seed=results.seeds.get(row["block"], experiment.seed)
            ),
            **features[key],
            **trial_columns.machine(results.manifest, row["block"], row["machine"]),
            **trial_columns.outcome(row),
            **(trial_columns.metrics(observed[attempt]) if is_data else {}),
            **trial_columns.checks(checked[attempt]),
        }


def _features(results: Results, levels: Mapping[str, str]) -> Cells:
    scenario = sample.scenario(results, levels)
    return {
        **trial_columns.workload_cells(scenario),
        **trial_columns.program_cells(scenario, results.manifest),
        **network_columns.cells(scenario),
    }


def _by_attempt(table: pa.Table) -> Rows:
    groups: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        groups[row["trial"], row["attempt"]].append(row)
    return groups


def _merged(trials: Iterable[Cells]) -> tuple[DatasetColumn, ...]:
    """Return every column that has a value, in the order of places; equal names join sources."""
    merged: dict[str, DatasetColumn] = {}
    sources: dict[str, dict[str, None]] = defaultdict(dict)
    for cells in trials:
        for column, value in cells.items():
            if value is not None:
                merged.setdefault(column.name, column)
                sources[column.name][column.source] = None
    joined = (replace(cells, source="; ".join(sources[name])) for name, cells in merged.items())
    return tuple(sorted(joined, key=lambda column: column.place))


def _field(column: DatasetColumn) -> pa.Field:
    about = {"description": column.description, "source": column.source, "unit": column.unit}
    metadata = {name: text for name, text in about.items() if text}
    return pa.field(column.name, ARROW_TYPES[column.kind], metadata=metadata)


def _typed(column: DatasetColumn, value: Cell) -> Cell:
    if value is None:
        return None
    if column.kind == "integer":
        return int(value)
    return float(value) if column.kind == "number" else value
