"""Damaged campaigns: every verb prints one line and exits, without a traceback or a wait."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

import stored_campaigns
from command_line import Command
from httpbed.base.errors import ConfigError
from httpbed.campaign import executor
from httpbed.experiment.trial import Record
from httpbed.store import campaign as campaigns
from httpbed.store import finished

MAX_S = 20
"""Longest time in seconds of a verb that does not hang."""
DEEP = b"[" * 100_000
OWN = ("manifest.json", "experiment.toml", "design.jsonl")
OF_AN_ATTEMPT = ("trial.json", "observations.jsonl", "handovers.json")
CACHED = ("tables.json", "trials.parquet")
MAIN = "from httpbed.cli.main import main; main()"
TRIALS = stored_campaigns.loaded().trials


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that hangs; do not wait for a real disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    signal.alarm(MAX_S)  # its action ends pytest, so give it another
    before = signal.signal(signal.SIGALRM, _waited)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _waited(*_: object) -> None:
    pytest.fail(f"waited for more than {MAX_S} s")


def leave(_: Record, artifacts: Path) -> None:
    (artifacts / "evidence.json").write_text("{}\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a campaign of twelve trials, two of which have ended, with hand-overs."""
    folder = tmp_path_factory.mktemp("damaged") / "campaign"
    records = [stored_campaigns.record(trial) for trial in TRIALS[:2]]
    records = [record.model_copy(update={"handovers": []}) for record in records]
    made = stored_campaigns.make(folder, records, leave=leave)
    made.note_run(datetime.now(UTC), "httpbed run", "1")
    return folder


@pytest.fixture
def campaign(whole: Path, tmp_path: Path) -> Path:
    """Copy the campaign, so that the test may damage it."""
    return shutil.copytree(whole, tmp_path / "campaign")


def _content(content: bytes) -> Callable[[Path], None]:
    return lambda path: _write(path, content)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _link_to_a_copy(path: Path) -> None:
    copy = path.with_name(f"copy-of-{path.name}")
    path.rename(copy)
    path.symlink_to(copy)


def _endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(path: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's name may have 107 bytes only
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(2**40)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "5": _content(b"5"),
    "a list": _content(b"[]"),
    "nothing": _content(b""),
    "zeros": _content(b"\0" * 700),
    "deep": _content(DEEP),
    "no UTF-8": _content(b'{"schema": "\xff\xfe"}'),
    "cut off": lambda path: _write(path, path.read_bytes()[:-20]),
    "a link to itself": _link_to_itself,
    "a link to a copy": _link_to_a_copy,
    "a device": _endless,
    "a pipe": _pipe,
    "a socket": _socket,
    "a folder": _folder,
    "a terabyte": _huge,
    "missing": lambda path: path.unlink(),
}


FEW_DAMAGES = ("cut off", "a link to itself", "a pipe", "missing")


