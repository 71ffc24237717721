"""Campaigns on a cluster: real workers, real trials, a worker that is killed in the middle."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

import cluster_processes
import separate_machines
from families import until
from httpbed.addons.cluster import certificates
from httpbed.store import campaign as campaigns
from httpbed.store import machine_log
from orchestrator import Run
from real_runs import CLI_S, SmallExperiment, completed, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

LONG = SmallExperiment(versions=("1.1", "2"), replicates=3, size="1 MB", rate="5 Mbit/s")
"""Six downloads of about two seconds."""


@pytest.fixture(autouse=True)
def _members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the processes of a test the certificates of a cluster of their own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    certificates.make(certificates.default_folder(), datetime.now(UTC))


def experiment(tmp_path: Path, settings: SmallExperiment) -> Path:
    file = tmp_path / "experiment.toml"
    file.write_text(settings.text())
    return file


@pytest.mark.slow
def test_a_block_of_a_killed_worker_runs_again_elsewhere(tmp_path: Path) -> None:
    """The lost attempts are invalid and counted, and the campaign is whole and verifies."""
    file, directory = experiment(tmp_path, LONG), tmp_path / "campaign"
    with (
        cluster_processes.scheduler(tmp_path) as (_, address),
        cluster_processes.worker(address, "alpha", tmp_path) as alpha,
        cluster_processes.worker(address, "beta", tmp_path),
        Run(file, directory, "--cluster", address) as run,
    ):
        until(lambda: alpha.is_in_a_trial() or run.is_over())
        alpha.kill()
        assert run.wait() == 0, run.log
    _require_lost_and_repeated(directory)
    reported = httpbed("report", directory)
    assert reported.returncode == 0, reported.stderr
    assert "alpha" in (directory / "report.html").read_text()


@pytest.mark.slow
def test_a_block_of_a_machine_that_vanishes_runs_again_on_another(tmp_path: Path) -> None:
    """The workers have network namespaces of their own, and reach only the scheduler's."""
    file, directory = experiment(tmp_path, LONG), tmp_path / "campaign"
    ran = subprocess.run(
        separate_machines.command(tmp_path, file, directory),
        check=False,
        capture_output=True,
        text=True,
        timeout=2 * CLI_S,
    )
    assert ran.returncode == 0, ran.stderr
    _require_lost_and_repeated(directory)


def _require_lost_and_repeated(directory: Path) -> None:
    """Check that alpha's block is an invalid attempt and completed on beta, and all verifies."""
    campaign = campaigns.open_existing(directory)
    assert completed(directory) == {trial.id for trial in campaign.design()}
    lines = machine_log.read(directory)
    (lost,) = [line["block"] for line in lines if line["ending"] == machine_log.LOST]
    again = [record.attempt for record in campaign.records() if record.attempt.trial.block == lost]
    assert {(attempt.number, attempt.outcome.kind, attempt.machine) for attempt in again} == {
        (1, "invalid", "alpha"),
        (2, "completed", "beta"),
    }
    assert all(
        "alpha was lost" in attempt.outcome.reason for attempt in again if attempt.number == 1
    )
    assert all(line.get("host") for line in lines)
    verified = httpbed("verify", directory)
    assert verified.returncode == 0, verified.stdout


def test_a_campaign_of_a_cluster_is_resumed_there_alone(tmp_path: Path) -> None:
    """A campaign that a cluster ran is as a local one: a damaged attempt is repeated."""
    small = SmallExperiment(versions=("2",), replicates=2, size="10 kB")
    file, directory = experiment(tmp_path, small), tmp_path / "campaign"
    with (
        cluster_processes.scheduler(tmp_path) as (_, address),
        cluster_processes.worker(address, "alpha", tmp_path),
    ):
        ran = httpbed("run", file, "-o", directory, "--cluster", address)
        assert ran.returncode == 0, ran.stderr
        first, _ = sorted(directory.glob("trials/*/*/*/observations.jsonl"))
        first.write_text("edited")
        again = httpbed("run", file, "-o", directory, "--cluster", address)
        assert again.returncode == 0, again.stderr
        assert "1 of 2 trials are finished" in again.stderr
        assert f"{first.parent.relative_to(directory)}" in again.stderr
    assert len(completed(directory)) == 2
    assert httpbed("verify", directory).returncode == 0
    here = httpbed("run", file, "-o", directory)
    assert here.returncode == 2
    assert "place of its trials was a cluster and is now this machine" in here.stderr


@pytest.mark.slow
def test_a_run_whose_scheduler_vanished_ends_and_is_resumed(tmp_path: Path) -> None:
    """Block and worker are lost with it; the campaign is whole, and the same command goes on."""
    file, directory = experiment(tmp_path, LONG), tmp_path / "campaign"
    with (
        cluster_processes.scheduler(tmp_path) as (scheduler, address),
        cluster_processes.worker(address, "alpha", tmp_path) as alpha,
        Run(file, directory, "--cluster", address) as run,
    ):
        until(lambda: alpha.is_in_a_trial() or run.is_over())
        scheduler.kill()
        assert run.wait() == 3, run.log
        assert "is gone, with the blocks under way" in run.log
        assert "Traceback" not in run.log
        assert alpha.process.wait(60) == 3
    assert httpbed("verify", directory).returncode == 0
    with (
        cluster_processes.scheduler(tmp_path) as (_, address),
        cluster_processes.worker(address, "alpha", tmp_path),
    ):
        ran = httpbed("run", file, "-o", directory, "--cluster", address)
    assert ran.returncode == 0, ran.stderr
    design = campaigns.open_existing(directory).design()
    assert completed(directory) == {trial.id for trial in design}


def test_without_a_scheduler_a_run_and_a_worker_say_so(tmp_path: Path) -> None:
    """The machine cannot: exit code 3, and no campaign is left."""
    file = experiment(tmp_path, SmallExperiment(versions=("2",)))
    ran = httpbed("run", file, "-o", tmp_path / "campaign", "--cluster", "tls://127.0.0.1:9")
    assert ran.returncode == 3
    assert "no scheduler answers at tls://127.0.0.1:9" in ran.stderr
    assert not (tmp_path / "campaign").exists()
    assert "dask scheduler" in ran.stderr
