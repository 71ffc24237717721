"""A cluster runs trials in virtual time, and they are those of one machine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench.exactness import evidence

import cluster_processes
from httpbed.addons.cluster import certificates
from httpbed.store import campaign as campaigns
from orchestrator import Run
from real_runs import SmallExperiment


def test_the_trials_of_a_cluster_are_the_same_as_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte: a worker boots the same kernel, and its machine adds nothing."""
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
    found = [evidence.of_campaign(campaigns.open_existing(one)) for one in (here, elsewhere)]
    assert found[0]
    assert found[0] == found[1]
