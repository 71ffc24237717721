"""Real trials report how many CPUs they need while their clients run."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from httpbed.trial import isolation
from httpbed.trial.artifacts import EVIDENCE
from httpbed.trial.run import demand_reports, runner
from real_runs import SmallExperiment, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_download_reports_its_demand_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """The last report comes before the client's end, and the trial is whole."""
    monkeypatch.setattr(demand_reports, "PERIOD_S", 0.2)
    staged = stage(SmallExperiment(versions=(version,), rate="1 Mbit/s", size="200 kB"))
    artifacts, reported = tmp_path / "artifacts", list[float]()

    def report(cpus: float) -> None:
        reported.append(cpus)

    (trial,) = staged.loaded.trials
    planned = staged.setup.plan(trial)
    sandbox = isolation.sandbox_spec(staged.setup, planned, artifacts)
    asyncio.run(runner.run(sandbox, planned.attempt, artifacts, report))
    evidence = json.loads((artifacts / EVIDENCE).read_text())
    assert 3 <= len(reported) <= evidence["client_s"] / demand_reports.PERIOD_S
    assert 0 < max(reported) <= (os.cpu_count() or 1)
    assert evidence["exits"]["client"]["status"] == 0