def damages_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return every damage of the first file, and one of each kind of the others."""
    first, *others = names
    return [
        *((first, damage) for damage in DAMAGES),
        *((name, damage) for name in others for damage in FEW_DAMAGES),
    ]


READABLE = {"5", "a list", "nothing", "zeros", "deep", "no UTF-8", "cut off", "missing"}
"""Damages after which a file can still be read to its end, or is absent."""


@pytest.mark.parametrize(("name", "damage"), damages_of(OWN))
def test_a_campaign_whose_own_file_is_damaged_is_refused(
    httpbed: Command, campaign: Path, name: str, damage: str
) -> None:
    """Exit 2, and the file is named; verify counts it, unless there is no campaign at all."""
    DAMAGES[damage](campaign / name)
    # Without a design, a status could not say how far the campaign is.
    code, out, err = (
        httpbed("report", campaign, "--status") if name != OWN[1] else httpbed("report", campaign)
    )
    assert code == 2, (out, err)
    assert name in err
    assert all(line.isprintable() for line in err.splitlines())
    code, out, err = httpbed("verify", campaign)
    if damage == "missing":
        assert (code, name in err) == (2, True)
    else:
        assert code == 1
        assert any(line.startswith(f"{name}: ") for line in out.splitlines()), out
    with pytest.raises(ConfigError, match=name):
        _resumed(campaign)


@pytest.mark.parametrize(("name", "damage"), damages_of(OF_AN_ATTEMPT))
def test_a_damaged_attempt_is_named_and_counts_as_missing(
    httpbed: Command, campaign: Path, name: str, damage: str
) -> None:
    """By every verb that reads; and the run makes it again, while what was there is kept."""
    (file, *_) = sorted(campaign.glob(f"trials/*/*/*/{name}"))
    DAMAGES[damage](file)
    place = str(file.parent.relative_to(campaign))
    code, out, _ = httpbed("report", campaign, "--status")
    assert code == 0
    assert "1 of 12 trials ended" in out
    assert any(line.strip().startswith(f"{place}: ") for line in out.splitlines()), out
    (damaged,) = json.loads(httpbed("report", campaign, "--status", "--json")[1])["damaged"]
    assert damaged["place"] == place
    for words in (("export", campaign), ("export", campaign)):  # made, and read from the cache
        code, out, err = httpbed(*words)
        assert (code, len(out.splitlines())) == (0, 2)
        assert place in err
    code, out, _ = httpbed("verify", campaign)
    assert (code, place in out) == (1, True)
    _resumed(campaign)
    assert len(list(campaigns.open_existing(campaign).records())) == 12
    assert (campaign / "damaged" / place.replace("/", "-")).is_dir()
    assert httpbed("verify", campaign)[0] == 0


@pytest.mark.parametrize("words", [(), ("--dataset", "-o", "dataset"), ("-o", "table.csv")])
def test_a_campaign_of_damaged_attempts_alone_is_not_exported(
    httpbed: Command, campaign: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Exit 1 with the reason; no table without rows replaces an earlier file."""
    monkeypatch.chdir(campaign.parent)
    for file in campaign.glob("trials/*/*/*/trial.json"):
        file.write_bytes(file.read_bytes()[:-20])
    code, out, err = httpbed("export", campaign, *words)
    assert (code, out) == (1, "")
    assert f"{campaign}: nothing to export, because every attempt is damaged" in err
    assert {path.name for path in Path().iterdir()} == {campaign.name}


def _resumed(folder: Path) -> None:
    """Resume the campaign as a run does, with finished attempts."""
    now = stored_campaigns.manifest()
    with campaigns.opened(folder, stored_campaigns.SMALL, TRIALS, now) as campaign:
        campaign.clear_unfinished()
        done = finished.finished_attempts(campaign)
        campaign.set_aside_damaged(done.damaged)
        campaign.note_run(datetime.now(UTC), "httpbed run", "1")
        work = executor.pending(done.last, TRIALS)
        stored_campaigns.keep(campaign, *(stored_campaigns.record(*one) for one in work))


@pytest.mark.parametrize(("name", "damage"), damages_of(CACHED))
def test_a_damaged_cache_is_made_again(
    httpbed: Command, campaign: Path, name: str, damage: str
) -> None:
    """The table is the same."""
    truth = httpbed("export", campaign)
    DAMAGES[damage](campaign / name)
    assert httpbed("export", campaign) == truth == httpbed("export", campaign)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_artifact_is_found_by_verify(
    httpbed: Command, campaign: Path, damage: str
) -> None:
    """``verify`` names its path."""
    (file, *_) = sorted(campaign.glob("trials/*/*/*/artifacts/evidence.json"))
    DAMAGES[damage](file)
    code, out, _ = httpbed("verify", campaign)
    assert code == 1
    assert f"{file.parents[1].relative_to(campaign)}: artifacts/evidence.json " in out


@pytest.mark.parametrize(("name", "damage"), damages_of(["runs.jsonl", "lock"]))
def test_other_damaged_files_are_ignored_or_named(
    httpbed: Command, campaign: Path, name: str, damage: str
) -> None:
    """A campaign is read without its lock; only a log that is no ordinary file stops a reader."""
    DAMAGES[damage](campaign / name)
    assert httpbed("verify", campaign)[0] == 0
    for verb, *options in (("report", "--status"), ("export",)):
        code, _, err = httpbed(verb, campaign, *options)
        assert code == (0 if name == "lock" or damage in READABLE else 2)
        assert (f"{name}: is damaged: " in err) == (code == 2)


