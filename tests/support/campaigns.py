"""Campaigns with chosen figures, so that the results of analysis and report are known."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from httpbed.experiment.check import AS_DRAWN, LATENESS, PROTOCOL
from httpbed.experiment.document import SCENARIO_PARTS
from httpbed.experiment.experiment import experiment_model
from httpbed.experiment.metric import METRICS
from httpbed.store.results import CHECK_FIELDS, OBSERVATION_FIELDS, TRIAL_FIELDS, Results

VERSIONS = """
schema = 1
name = "versions-under-loss"
question = "Does HTTP/3 fetch 1 MB faster than HTTP/2 when the link loses packets?"
replicates = 5
seed = 20261121

[factors]
http_version = ["1.1", "2", "3"]
loss = ["0 %", "2 %"]

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
rate = "10 Mbit/s"
delay = "25 ms"
loss = { factor = "loss" }
queue = { limit = "1000 packets" }

[roles.client]
implementation = "curl"
http_version = { factor = "http_version" }

[roles.server]
implementation = "nginx"

[workload]
kind = "download"
size = "1 MB"
"""
STARTED = "2026-11-21T12:00:00+00:00"
CHECKS = (
    (LATENESS, "p99 {} us", "p99 at most 5000 us"),
    (AS_DRAWN, "{} of {} packets", "every fate as recomputed"),
    (PROTOCOL, "HTTP/{}", "as configured"),
)


@dataclass
class Ending:
    """How a trial ends: observations and outcome."""

    observations: Mapping[str, float] = field(default_factory=dict)
    outcome: str = "completed"
    reason: str = ""
    invalid_first: Sequence[str] = ()
    """Reasons of earlier, invalid attempts."""


Ends = Callable[[Mapping[str, str], int], "Ending | float | None"]
"""From levels and block to how that trial ends; a number is its request time, None: not run."""


def campaign(
    ends: Ends,
    text: str = VERSIONS,
    directory: Path = Path("campaign"),
    manifest: Mapping[str, Any] | None = None,
    scenarios: Mapping[tuple[str, ...], Mapping[str, Any]] | None = None,
) -> Results:
    """Make the results of a campaign; ``ends`` returns how each trial ends."""
    document = tomllib.loads(text)
    header = {key: part for key, part in document.items() if key not in SCENARIO_PARTS}
    experiment = experiment_model().model_validate(header)
    tables = _Tables(list(experiment.factors))
    planned = 0
    for block in range(1, experiment.blocks + 1):
        for position, levels in enumerate(experiment.treatments(), start=1):
            planned += 1
            ending = ends(levels, block)
            if ending is not None:
                ending = ending if isinstance(ending, Ending) else timed(float(ending))
                tables.add(block, position, levels, ending)
    return Results(
        directory=directory,
        experiment=experiment,
        document=document,
        manifest=manifest or {},
        planned=planned,
        trials=tables.table(tables.trials, TRIAL_FIELDS),
        observations=tables.table(tables.observations, OBSERVATION_FIELDS),
        checks=tables.table(tables.checks, CHECK_FIELDS),
        scenarios=scenarios or {},
    )


def timed(seconds: float, size_bytes: int = 10**6) -> Ending:
    """Return a completed trial with this request time and the goodput that results."""
    return Ending({"request_time": seconds, "goodput": size_bytes * 8 / seconds})


class _Tables:
    """The three tables of a campaign, row by row."""

    def __init__(self, factors: list[str]) -> None:
        self.factors = factors
        self.trials: list[dict[str, Any]] = []
        self.observations: list[dict[str, Any]] = []
        self.checks: list[dict[str, Any]] = []

    def add(self, block: int, position: int, levels: Mapping[str, str], ending: Ending) -> None:
        """Add a trial: its invalid attempts, then the one that counts."""
        number = 0
        for number, reason in enumerate(ending.invalid_first, start=1):
            spoilt = Ending({"request_time": 9.9}, "invalid", reason)
            self._attempt(block, position, levels, number, spoilt)
        self._attempt(block, position, levels, number + 1, ending)

    def _attempt(
        self, block: int, position: int, levels: Mapping[str, str], number: int, ending: Ending
    ) -> None:
        trial = hashlib.sha256(repr((block, sorted(levels.items()))).encode()).hexdigest()[:12]
        key = {"block": block, "trial": trial, "attempt": number, "outcome": ending.outcome}
        key |= dict(levels)
        about = {"position": position, "reason": ending.reason, "time_limit_s": 600.0}
        self.trials.append(key | about | {"started": STARTED, "wall_s": 1.5})
        for metric, value in ending.observations.items():
            unit = METRICS[metric].unit
            row = {"metric": metric, "item": "", "value": value, "unit": unit, "source": "wire"}
            self.observations.append(key | row)
        self._check(key, block, levels, passed=ending.outcome != "invalid")

    def _check(
        self, key: dict[str, Any], block: int, levels: Mapping[str, str], *, passed: bool
    ) -> None:
        figures = (str(80 + block), ("12", "731"), levels.get("http_version", "2"))
        measured = ((80 + block) / 1e6, 12.0, None)
        for (one, figure, limit), values, number in zip(CHECKS, figures, measured, strict=True):
            check = one.result(
                passed=passed or one is not LATENESS,
                figure=figure.format(*([values] if isinstance(values, str) else values)),
                limit=limit,
                item="losses" if one is AS_DRAWN else "",
                measured=number,
            )
            self.checks.append(key | check.model_dump())

    def table(self, rows: list[dict[str, Any]], fields: Mapping[str, pa.DataType]) -> pa.Table:
        """Make a typed table, with a column for each factor."""
        factors = {name: pa.string() for name in self.factors}
        return pa.Table.from_pylist(rows, schema=pa.schema({**fields, **factors}))
