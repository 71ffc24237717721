"""Trials in virtual time, in real guests. `make test-virtual` builds their kernel and runs these.

`make test` leaves this folder out: the kernel takes ten minutes of CPU, which CI has not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from bench.exactness.repetitions import burning

from families import until
from guest_trials import LOSSY, evidence, kernels
from httpbed.addons.virtual import capability, guest_kernel
from httpbed.bed.toolbox import compiled
from httpbed.experiment.check import AS_DRAWN
from httpbed.experiment.trial import Record
from link_command import LINK, PING, SEND, link, python
from patience import HTTPBED
from real_runs import Stage, stage, values


@pytest.fixture(scope="module")
def lossy() -> Stage:
    """Prepare two downloads over a lossy link."""
    return stage(LOSSY)


def kill_one(kernel: Path) -> None:
    """Wait for a guest of this process, and kill its kernel."""
    found = list[int]()

    def is_there() -> bool:
        found.extend(kernels(os.getpid(), kernel))
        return bool(found)

    until(is_there)
    os.kill(found[0], signal.SIGKILL)


def completed(records: list[Record]) -> bool:
    """Whether every attempt was the only one of its trial, and completed."""
    return all(
        record.attempt.outcome.kind == "completed" and record.attempt.number == 1
        for record in records
    )


def test_this_machine_runs_guests() -> None:
    """All other tests here need it."""
    capability.require(guest_kernel.ensure(print))


def test_the_same_trial_gives_the_same_bytes_alone_and_on_a_busy_machine(
    lossy: Stage, tmp_path: Path
) -> None:
    """HTTP/2 and HTTP/3 lose the same packets at the same nanoseconds."""
    assert completed(lossy.run(tmp_path / "alone"))
    with burning():
        assert completed(lossy.run(tmp_path / "a folder with a longer name", jobs=2))
    once, again = evidence(tmp_path / "alone"), evidence(tmp_path / "a folder with a longer name")
    assert len(once) == len(LOSSY.versions)
    assert once == again


def test_the_fate_of_every_packet_is_the_one_that_its_seed_gives(
    lossy: Stage, tmp_path: Path
) -> None:
    """The link loses packets in a guest as it does in real time, and the check sees it."""
    records = lossy.run(tmp_path / "campaign")
    drawn = [
        check for record in records for check in record.attempt.checks if check.check == AS_DRAWN.id
    ]
    assert drawn
    assert all(check.passed for check in drawn)
    assert all(values(record)["packet_loss"] > 0 for record in records)


def test_blocks_differ(tmp_path: Path) -> None:
    """An interval over blocks measures what chance does."""
    records = stage(replace(LOSSY, versions=("2",), replicates=3)).run(tmp_path / "campaign")
    assert completed(records)
    assert len({values(record)["request_time"] for record in records}) == len(records)


def test_a_transfer_takes_the_time_that_its_link_needs(tmp_path: Path) -> None:
    """Without loss and delay, 1 MB at 10 Mbit/s takes what its bytes on the wire take."""
    settings = replace(LOSSY, versions=("2",), delay="0 ms", loss="0 %")
    (record,) = stage(settings).run(tmp_path / "campaign")
    least_s = 8e6 / 10e6
    assert least_s < values(record)["request_time"] < 1.1 * least_s


def test_a_killed_guest_is_an_invalid_attempt_and_the_campaign_goes_on(
    lossy: Stage, tmp_path: Path
) -> None:
    """The next attempt gives the number that the trial always gives."""
    assert lossy.setup.kernel is not None
    killer = threading.Thread(target=kill_one, args=(lossy.setup.kernel.path,))
    killer.start()
    records = lossy.run(tmp_path / "killed")
    killer.join()
    (invalid,) = [record for record in records if record.attempt.outcome.kind == "invalid"]
    assert "the guest ended with" in invalid.attempt.outcome.reason
    lossy.run(tmp_path / "whole")
    whole = evidence(tmp_path / "whole")
    assert evidence(tmp_path / "killed") == whole


def in_a_guest(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command behind a link in a guest, which takes a few seconds."""
    return link("--clock", "virtual", "--seed", "7", *words, cwd=folder)


