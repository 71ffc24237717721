"""A campaign in guests is interrupted or killed: nothing is left, and it is resumed."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from families import until
from guest_trials import LOSSY, evidence, kernels
from httpbed.addons.virtual import guest_kernel
from orchestrator import Run
from real_runs import finished

EXPERIMENT = replace(LOSSY, versions=("2",), size="100 kB", replicates=3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, bytes]]:
    """Run the campaign without an interruption; return what it gives."""
    folder = tmp_path_factory.mktemp("whole")
    with Run(written(folder), folder / "campaign") as run:
        assert run.wait() == 0, run.log
    return evidence(folder / "campaign")


def written(folder: Path) -> Path:
    """Write the experiment file."""
    file = folder / "experiment.toml"
    file.write_text(EXPERIMENT.text())
    return file


def wait_for_a_guest(run: Run) -> None:
    """Wait until a trial is under way: the test of the machine's abilities boots a guest, too."""
    kernel = guest_kernel.ensure(print).path
    unfinished = run.directory / "unfinished"
    until(lambda: unfinished.exists() and any(unfinished.iterdir()))
    until(lambda: bool(kernels(run.pid, kernel)) or run.is_over())
    assert not run.is_over(), run.log


def test_an_interrupted_campaign_finishes_the_attempts_under_way(
    tmp_path: Path, whole: dict[str, tuple[bytes, bytes]]
) -> None:
    """Ctrl-C once; the same command completes it with the numbers of an uninterrupted run."""
    file, directory = written(tmp_path), tmp_path / "campaign"
    with Run(file, directory) as run:
        wait_for_a_guest(run)
        assert run.interrupt() == 130, run.log
    nothing_is_left(run)
    assert 1 <= len(finished(directory)) < EXPERIMENT.replicates
    complete(file, directory)
    assert evidence(directory) == whole


def test_a_second_interrupt_breaks_the_guests_off(tmp_path: Path) -> None:
    """Their attempts are run again by the same command."""
    file, directory = written(tmp_path), tmp_path / "campaign"
    with Run(file, directory, jobs="2") as run:
        wait_for_a_guest(run)
        os.killpg(run.pid, signal.SIGINT)
        until(lambda: "interrupted: finishing" in run.log)
        assert run.interrupt() == 130, run.log
    nothing_is_left(run)
    assert not finished(directory)
    complete(file, directory)


def test_a_killed_campaign_is_resumed(
    tmp_path: Path, whole: dict[str, tuple[bytes, bytes]]
) -> None:
    """After kill -9 the kernel ends the guests, and the same command runs their attempts again."""
    file, directory = written(tmp_path), tmp_path / "campaign"
    with Run(file, directory, jobs="2") as run:
        wait_for_a_guest(run)
        found = kernels(run.pid, guest_kernel.ensure(print).path)
        run.kill()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in found))
    nothing_is_left(run)
    complete(file, directory)
    assert evidence(directory) == whole


def complete(file: Path, directory: Path) -> None:
    """Resume the campaign until its end."""
    with Run(file, directory) as run:
        assert run.wait() == 0, run.log
    assert len(evidence(directory)) == EXPERIMENT.replicates
    assert not list((directory / "unfinished").iterdir())


def nothing_is_left(run: Run) -> None:
    """See that the folder for temporary files is empty."""
    assert not list(run.temporary.iterdir())
