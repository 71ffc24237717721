"""Columns of a trial: its identity, its machine, its outcome, its metrics and its checks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from httpbed.addons.dataset.column import Cell, Cells, DatasetColumn, described, place, plain
from httpbed.bed.machine.facts import MachineFacts
from httpbed.experiment.check import CHECK_BY_ID
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.impairments.descriptor import FeatureKind
from httpbed.experiment.metric import METRICS
from httpbed.experiment.trial import Attempt, Outcome, Trial
from httpbed.store import machine_log, manifest_form
from httpbed.store.layout import MACHINE_LINES

MANIFEST, TRIAL = "manifest", "trial record"
_MACHINE: Mapping[str, tuple[FeatureKind, str]] = {
    "kernel": ("string", ""),
    "architecture": ("string", ""),
    "distribution": ("string", ""),
    "cpu": ("string", ""),
    "cores": ("integer", "1"),
    "memory_bytes": ("integer", "byte"),
    "governor": ("string", ""),
    "hypervisor": ("boolean", ""),
    "container": ("string", ""),
}
"""Facts about the machine that may change a result, with kind and unit."""


def identity(campaign: str, experiment: Experiment, row: Mapping[str, Any], *, seed: int) -> Cells:
    """Return which trial it is, and its levels."""
    at = place("trial")
    own = "Folder of the campaign, without the folders above unless two campaigns share the name."
    digest = "Hash of all that the trial executes: equal trials have equal values."
    found: Cells = {
        DatasetColumn("campaign", "string", own, "folder", place=at): campaign,
        DatasetColumn(
            "experiment", "string", described(Experiment, "name"), "experiment file", place=at
        ): experiment.name,
        DatasetColumn("trial", "string", digest, TRIAL, place=at): row["trial"],
        DatasetColumn("block", "integer", described(Trial, "block"), TRIAL, "1", at): row["block"],
        DatasetColumn("position", "integer", described(Trial, "position"), TRIAL, "1", at): (
            row["position"]
        ),
        DatasetColumn("seed", "integer", described(Experiment, "seed"), TRIAL, "1", at): seed,
        DatasetColumn("started", "string", described(Attempt, "started"), TRIAL, place=at): row[
            "started"
        ],
    }
    levels = described(Trial, "levels")
    for name in experiment.factors:
        words = f"Level of the factor {name}. {levels}"
        source = f"experiment file of {experiment.name}"
        column = DatasetColumn(f"factor_{name}", "string", words, source, place=place("factors"))
        found[column] = row[name]
    return found


def machine(manifest: Mapping[str, Any], block: int, ran_by: str | None) -> Cells:
    """Return the machine and the version of httpbed; ``ran_by`` names a cluster's machine."""
    source, lines = manifest_form.source_of_block(manifest, block), manifest.get(MACHINE_LINES, ())
    host = machine_log.hosts(lines).get(ran_by, {}) if ran_by else source.get("host", {})
    at = place("machine")
    own = described(Attempt, "machine")
    named: Cells = {DatasetColumn("machine", "string", own, TRIAL, place=at): ran_by}
    found: Cells = named if ran_by else {}
    found |= {
        DatasetColumn(
            f"machine_{name}", kind, described(MachineFacts, name), MANIFEST, unit, at
        ): host.get(name)
        for name, (kind, unit) in _MACHINE.items()
    }
    others = {
        "jobs": (
            "Trials side by side; `1, then 4` if a resumed run had more.",
            manifest.get("jobs") or None,
        ),
        "link_backend": (
            "What carried the packets: the emulator or a queueing discipline of the kernel.",
            manifest.get("link", {}).get("backend"),
        ),
        "clock": (
            "Whose clock the trials ran by: `real`, the machine's, or `virtual`, a guest's.",
            manifest.get("clock", "real"),
        ),
        "httpbed_version": ("Version of httpbed that ran the trials.", source.get("httpbed")),
    }
    for name, (words, value) in others.items():
        found[DatasetColumn(name, "string", words, MANIFEST, place=at)] = value
    return found


def outcome(row: Mapping[str, Any]) -> Cells:
    """Return how the trial ended."""
    at = place("outcome")
    time = "Duration of the attempt, with set-up and tear-down."
    limit = described(Trial, "time_limit_s")
    return {
        DatasetColumn("outcome", "string", described(Outcome, "kind"), TRIAL, place=at): row[
            "outcome"
        ],
        DatasetColumn("reason", "string", described(Outcome, "reason"), TRIAL, place=at): (
            row["reason"] or None
        ),
        DatasetColumn("attempt", "integer", described(Attempt, "number"), TRIAL, "1", at): row[
            "attempt"
        ],
        DatasetColumn("time_limit_s", "number", limit, TRIAL, "s", at): row["time_limit_s"],
        DatasetColumn("wall_s", "number", time, TRIAL, "s", at): row["wall_s"],
    }


def metrics(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Return the trial's value of each metric; values of single files and resources are left out.

    A value that is not finite is missing.
    """
    found: Cells = {}
    for row in rows:
        if row["item"] == "" and row["metric"] in METRICS:
            column = metric_column(row["metric"], row["source"])
            found[column] = row["value"] if math.isfinite(row["value"]) else None
    return found


def metric_column(metric: str, source: str) -> DatasetColumn:
    """Return the column of a metric."""
    one = METRICS[metric]
    words = plain(f"{one.title}: {one.meaning}")
    number = list(METRICS).index(metric)
    return DatasetColumn(metric, "number", words, source, one.unit, place("metrics", number))


def checks(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Return the result of each check: whether it passed everywhere that it was observed."""
    results: dict[str, list[bool]] = {}
    for row in rows:
        known = CHECK_BY_ID.get(row["check"])
        if known and not known.is_note:
            results.setdefault(row["check"], [])
            results[row["check"]] += [] if row["passed"] is None else [row["passed"]]
    return {check_column(name): _all(observed) for name, observed in results.items()}


def _all(observed: list[bool]) -> Cell:
    return all(observed) if observed else None


def check_column(name: str) -> DatasetColumn:
    """Return the column of a check."""
    one = CHECK_BY_ID[name]
    slug = "_".join(re.findall(r"[a-z0-9]+", name.replace("'", "").lower()))
    words = plain(f"{one.meaning} True if it held, false if not, empty if not observable.")
    number = list(CHECK_BY_ID).index(name)
    return DatasetColumn(
        f"check_{slug}", "boolean", words, f"check of the {one.of}", place=place("checks", number)
    )
