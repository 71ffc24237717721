"""A cluster runs trials in virtual time, and they take as long as on one machine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import cluster_processes
from httpbed.addons.cluster import certificates
from httpbed.results.sample import of_trials
from httpbed.store import query
from orchestrator import Run
from real_runs import SmallExperiment


def test_the_trials_of_a_cluster_take_as_long_as_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search path of Python differs on a worker, which changes microseconds."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    certificates.make(certificates.default_folder(), datetime.now(UTC))
    file = tmp_path / "experiment.toml"
    file.write_text(SmallExperiment(versions=("2",), replicates=2, size="100 kB").text())
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    with Run(file, here, "--clock", "virtual") as run:
        assert run.wait() == 0, run.log
    with (
        cluster_processes.scheduler(tmp_path) as (_, address),
        cluster_processes.worker(address, "alpha", tmp_path),
        Run(file, elsewhere, "--cluster", address, "--clock", "virtual") as run,
    ):
        assert run.wait() == 0, run.log
    times = [of_trials(query.read(path), "request_time") for path in (here, elsewhere)]
    assert len(times[0]) == 2
    assert times[1] == pytest.approx(times[0], rel=1e-3)