def test_an_attempt_of_another_trial_is_rejected(httpbed: Command, campaign: Path) -> None:
    """In another trial's place, under another number, or from another campaign."""
    first, second = sorted(campaign.glob("trials/*/*/1"))
    shutil.rmtree(second)
    shutil.copytree(first, second)
    shutil.copytree(first, first.with_name("2"))
    text = stored_campaigns.SMALL.replace("seed = 2", "seed = 3")
    foreign = stored_campaigns.loaded(text).trials[0]
    other = stored_campaigns.make(campaign.parent / "other", text=text)
    (folder,) = stored_campaigns.keep(other, stored_campaigns.record(foreign))
    shutil.copytree(folder, campaign / f"trials/0001/{foreign.id}/1")
    said = json.loads(httpbed("report", campaign, "--status", "--json")[1])
    assert said["outcomes"] == {"completed": 1}
    reasons = {one["place"].split("/", 2)[2]: one["reasons"] for one in said["damaged"]}
    own = str(first.relative_to(campaign))
    assert reasons == {
        f"{second.parent.name}/1": [f"trial.json belongs to {own}"],
        f"{first.parent.name}/2": [f"trial.json belongs to {own}"],
        f"{foreign.id}/1": ["the campaign's design has no such trial"],
    }


@pytest.mark.parametrize(
    "said",
    [
        b'{"trial": ' + b"[" * 100_000 + b"]" * 100_000,
        b'{"files": 5',
        b'{"files": {"../../secret": {"bytes": 1, "sha256": ""}}, "observation_count": 1',
        b'{"files": {}, "observation_count": "many"',
        b'{"a": 1',
    ],
    ids=lambda said: str(said[:14]),
)
def test_a_malformed_attempt_is_damaged_even_with_a_correct_digest(
    httpbed: Command, campaign: Path, said: bytes
) -> None:
    """Its digest of itself is right, and nothing else."""
    (file, *_) = sorted(campaign.glob("trials/*/*/*/trial.json"))
    text = said + b',\n "sha256": "' + b"0" * 64 + b'"\n}\n'
    file.write_bytes(text.replace(b"0" * 64, hashlib.sha256(text).hexdigest().encode()))
    code, out, _ = httpbed("report", campaign, "--status")
    assert code == 0
    assert "trial.json cannot be parsed: " in out


def test_a_value_edited_by_hand_is_noticed(httpbed: Command, campaign: Path) -> None:
    """A time, an outcome, or a limit in the design."""
    first, second = sorted(campaign.glob("trials/*/*/1"))
    for file, old, new in (
        (first / "observations.jsonl", '"value": 1.0', '"value": 0.1'),
        (second / "trial.json", '"kind": "completed"', '"kind": "failed"'),
    ):
        text = file.read_text()
        file.write_text(text.replace(old, new))
        assert file.read_text() != text
    assert "0 of 12 trials ended" in httpbed("report", campaign, "--status")[1]
    _, out, _ = httpbed("verify", campaign)
    assert "observations.jsonl has another SHA-256 than when it was written" in out
    assert "trial.json has another SHA-256 than when it was written" in out


def test_a_foreign_file_in_the_folder_is_noted(httpbed: Command, campaign: Path) -> None:
    """It affects no result; a file within an attempt's folder would count as damage."""
    (campaign / "unfinished").mkdir(exist_ok=True)
    (campaign / "unfinished/notes.txt").write_text("years")
    (campaign / "trials/.DS_Store").touch()
    (campaign / "conformance.json").write_text("{}")
    with (campaign / "runs.jsonl").open("a") as log:
        log.write('{"schema": 1, "jo')
    code, out, _ = httpbed("verify", campaign)
    assert code == 0
    assert "note: runs.jsonl: line 2 is torn" in out
    assert "note: unfinished/notes.txt: " in out
    assert re.search("note: no digest covers .*conformance.json", out)
    _resumed(campaign)
    assert (campaign / "unfinished/notes.txt").read_text() == "years"
    assert [run["jobs"] for run in campaigns.open_existing(campaign).runs()] == ["1", "1"]
    (file, *_) = sorted(campaign.glob("trials/*/*/*/artifacts"))
    (file / "more.txt").touch()
    (file.parent / "more.txt").touch()
    code, out, _ = httpbed("verify", campaign)
    assert code == 1
    assert "artifacts/more.txt is not among the files" in out
    assert "1: more.txt is not among the files" in out


