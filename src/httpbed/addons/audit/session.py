"""Runs an audit: the same trials side by side, one at a time, and side by side again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from httpbed.addons.audit import judgement
from httpbed.addons.audit.judgement import Audit, AuditedRun
from httpbed.addons.claims import judging
from httpbed.campaign import run as campaign_run
from httpbed.campaign.executor import AttemptProgress
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.settings import ONE, Parallelism, RunSettings
from httpbed.programs.catalog import Catalog
from httpbed.results import sample
from httpbed.store import query
from httpbed.store.results import Results

RUNS = ("side-by-side-1", "one-at-a-time", "side-by-side-2")
"""The folder of each run, in the order in which they run."""
CONTROLS = frozenset({"control"})
"""Claims of :func:`text` whose effect an audit must find."""

Tell = Callable[[AttemptProgress], None]
Say = Callable[[str], None]


def text() -> str:
    """Return the experiment that an audit runs if the user names none."""
    return (resources.files("httpbed.addons.audit") / "audit.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class AuditedExperiment:
    """The trials of an audit, and how they run side by side."""

    loaded: LoadedExperiment
    catalog: Catalog
    jobs: Parallelism
    options: RunSettings
    controls: frozenset[str]
    """Ids of claims that must be reproduced side by side."""


def run(audited: AuditedExperiment, folder: Path, *, tell: Tell, say: Say) -> Audit:
    """Run an audit in an empty folder.

    Raises:
        HostError: This machine cannot run the experiment.
    """
    ready = campaign_run.prepare(audited.loaded, audited.catalog, audited.options, say=say)
    lasted_s = {}
    for name in RUNS:
        jobs = ONE if name == RUNS[1] else audited.jobs
        say(f"{name}: {len(audited.loaded.trials)} trials; at a time: {jobs}")
        lasted_s[name] = campaign_run.timed(ready, folder / name, jobs=jobs, tell=tell, say=say)
    results = {name: query.read(folder / name) for name in RUNS}
    return audit(results, lasted_s, audited.controls)


def audit(
    results: Mapping[str, Results], lasted_s: Mapping[str, float], controls: Iterable[str] = ()
) -> Audit:
    """Judge the three runs, by their folders' names."""
    first, alone, second = (results[name] for name in RUNS)
    metric = alone.experiment.report.metric
    samples = [sample.samples(one, metric) for one in (first, alone, second)]
    costs = [_cost(results[name], lasted_s[name]) for name in RUNS]
    return Audit(
        treatments=judgement.treatments(*samples),
        claims=_claims(alone, first),
        controls=frozenset(controls),
        alone=costs[1],
        beside=(costs[0], costs[2]),
    )


def _claims(alone: Results, beside: Results) -> dict[str, tuple[str, str]]:
    pairs = zip(judging.judge(alone), judging.judge(beside), strict=True)
    return {one.stated.id: (one.main.verdict, other.main.verdict) for one, other in pairs}


def _cost(results: Results, lasted_s: float) -> AuditedRun:
    outcomes = results.trials.column("outcome").to_pylist()
    return AuditedRun(lasted_s, len(outcomes), outcomes.count("invalid"))