def test_a_command_behind_a_link_gives_the_same_output_and_counters_again(tmp_path: Path) -> None:
    """Pings over a lossy link take what the link takes, to the nanosecond."""
    words = ("--delay", "50ms", "--jitter", "5ms", "--json", *python(PING, 5))
    once = in_a_guest(*words, folder=tmp_path)
    assert once.returncode == 0, once.stderr
    assert all(0.09 < float(line) < 0.111 for line in once.stdout.split())
    with burning():
        again = in_a_guest(*words, folder=tmp_path)
    assert (again.stdout, again.stderr) == (once.stdout, once.stderr)


def test_a_command_in_a_guest_keeps_what_it_writes_in_its_folder_alone(tmp_path: Path) -> None:
    """Its exit status, its arguments and its environment are those of any command."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "a folder"
    folder.mkdir()
    script = f'echo "$PWD" "$1" >here; touch {elsewhere}; cat; echo complaint >&2; exit 3'
    ended = in_a_guest("--", "sh", "-c", script, "sh", "two words", folder=folder)
    assert ended.returncode == 3
    assert "complaint" in ended.stderr
    assert (folder / "here").read_text() == f"{folder} two words\n"
    assert not elsewhere.exists()


def test_a_capture_of_a_guest_is_written_here(tmp_path: Path) -> None:
    """And the log; both again byte for byte."""
    found = []
    for number in "12":
        words = ("--pcap", f"{number}.pcapng", "--log", f"{number}.log", "--loss", "20%")
        ended = in_a_guest(*words, "--", *python(SEND, 50), folder=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert "s of virtual time" in ended.stderr
        found.append([(tmp_path / f"{number}.{kind}").read_bytes() for kind in ("pcapng", "log")])
    assert found[0] == found[1]
    assert b"lost" in found[0][1]


def test_an_interrupted_command_leaves_no_guest(tmp_path: Path) -> None:
    """Ctrl-C reaches httpbed alone, which ends the guest."""
    words = (*LINK, "--clock", "virtual", "--", "sh", "-c", "touch begun; while :; do :; done")
    running = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE)
    until((tmp_path / "begun").exists)
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 130


def test_a_program_against_itself_is_identical_in_all_blocks(tmp_path: Path) -> None:
    """Its copies have other names and folders, which no number may show."""
    builds = [tmp_path / name / "client" for name in ("base", "a folder for the head")]
    for build in builds:
        build.parent.mkdir()
        shutil.copy2(compiled.QUICHE.ensure(print), build)
    words = ["quiche:h3", "--server", "nginx", "--loss", "4%", "--size", "200kB", "--json"]
    words += ["--replicates", "3", "--clock", "virtual", "-o", str(tmp_path / "campaign")]
    for option, build in zip(("--program", "--against"), builds, strict=True):
        words.append(f"{option}=httpbed-quiche={build}")
    ended = subprocess.run(
        [*HTTPBED, "compare", *words], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert "identical in all 3 blocks." in json.loads(ended.stdout)["answer"][-1]


def test_a_comparison_answers_the_first_of_two_networks_during_the_run(tmp_path: Path) -> None:
    """The answer is one of those of the report, which follows."""
    words = ["curl:h1,curl:h2", "--loss", "0%,1%", "--size", "10kB", "--replicates", "2"]
    words += ["--clock", "virtual", "--json", "-o", str(tmp_path / "campaign")]
    ended = subprocess.run(
        [*HTTPBED, "compare", *words], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    (early,) = (line for line in ended.stderr.splitlines() if line.startswith("answer: "))
    assert early.removeprefix("answer: ") in json.loads(ended.stdout)["answer"]