@pytest.mark.parametrize("name", ["trials", "unfinished", "damaged"])
def test_a_link_in_the_place_of_a_campaigns_folder_is_refused(
    httpbed: Command, campaign: Path, name: str
) -> None:
    """What it leads to may be changed by others."""
    (campaign / name).mkdir(exist_ok=True)
    (campaign / name).rename(campaign.parent / name)
    (campaign / name).symlink_to(campaign.parent / name)
    code, _, err = httpbed("report", campaign, "--status")
    assert (code, "is not a folder of its own" in err) == (2, True)
    with pytest.raises(ConfigError, match="is not a folder"):
        _resumed(campaign)


def test_a_file_in_place_of_a_trials_folder_is_moved_away(httpbed: Command, campaign: Path) -> None:
    """A file where a trial's folder was, and a pipe where an unfinished attempt would be."""
    (folder, *_) = sorted(campaign.glob("trials/*/*"))
    folder.rename(campaign.parent / "elsewhere")
    folder.write_text("years")
    os.mkfifo(campaign / "unfinished" / f"{folder.name}-1")
    assert f"{folder.relative_to(campaign)}: is not a folder" in httpbed("verify", campaign)[1]
    _resumed(campaign)
    assert len(list(campaigns.open_existing(campaign).records())) == 12
    aside = {path.name for path in (campaign / "damaged").iterdir()}
    assert aside == {f"trials-0001-{folder.name}", f"unfinished-{folder.name}-1"}


@pytest.mark.parametrize("verb", ["report", "export", "verify"])
def test_verbs_reject_a_loop_of_links(httpbed: Command, tmp_path: Path, verb: str) -> None:
    """One line, and exit code 2."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    code, _, err = httpbed(verb, tmp_path / "loop")
    assert (code, "is not a campaign" in err) == (2, True)


def test_a_report_rejects_a_loop_of_links(httpbed: Command, campaign: Path, tmp_path: Path) -> None:
    """Neither for a campaign nor for a file."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(ConfigError, match="is not a folder"):
        _resumed(loop)
    for words in (("-o", loop), ("-o", loop / "below"), ("--format", "har", "-o", loop)):
        code, _, err = httpbed("export", campaign, *words)
        assert code == 2
        assert err.startswith("httpbed: ")


@pytest.mark.parametrize("kilobytes", [40_000, 200_000, 600_000])
def test_exhausted_memory_prints_one_line(campaign: Path, kilobytes: int) -> None:
    """The line has the remedy, and the exit code is 3."""
    command = f"ulimit -v {kilobytes}; exec {sys.executable} -c '{MAIN}' status {campaign}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("httpbed: not enough memory\n  remedy: ")


def test_a_damaged_earlier_attempt_is_moved_too(httpbed: Command, campaign: Path) -> None:
    """Its trial has a later attempt, which counts and is not repeated."""
    trial = TRIALS[2]
    made = campaigns.open_existing(campaign)
    stored_campaigns.keep(
        made,
        stored_campaigns.record(trial, 1, "invalid"),
        stored_campaigns.record(trial, 2, seconds=2.5),
    )
    (campaign / f"trials/0001/{trial.id}/1/observations.jsonl").write_text("")
    assert "3 of 12 trials ended" in httpbed("report", campaign, "--status")[1]
    _resumed(campaign)
    assert made.attempts()[trial.id].number == 2
    assert [path.name for path in (campaign / "damaged").iterdir()] == [f"trials-0001-{trial.id}-1"]
    assert httpbed("verify", campaign)[0] == 0
