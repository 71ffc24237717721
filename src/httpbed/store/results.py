"""A campaign read back: its experiment, its manifest, and three tidy tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from httpbed.experiment.experiment import Experiment
from httpbed.store import layout
from httpbed.store.attempts import Artifacts
from httpbed.store.layout import Damage

TRIAL_FIELDS: Mapping[str, pa.DataType] = {
    "block": pa.int32(),
    "position": pa.int32(),
    "trial": pa.string(),
    "attempt": pa.int32(),
    "outcome": pa.string(),
    "reason": pa.string(),
    "time_limit_s": pa.float64(),
    "started": pa.string(),
    "wall_s": pa.float64(),
    "machine": pa.string(),
}
OPTIONAL_FIELDS = frozenset({"machine", "passed", "measured"})
"""Fields without a value in some rows; all other fields have one in every row."""
LATER_FIELDS = frozenset({"machine"})
"""Fields that archives of earlier versions lack."""
OBSERVATION_FIELDS: Mapping[str, pa.DataType] = {
    "block": pa.int32(),
    "trial": pa.string(),
    "attempt": pa.int32(),
    "outcome": pa.string(),
    "metric": pa.string(),
    "value": pa.float64(),
    "unit": pa.string(),
    "source": pa.string(),
    "item": pa.string(),
}
CHECK_FIELDS: Mapping[str, pa.DataType] = {
    "block": pa.int32(),
    "trial": pa.string(),
    "attempt": pa.int32(),
    "outcome": pa.string(),
    "check": pa.string(),
    "item": pa.string(),
    "name": pa.string(),
    "of": pa.string(),
    "passed": pa.bool_(),
    "figure": pa.string(),
    "limit": pa.string(),
    "measured": pa.float64(),
    "unit": pa.string(),
}


@dataclass(frozen=True)
class Results:
    """The results of a campaign so far.

    Each table has, besides the columns named above, one string column per factor with the
    level as the author wrote it. Invalid attempts are rows too: ``outcome == "invalid"``.
    """

    directory: Path
    experiment: Experiment
    """At the campaign's scale."""
    document: Mapping[str, Any]
    """The experiment file as parsed, factor references and all, with the levels of that scale."""
    manifest: Mapping[str, Any]
    planned: int
    trials: pa.Table
    observations: pa.Table
    checks: pa.Table
    scenarios: Mapping[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    """The trials' documents, by the levels of their treatment in the order of the factors: they
    know of the files that the experiment only names."""
    blocks: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    """Number of trials in the design, by the levels of their treatment."""
    seeds: Mapping[int, int] = field(default_factory=dict)
    """The seed of each block's trials; an archive may join campaigns with several."""
    damaged: tuple[Damage, ...] = ()
    """Attempts that are not as they were written; they are in no table."""
    whole_experiment: Experiment | None = None
    """As its file states it, before the campaign's scale and ``--replicates``; None: as it ran."""
    artifacts: Artifacts = field(default_factory=Artifacts)
    """What attempts left, verified before it is read."""
    beside: tuple[Results, ...] = ()
    """Campaigns of other experiments, to which claims may refer."""

    @property
    def stated_experiment(self) -> Experiment:
        """The experiment as its file states it, with its scales and its own number of blocks."""
        return self.whole_experiment or self.experiment

    def levels(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Return the treatment of a row of the table of trials."""
        return {name: row[name] for name in self.experiment.factors}

    def artifact_folder(self, row: Mapping[str, Any]) -> Path:
        """Return where the attempt of a row of the table of trials left its artifacts."""
        return layout.artifacts(self.directory, row["block"], row["trial"], row["attempt"])

    @cached_property
    def last_attempts(self) -> list[dict[str, Any]]:
        """The rows of the table of trials that count: the last attempt of each trial."""
        last: dict[str, dict[str, Any]] = {}
        for row in self.trials.to_pylist():
            known = last.get(row["trial"])
            if known is None or row["attempt"] > known["attempt"]:
                last[row["trial"]] = row
        return list(last.values())
