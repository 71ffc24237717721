"""What goes wrong around a run: a clear message, the right exit code, and nothing lost."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

import command_line
from command_line import Command
from families import until
from httpbed.bed.sandbox.sandbox_spec import Exit, ProcessSpec
from httpbed.bed.sandbox.supervisor import Supervisor
from orchestrator import Run
from patience import HTTPBED
from real_runs import CLI_S, SmallExperiment, completed, finished, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

EXIT_USAGE, EXIT_HOST, EXIT_INTERRUPTED = 2, 3, 130


@pytest.fixture
def in_process(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Command:
    """Return a function that runs httpbed in this process."""
    return command_line.command(monkeypatch, capfdbinary)


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Write an experiment of six trials, half a second each."""
    file = tmp_path / "experiment.toml"
    file.write_text(SmallExperiment(replicates=2, rate="2 Mbit/s").text())
    return file


def test_a_second_run_and_an_interrupt(experiment: Path, tmp_path: Path) -> None:
    """A second run is refused; an interrupted run finishes its trial, and resumes."""
    directory = tmp_path / "campaign"
    with Run(experiment, directory) as first:
        until(lambda: len(finished(directory)) >= 1 or first.is_over())
        with first.stopped():  # however slow the second one starts, the first is not done
            second = httpbed("run", experiment, "-o", directory)
        assert second.returncode == EXIT_USAGE
        assert "another run works on this campaign" in second.stderr
        until(lambda: first.sandbox() is not None or first.is_over())
        assert first.interrupt() == EXIT_INTERRUPTED, first.log
        assert "finishing 1 attempt under way; Ctrl-C again breaks it off" in first.log
        assert "interrupted; finished work is kept" in first.log
        assert "Traceback" not in first.log
    kept, done = finished(directory), completed(directory)
    assert 2 <= len(done) < 6
    resumed = httpbed("run", experiment, "-o", directory, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert f"resuming {directory}: {len(done)} of 6 trials are finished" in resumed.stderr
    assert kept.items() <= finished(directory).items()
    assert len(completed(directory)) == 6
    assert json.loads(resumed.stdout)


def test_a_second_interrupt_breaks_off_what_is_under_way(tmp_path: Path) -> None:
    """A transfer of minutes ends at once, and the same command begins it again."""
    experiment, directory = tmp_path / "experiment.toml", tmp_path / "campaign"
    slow = SmallExperiment(versions=("2",), size="10 MB", rate="100 kbit/s", time_limit="900 s")
    experiment.write_text(slow.text())
    with Run(experiment, directory) as run:
        until(lambda: run.is_emulating() or run.is_over())
        os.killpg(run.pid, signal.SIGINT)
        until(lambda: "finishing 1 attempt under way" in run.log or run.is_over())
        assert run.interrupt() == EXIT_INTERRUPTED, run.log
        assert "Traceback" not in run.log
    assert not finished(directory)


def test_sigterm_ends_a_run_that_was_started_in_the_background(
    experiment: Path, tmp_path: Path
) -> None:
    """Background jobs ignore SIGINT; SIGTERM ends them in order."""
    directory = tmp_path / "campaign"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run = Run(experiment, directory)
    finally:
        signal.signal(signal.SIGINT, before)
    with run:
        until(lambda: run.sandbox() is not None or run.is_over())
        os.kill(run.pid, signal.SIGTERM)
        assert run.wait() == 143, run.log
        assert "ended by SIGTERM; finished work is kept" in run.log
        assert "Traceback" not in run.log
    resumed = httpbed("run", experiment, "-o", directory)
    assert resumed.returncode == 0, resumed.stderr
    assert len(completed(directory)) == 6


def in_own_mounts(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script as root of namespaces of its own, in which it may mount."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *user, "--mount", "sh", "-euc", script]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=2 * CLI_S)


@pytest.mark.as_root
def test_a_full_disk(experiment: Path, tmp_path: Path) -> None:
    """The message names the remedy; with free space the same command continues."""
    # One at a time: several unfinished attempts would fill the disk before the first is kept.
    words = [*HTTPBED, "run", str(experiment), "--jobs", "1", "-o"]
    disk, run = tmp_path / "disk", shlex.join(words)
    disk.mkdir()
    ended = in_own_mounts(
        f"""
        mount -t tmpfs -o size=8m tmpfs {disk}
        head -c {8 * 2**20 - 200_000} /dev/zero >{disk}/other
        code=0; {run} {disk}/campaign || code=$?
        echo "code $code, kept $(ls -d {disk}/campaign/trials/*/*/* | wc -l)"
        cp -a {disk}/campaign/trials {tmp_path}/kept
        rm {disk}/other
        {run} {disk}/campaign >/dev/null
        diff -r {tmp_path}/kept {disk}/campaign/trials | grep -v ^Only.in.{disk} && exit 9
        echo "then $(ls -d {disk}/campaign/trials/*/*/* | wc -l)"
        """
    )
    assert ended.returncode == 0, ended.stderr
    first, last = ended.stdout.splitlines()
    assert first.startswith(f"code {EXIT_HOST}, kept "), ended.stderr
    assert 1 <= int(first.split()[-1]) < 6
    assert last == "then 6"
    assert "No space left on device" in ended.stderr
    assert "remedy: free some space" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "invalid" not in ended.stderr


@pytest.mark.as_root
def test_a_disk_that_packets_fill(tmp_path: Path) -> None:
    """A truncated capture is no attempt, and no failure of a program: the trial runs again."""
    file, disk = tmp_path / "experiment.toml", tmp_path / "disk"
    file.write_text(SmallExperiment(versions=("2",), rate="50 Mbit/s", size="8 MB").text())
    disk.mkdir()
    run = shlex.join([*HTTPBED, "run", str(file), "-o", str(disk / "c"), "--keep", "pcap"])
    ended = in_own_mounts(
        f"""
        mount -t tmpfs -o size=6m tmpfs {disk}
        code=0; {run} || code=$?
        echo "code $code, kept $(find {disk}/c/trials -name trial.json | wc -l)"
        """
    )
    assert ended.stdout == f"code {EXIT_HOST}, kept 0\n", ended.stderr
    assert "remedy: free some space" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_sandbox_that_dies_before_the_first_trial(
    experiment: Path, in_process: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run reports it and has made no attempt."""
    honest = Supervisor.run

    async def killed(self: Supervisor, spec: ProcessSpec) -> Exit:
        os.kill(self.init_pid, signal.SIGKILL)
        return await honest(self, spec)

    monkeypatch.setattr(Supervisor, "run", killed)
    code, _, said = in_process("run", experiment, "-o", f"{experiment}.campaign")
    assert code == EXIT_HOST
    assert "the sandbox ended" in said
    assert "remedy: try again" in said
    assert [path.name for path in experiment.parent.iterdir()] == [experiment.name]


@pytest.mark.as_root
def test_a_folder_on_a_read_only_disk(experiment: Path, tmp_path: Path) -> None:
    """The run is refused before its first trial."""
    (tmp_path / "disk").mkdir()
    run = shlex.join([*HTTPBED, "run", str(experiment), "-o", f"{tmp_path}/disk/campaign"])
    ended = in_own_mounts(f"mount -t tmpfs -o ro tmpfs {tmp_path}/disk; exec {run}")
    assert ended.returncode == EXIT_USAGE, ended.stderr
    assert "Read-only file system" in ended.stderr
    assert "choose another folder" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.as_root
@pytest.mark.parametrize(
    ("where", "code", "word"),
    [
        ("experiment.toml/campaign", EXIT_USAGE, "is not a folder"),
        ("/proc/nothing/campaign", EXIT_USAGE, "choose another folder"),
        ("experiment.toml", EXIT_USAGE, "is not a folder"),
        (".", EXIT_USAGE, "holds other files than a campaign's"),
    ],
)
def test_a_folder_that_cannot_be_used(  # noqa: PLR0913 - fixtures, and one parameter per column
    experiment: Path,
    in_process: Command,
    monkeypatch: pytest.MonkeyPatch,
    *,
    where: str,
    code: int,
    word: str,
) -> None:
    """The run is refused, and existing files are unchanged."""
    text = experiment.read_text()
    monkeypatch.chdir(experiment.parent)
    ended, _, said = in_process("run", experiment, "-o", where)
    assert ended == code
    assert word in said
    assert [(path.name, path.read_text()) for path in experiment.parent.iterdir()] == [
        (experiment.name, text)
    ]
