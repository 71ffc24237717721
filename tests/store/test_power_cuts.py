"""Power cuts: whatever a disk has lost, an attempt is read as it was, or it is not there.

A disk keeps what was brought to it (fsync) before the power goes. Of what was not, it keeps any
part: a file has all of its bytes, the first of them, zeros, or none; a name is there or not. So a
commit is recorded, and each cut breaks it off after some of its steps and spoils what was not safe.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.addons.verify import verification
from httpbed.campaign import executor
from httpbed.experiment.trial import HandoverEvent, Record
from httpbed.store import campaign as campaigns
from httpbed.store import finished, query
from httpbed.store.campaign import Campaign

SEED = 20261122


class PowerCutError(BaseException):
    """The power is gone."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no real disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def leave(record: Record, artifacts: Path) -> None:
    """Leave artifacts of some sizes, deep ones and an empty one too."""
    (artifacts / "client/frames").mkdir(parents=True)
    (artifacts / "evidence.json").write_text(f'{{"of": "{record.attempt.id}"}}\n')
    (artifacts / "client/curl.json").write_bytes(b"x" * 9000)
    (artifacts / "client/frames/1.jpg").write_bytes(bytes(range(256)))
    (artifacts / "client/empty.txt").touch()


def committed(index: int) -> Record:
    """Return the attempt that is committed when the power goes."""
    record = stored_campaigns.record(stored_campaigns.loaded().trials[index], seconds=1.5)
    moment = HandoverEvent(number=1, left="wifi", entered="cellular", at_s=1.5, verdict="migrated")
    return record.model_copy(update={"handovers": [moment]}) if index % 2 else record


@dataclass
class Disk:
    """What a disk was told: which files are safe, and in how many steps."""

    cut_after: int
    steps: int = 0
    safe: set[int] = field(default_factory=set)
    """Inodes."""

    def step(self) -> None:
        """Take one step, or lose power before it."""
        if self.steps == self.cut_after:
            raise PowerCutError
        self.steps += 1

    def fsync(self, handle: int) -> None:
        """Make a file or folder safe."""
        self.step()
        self.safe.add(os.fstat(handle).st_ino)


