"""The table of a dataset: the last attempt of every trial of some campaigns.

The network has columns for each direction of each link, and for the client's path to the server.
Links count from the client: first those on the path of its requests, then all others in the order
of the experiment file. ``to_server`` is the direction of the requests, ``to_client`` that of the
responses. On a link off the path, ``to_server`` is ``up`` of the experiment file.
"""

from __future__ import annotations

import functools
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from httpbed.addons.dataset import trial_columns
from httpbed.addons.dataset.trial_columns import (
    ARROW_TYPES,
    FILE,
    Cell,
    Cells,
    Columns,
    DatasetColumn,
    described,
)
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.impairments.descriptor import Along, Feature, LinkFigures
from httpbed.experiment.impairments.rate import mean_bit_s
from httpbed.experiment.impairments.registry import ALL, Impaired
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.topology import Direction, Link, Route, Topology
from httpbed.results import sample
from httpbed.store.results import Results

Rows = Mapping[tuple[str, int], list[dict[str, Any]]]
"""Rows of a table by trial and attempt."""


TO_SERVER, TO_CLIENT = "to_server", "to_client"
WAYS = {TO_SERVER: "Towards the server", TO_CLIENT: "Towards the client"}
LinkWays = Sequence[tuple[Link, Direction]]
"""Directions of links along a path, the client's own link first."""
_ALONG: Mapping[Along, str] = {
    "sum": "Sum over all links of the path.",
    "smallest": "Smallest of all links of the path.",
    "any": "Probability on at least one link of the path.",
    "narrowest": "Of the path's link with the lowest rate, of equal ones the client's nearest.",
}


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
    names = campaign_names([campaign.directory for campaign in campaigns])
    trials = [
        cells
        for name, results in zip(names, campaigns, strict=True)
        for cells in _trials(name, results)
    ]
    columns = _merged(trials)
    rows = tuple({column.name: value for column, value in trial.items()} for trial in trials)
    return TrialDataset(columns, rows)


def campaign_names(directories: Sequence[Path]) -> list[str]:
    """Name each campaign by the last folders of its path, as few as tell all of them apart."""
    parts = [Path(os.path.realpath(directory)).parts for directory in directories]
    depth = 1
    while len({part[-depth:] for part in parts}) < len({*parts}):
        depth += 1
    return ["/".join(part[-depth:]) for part in parts]


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
        **cells(scenario),
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


def cells(scenario: Scenario) -> Cells:
    """Return the network of a scenario."""
    return {**_path(scenario), **_links(scenario), **_others(scenario)}


def _path(scenario: Scenario) -> Cells:
    route, links, columns = path(scenario), scenario.topology.links, Columns("path", FILE)
    rtt = "Sum of all delays of the path in both directions, without transmission and queueing."
    columns.add("path_rtt_s", rtt, scenario.rtt_s(route), "number", unit="s")
    for way, flip in ((TO_CLIENT, 1), (TO_SERVER, 0)):
        hops = [(links[index], links[index].directions()[up ^ flip]) for index, up in route]
        for impairment, feature, words in _features_of_links():
            if feature.along:
                columns.add(
                    f"path_{way}_{feature.name}",
                    f"{WAYS[way]}: {words} {_ALONG[feature.along]}",
                    _along(feature, impairment, hops),
                    feature.kind,
                    unit=feature.unit,
                )
    return columns.cells


@functools.cache
def _features_of_links() -> list[tuple[str, Feature, str]]:
    """Return the features of impairments, each with its impairment and its words."""
    return [
        (
            impairment.field,
            feature,
            f"{described(Impaired, impairment.field)} {feature.addition}".strip(),
        )
        for impairment in ALL
        for feature in impairment.features
    ]


def path(scenario: Scenario) -> Route:
    """Return the links that a request to the first server passes, each with its direction."""
    group = scenario.client_groups[0]
    route: Route = ()
    for hop in group.hops():
        route = (*route, *scenario.route(hop.client, hop.server))
        if hop.server == "server":
            break
    return route


def _along(feature: Feature, field: str, hops: LinkWays) -> Cell:
    values = [_value(feature, field, *hop) for hop in hops]
    if feature.along == "narrowest":
        return values[_narrowest(hops)]
    numbers = [one for one in values if isinstance(one, (int, float))]
    if feature.along == "smallest":
        return min(numbers, default=None)
    if len(numbers) < len(values) or not feature.along:
        return None
    return _COMBINED[feature.along](numbers)


def _narrowest(hops: LinkWays) -> int:
    return min(
        range(len(hops)), key=lambda index: mean_bit_s(hops[index][1].rate) or math.inf, default=0
    )


def _any(probabilities: Sequence[float]) -> float:
    if sum(probability > 0 for probability in probabilities) <= 1:
        return max(probabilities, default=0.0)  # without the rounding of 1 - (1 - p)
    return 1 - math.prod(1 - probability for probability in probabilities)


_COMBINED: Mapping[str, Callable[[Sequence[float]], float]] = {"sum": math.fsum, "any": _any}


def _value(feature: Feature, field: str, link: Link, way: Direction) -> Cell:
    figures = LinkFigures(way.first_bit_s() or 0, link.rtt_s())
    return feature.read(getattr(way, field), figures)


def _links(scenario: Scenario) -> Cells:
    found: Cells = {}
    for number, (link, travel) in enumerate(_numbered(scenario), start=1):
        found |= _of_link(number, link, travel)
    return found


def _numbered(scenario: Scenario) -> Iterator[tuple[Link, int]]:
    """Yield every link with the direction that leads to the server, those of the path first."""
    ways = dict(reversed(path(scenario)))  # where a link is passed twice, the first time counts
    order = [*dict.fromkeys(index for index, _ in path(scenario))]
    order += [index for index in range(len(scenario.topology.links)) if index not in ways]
    for index in order:
        yield scenario.topology.links[index], ways.get(index, 0)


def _of_link(number: int, link: Link, travel: int) -> Cells:
    columns = Columns("links", FILE, prefix=f"link_{number}_", number=number)
    about, directions = f"Link {number} from the client", link.directions()
    columns.add("name", f"{about}: {described(Link, 'name')}", link.name)
    for name, way in ((TO_CLIENT, directions[1 - travel]), (TO_SERVER, directions[travel])):
        for impairment, feature, words in _features_of_links():
            columns.add(
                f"{name}_{feature.name}",
                f"{about}, {WAYS[name].lower()}: {words}",
                _value(feature, impairment, link, way),
                feature.kind,
                unit=feature.unit,
            )
    changes = "Number of changes and events that the experiment file declares on this link."
    count = len(link.schedule) + len(link.events)
    columns.add("changes", f"{about}: {changes}", count, "integer")
    return columns.cells


def _others(scenario: Scenario) -> Cells:
    columns, network = Columns("path", FILE), scenario.topology
    columns.add("ip_version", described(Topology, "ip_version"), network.ip_version)
    columns.add("links", "Number of links of the network.", len(network.links), "integer")
    return columns.cells