@contextmanager
def recorded(disk: Disk, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every fsync and rename be a step, one at a time."""
    rename = Path.rename

    def step(path: Path, target: Path) -> Path:
        disk.step()
        return rename(path, target)

    with patch.context() as patched:
        patched.setattr("httpbed.base.disk.THREADS", 1)
        patched.setattr(os, "fsync", disk.fsync)
        patched.setattr(Path, "rename", step)
        yield


def spoil(file: Path, chance: random.Random) -> None:
    """Leave of a file what a disk may leave of one that was not safe."""
    content = file.read_bytes()
    cut = chance.randrange(len(content) + 1)
    kinds = [content[:cut], b"", b"\0" * len(content), content[:cut] + b"\0" * (len(content) - cut)]
    file.write_bytes(chance.choice(kinds))


def lose(campaign: Campaign, disk: Disk, chance: random.Random) -> None:
    """Spoil some of the files that were not safe; sometimes one has lost its name, too."""
    files = [path for path in campaign.directory.glob("[tu]*/**/*") if path.is_file()]
    for file in sorted(files):
        if file.stat().st_ino not in disk.safe and chance.random() < 0.6:
            file.unlink() if chance.random() < 0.2 else spoil(file, chance)


def steps_of_a_commit(folder: Path, patch: pytest.MonkeyPatch) -> int:
    """Count the steps of a commit that is not cut."""
    disk = Disk(cut_after=-1)
    with recorded(disk, patch):
        stored_campaigns.keep(stored_campaigns.make(folder), committed(1), leave=leave)
    return disk.steps


def believed(campaign: Campaign) -> dict[str, Record]:
    """Return what its readers see."""
    records = {record.attempt.id: record for record in campaign.records()}
    results = query.read(campaign.directory)
    assert set(results.trials.column("trial").to_pylist()) == set(records)
    told = [row["value"] for row in results.observations.to_pylist()]
    assert told == [
        observation.value for record in records.values() for observation in record.observations
    ]
    return records


@pytest.mark.parametrize("cuts", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_of_many_power_cuts_no_trial_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: int
) -> None:
    """Cut at any step of a commit: what was there stays, the attempt is whole or not there."""
    steps = steps_of_a_commit(tmp_path / "whole", monkeypatch)
    chance = random.Random(SEED)  # noqa: S311 - it hides nothing
    first = stored_campaigns.record(stored_campaigns.loaded().trials[0])
    before = stored_campaigns.make(tmp_path / "before", [first], leave=leave).directory
    seen = {True: 0, False: 0}
    for number in range(cuts):
        campaign = Campaign(shutil.copytree(before, tmp_path / f"{number}"))
        safe = {path.stat().st_ino for path in campaign.directory.rglob("*")}
        disk = Disk(chance.randrange(steps + 1), safe=safe)
        second = committed(1 + number % 3)
        with recorded(disk, monkeypatch), suppress(PowerCutError):
            stored_campaigns.keep(campaign, second, leave=leave)
        lose(campaign, disk, chance)
        truth = {record.attempt.id: record for record in (first, second)}
        found = believed(campaign)
        assert first.attempt.id in found
        assert all(found[name] == truth[name] for name in found)
        assert verification.verify(campaign).damaged == ()
        seen[second.attempt.id in found] += 1
        shutil.rmtree(campaign.directory)
    assert min(seen.values()) > cuts // 40  # so that both ends were met


def test_a_disk_that_does_not_keep_its_word_makes_no_trial_wrong(tmp_path: Path) -> None:
    """Files are lost after all were said to be safe: the trial is not there, and is made again."""
    chance = random.Random(SEED)  # noqa: S311 - it hides nothing
    truth = {record.attempt.id: record for record in map(committed, range(4))}
    whole = stored_campaigns.make(tmp_path / "whole", truth.values(), leave=leave)
    believed(whole)  # so that there is a cache
    for number in range(20):
        campaign = Campaign(shutil.copytree(whole.directory, tmp_path / f"{number}"))
        spoilt = _spoil_some(campaign, chance)
        found = believed(campaign)
        assert all(found[name] == truth[name] for name in found)
        assert not set(found) & spoilt["read"]
        again = {
            trial.id
            for trial, _ in executor.pending(
                finished.finished_attempts(campaign).last, campaign.design()
            )
        }
        assert again == {trial.id for trial in campaign.design()} - set(found)
        named = {damage.place.split("/")[2] for damage in verification.verify(campaign).damaged}
        assert named == spoilt["read"] | spoilt["artifacts"]
        shutil.rmtree(campaign.directory)


def _spoil_some(campaign: Campaign, chance: random.Random) -> dict[str, set[str]]:
    """Change some files of some attempts; return whose files that each reader reads, and others."""
    changed: dict[str, set[str]] = {"read": set(), "artifacts": set()}
    files = sorted(path for path in campaign.directory.glob("trials/**/*") if path.is_file())
    for file in chance.sample(files, 6):
        before = file.read_bytes()
        if chance.random() < 0.2:
            file.unlink()
        else:
            spoil(file, chance)
        if not file.exists() or file.read_bytes() != before:
            kind = "artifacts" if "artifacts" in file.parts else "read"
            changed[kind].add(file.relative_to(campaign.directory).parts[2])
    return changed


def test_a_run_after_the_cut_makes_what_was_lost_again(tmp_path: Path) -> None:
    """In its old place; what lay there is kept aside."""
    record = committed(1)
    campaign = stored_campaigns.make(tmp_path, [record], leave=leave)
    (file,) = tmp_path.glob("trials/*/*/*/observations.jsonl")
    file.write_bytes(b"")
    with campaigns.opened(
        tmp_path,
        stored_campaigns.SMALL,
        stored_campaigns.loaded().trials,
        stored_campaigns.manifest(),
    ) as resumed:
        trial, number = executor.pending(
            finished.finished_attempts(resumed).last, resumed.design()
        )[1]
        assert (trial, number) == (record.attempt.trial, 1)
        stored_campaigns.keep(resumed, record, leave=leave)
    assert list(campaign.records()) == [record]
    (aside,) = (tmp_path / "damaged").iterdir()
    assert (aside / "observations.jsonl").read_bytes() == b""
    assert (aside / "artifacts/client/curl.json").is_file()
    assert verification.verify(campaign).damaged == ()


def test_what_a_campaign_begins_with_is_safe_before_it_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut at any step: there is a campaign as it was meant, or its folder can begin again."""
    whole = Disk(cut_after=-1)
    with recorded(whole, monkeypatch):
        stored_campaigns.make(tmp_path / "whole")
    chance = random.Random(SEED)  # noqa: S311 - it hides nothing
    for cut in range(whole.steps + 1):
        disk = Disk(cut_after=cut)
        folder = tmp_path / f"{cut}"
        with recorded(disk, monkeypatch), suppress(PowerCutError):
            stored_campaigns.make(folder)
        for file in folder.glob("*"):
            if file.stat().st_ino not in disk.safe:
                spoil(file, chance)
        assert stored_campaigns.make(folder).experiment_text == stored_campaigns.SMALL
        assert campaigns.open_existing(folder).manifest == stored_campaigns.manifest()


def test_a_campaign_that_grows_when_the_power_goes_has_one_design_or_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut at any step: every attempt is read, and the same run completes the growth."""
    first = stored_campaigns.loaded().trials[0]
    grown = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 3")
    whole = Disk(cut_after=-1)
    stored_campaigns.make(tmp_path / "whole")
    with recorded(whole, monkeypatch):
        stored_campaigns.make(tmp_path / "whole", text=grown)
    chance, seen = random.Random(SEED), set[int]()  # noqa: S311 - it hides nothing
    for cut in range(whole.steps + 1):
        disk, folder = Disk(cut_after=cut), tmp_path / f"{cut}"
        campaign = stored_campaigns.make(folder, [stored_campaigns.record(first)])
        disk.safe |= {file.stat().st_ino for file in folder.rglob("*")}
        with recorded(disk, monkeypatch), suppress(PowerCutError):
            stored_campaigns.make(folder, text=grown)
        for file in folder.rglob("*"):
            if file.is_file() and file.stat().st_ino not in disk.safe:
                spoil(file, chance)
        seen.add(len(campaign.design()))
        assert query.read(folder).planned == len(campaign.design())
        assert campaign.attempts().keys() == {first.id}
        assert verification.verify(campaign).damaged == ()
        stored_campaigns.make(folder, text=grown)
        assert campaign.design() == campaigns.open_existing(tmp_path / "whole").design()
        assert campaign.attempts().keys() == {first.id}
        assert not [*folder.glob(".*")]
        assert verification.verify(campaign).notes == ()
    assert seen == {12, 18}
