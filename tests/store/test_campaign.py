"""A campaign's directory: only ever added to, whole attempts only, never mixed with another's.

``design.jsonl``: every trial comes back, and a document is written once for each treatment.
The log of a cluster's machines: appended to, read leniently.
What a run says of the files that its trials keep.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stored_campaigns
from httpbed.base import digests
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign import executor
from httpbed.experiment.trial import HandoverEvent, Trial
from httpbed.store import (
    attempts,
    campaign_files,
    campaign_folder,
    finished,
    layout,
    machine_log,
    query,
    resume,
)
from httpbed.store import campaign as campaigns


def refusal(directory: Path, **changes: str) -> list[Mistake]:
    """Return why a run would not work on the directory."""
    text = changes.pop("text", stored_campaigns.SMALL)
    made = stored_campaigns.loaded(text)
    with (
        pytest.raises(ConfigError) as caught,
        campaigns.opened(directory, text, made.trials, stored_campaigns.manifest(**changes)),
    ):
        pass
    return list(caught.value.mistakes)


def test_a_folder_that_cannot_be_made_is_refused_where_the_user_wrote_it() -> None:
    """The kernel makes the files of /proc; the reason is its own, for root or another user."""
    with pytest.raises(ConfigError) as caught:
        campaign_folder.require_writable(Path("/proc/nope/inner"))
    (mistake,) = caught.value.mistakes
    assert mistake.place == "/proc/nope/inner"
    assert mistake.reason.startswith("no file can be created there (")
    assert mistake.remedy == "choose another folder with -o"


def test_a_new_campaign_holds_its_experiment_design_and_manifest(tmp_path: Path) -> None:
    """The campaign holds all three unchanged before the first trial runs."""
    campaign = stored_campaigns.make(tmp_path / "new/campaign")
    assert campaign.experiment_text == stored_campaigns.SMALL
    assert campaign.design() == list(stored_campaigns.loaded().trials)
    assert campaign.manifest == stored_campaigns.manifest()
    assert campaign.attempts() == {}


def test_what_is_committed_is_read_back(tmp_path: Path) -> None:
    """Attempt and observations, in their place, nothing left under way."""
    trial = stored_campaigns.loaded().trials[0]
    record = stored_campaigns.record(trial)
    campaign = stored_campaigns.make(tmp_path, [record])
    assert list(campaign.records()) == [record]
    assert (tmp_path / "trials/0001" / trial.id / "1/trial.json").is_file()
    assert list((tmp_path / "unfinished").iterdir()) == []


def test_hand_overs_stand_beside_what_was_left(tmp_path: Path) -> None:
    """In a file of their own, where the client's network changes; else there is none."""
    first, second, *_ = stored_campaigns.loaded().trials
    moment = HandoverEvent(number=1, left="wifi", entered="cellular", at_s=1.5, verdict="migrated")
    moved = stored_campaigns.record(first).model_copy(update={"handovers": [moment]})
    never = stored_campaigns.record(second).model_copy(update={"handovers": []})
    campaign = stored_campaigns.make(tmp_path, [moved, never])
    assert {record.attempt.id: record.handovers for record in campaign.records()} == {
        first.id: [moment],
        second.id: [],
    }
    (said,) = json.loads((tmp_path / f"trials/0001/{first.id}/1/handovers.json").read_text())
    assert (said["from"], said["to"], said["validated_s"]) == ("wifi", "cellular", None)


def test_every_file_carries_its_schema(tmp_path: Path) -> None:
    """So that a later httpbed knows how to read it."""
    stored_campaigns.make(tmp_path, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    (folder,) = tmp_path.glob("trials/*/*/*")
    assert json.loads((folder / "trial.json").read_text())["schema"] == 3
    for line in (folder / "observations.jsonl").read_text().splitlines():
        assert json.loads(line)["schema"] == 1
        assert json.loads(line)["unit"] == "s"
    assert json.loads((tmp_path / "manifest.json").read_text())["schema"] == 1


def test_a_commit_is_one_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed just before it, an attempt is not there at all, and the next run clears it away."""
    campaign = stored_campaigns.make(tmp_path)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            stored_campaigns.keep(
                campaign, stored_campaigns.record(stored_campaigns.loaded().trials[0])
            )
    assert list(campaign.records()) == []
    assert executor.pending(finished.finished_attempts(campaign).last, campaign.design()) == [
        (trial, 1) for trial in campaign.design()
    ]
    assert campaign.clear_unfinished() == 1
    assert campaign.clear_unfinished() == 0


def test_what_is_left_is_the_design_minus_what_is_finished(tmp_path: Path) -> None:
    """In the design's order; an outcome that is data is final, an invalid attempt is not."""
    trials = stored_campaigns.loaded().trials
    kinds = ["completed", "failed", "timed out", "unsupported", "invalid"]
    records = [
        stored_campaigns.record(trial, 1, kind) for trial, kind in zip(trials, kinds, strict=False)
    ]
    campaign = stored_campaigns.make(
        tmp_path, [*records, stored_campaigns.record(trials[4], 2, "invalid")]
    )
    left = executor.pending(finished.finished_attempts(campaign).last, campaign.design())
    assert left == [(trials[4], 3), *((trial, 1) for trial in trials[5:])]


def test_files_of_others_among_the_trials_are_passed_over(tmp_path: Path) -> None:
    """Such as those that file managers leave everywhere."""
    record = stored_campaigns.record(stored_campaigns.loaded().trials[0])
    campaign = stored_campaigns.make(tmp_path, [record])
    (folder,) = tmp_path.glob("trials/*/*/*")
    for place in (folder.parent, folder.parent.parent, tmp_path / "trials"):
        (place / ".DS_Store").touch()
        (place / "notes").mkdir()
    assert list(campaign.records()) == [record]


def test_attempts_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """The tenth comes after the second, and the last one counts."""
    trial = stored_campaigns.loaded().trials[0]
    campaign = stored_campaigns.make(
        tmp_path, [stored_campaigns.record(trial, n, "invalid") for n in range(1, 12)]
    )
    assert [record.attempt.number for record in campaign.records()] == list(range(1, 12))
    assert campaign.attempts()[trial.id].number == 11


def test_a_campaign_is_resumed_by_the_same_run(tmp_path: Path) -> None:
    """Nothing of it is written again."""
    stored_campaigns.make(tmp_path, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    stored_campaigns.make(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"text": stored_campaigns.SMALL.replace("seed = 2", "seed = 3")},
            "another experiment: seed was 2",
        ),
        ({"sha256": "0" * 64}, "program curl was 8.23.0 (aaaaaaaaaaaa) and is now 8.23.0 (0000"),
        ({"library": "0" * 64}, "/usr/lib/libcurl.so.4 of curl was bbbb"),
    ],
)
def test_another_experiment_or_other_binaries_are_refused(
    tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    """Nothing is mixed; libraries are part of a program."""
    stored_campaigns.make(tmp_path)
    (mistake,) = refusal(tmp_path, **changes)
    assert reason in mistake.reason
    assert "-o" in mistake.remedy


def test_many_other_libraries_are_one_mistake() -> None:
    """After an upgrade all libraries differ, and the program's own difference must not drown."""

    def made_by(library: str, sha256: str) -> dict[str, Any]:
        libraries = {f"/usr/lib/lib{number}.so": library * 64 for number in range(20)}
        return {
            "programs": [
                {"name": "curl", "version": "8", "sha256": sha256 * 64, "libraries": libraries}
            ]
        }

    program, libraries = resume.conflicts(made_by("a", "b"), made_by("c", "d"))
    assert program == ("program curl", "8 (bbbbbbbbbbbb)", "8 (dddddddddddd)")
    assert libraries[0] == "the set of libraries of program curl"
    assert libraries[1].startswith("20 files (")
    assert libraries[1] != libraries[2]


def test_lists_that_only_one_manifest_has_are_not_compared() -> None:
    """Of programs in root filesystems, an earlier httpbed listed libraries, and not packages."""
    same = {"name": "curl", "version": "8", "sha256": "a" * 64}
    earlier = {"programs": [{**same, "libraries": {"/usr/lib/libc.so.6": "b" * 64}}]}
    now = {"programs": [{**same, "libraries": {}, "packages": {"libc6": "2.41 " + "c" * 64}}]}
    assert [*resume.conflicts(earlier, now)] == []
    later = {"programs": [{**same, "libraries": {}, "packages": {"libc6": "2.42 " + "d" * 64}}]}
    ((name, _, _),) = resume.conflicts(now, later)
    assert name == "libc6 of curl"
    (curl,) = resume.grown_manifest(earlier, now)["programs"]
    assert curl == {**same, **earlier["programs"][0], "packages": now["programs"][0]["packages"]}
    other = {"programs": [{**same, "sha256": "e" * 64, "libraries": {}}]}
    assert len([*resume.conflicts(earlier, other)]) == 1


def test_another_site_is_refused(tmp_path: Path) -> None:
    """It was drawn by another Pillow, say, and its trials have other names by that."""
    sites = [{"name": "2x1000", "source": "seed 1, Pillow 12", "sha256": "a" * 64}]
    read = stored_campaigns.loaded()
    with campaigns.opened(
        tmp_path,
        stored_campaigns.SMALL,
        read.trials,
        {**stored_campaigns.manifest(), "sites": sites},
    ):
        pass
    drawn = [trial.model_copy(update={"seed": trial.seed + 1}) for trial in read.trials]
    other = {**stored_campaigns.manifest(), "sites": [{**sites[0], "sha256": "b" * 64}]}
    with (
        pytest.raises(ConfigError, match=r"site 2x1000 was a+ and is now b+"),
        campaigns.opened(tmp_path, stored_campaigns.SMALL, drawn, other),
    ):
        pass


def test_a_second_run_is_refused_while_the_first_lasts(tmp_path: Path) -> None:
    """The kernel holds the lock, so a killed run leaves none behind."""
    made = stored_campaigns.loaded()
    with campaigns.opened(
        tmp_path, stored_campaigns.SMALL, made.trials, stored_campaigns.manifest()
    ):
        assert campaign_folder.is_locked(tmp_path)
        (mistake,) = refusal(tmp_path)
        assert "another run works on this campaign" in mistake.reason
    assert not campaign_folder.is_locked(tmp_path)
    stored_campaigns.make(tmp_path)


def test_a_lock_on_another_device_is_another_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of two file systems may have the same inode number."""
    made = stored_campaigns.loaded()
    listed = tmp_path / "locks"
    with campaigns.opened(
        tmp_path / "campaign", stored_campaigns.SMALL, made.trials, stored_campaigns.manifest()
    ):
        inode = (tmp_path / "campaign" / "lock").stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
        (line,) = (one for one in lines if " FLOCK " in one and f":{inode} " in one)
        (name,) = (word for word in line.split() if word.endswith(f":{inode}"))
        monkeypatch.setattr(campaign_folder, "_LOCKS", listed)
        for device, is_held in ((name.rpartition(":")[0], True), ("7f:7f", False)):
            listed.write_text(line.replace(name, f"{device}:{inode}") + "\n")
            assert campaign_folder.is_locked(tmp_path / "campaign") == is_held


@pytest.mark.parametrize(
    "name", ["thesis.tex", "manifest.json", "experiment.toml", "lock", ".hidden", "trials"]
)
def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    """Even where one of its files has a name that a campaign's might have."""
    (tmp_path / "thesis.tex").write_text("years")
    (tmp_path / name).write_text("years")
    (mistake,) = refusal(tmp_path)
    assert "holds other files than a campaign's" in mistake.reason
    assert {path.read_text() for path in tmp_path.iterdir()} == {"years"}


@pytest.mark.parametrize("made", [(), ("experiment.toml",), ("experiment.toml", "design.jsonl")])
def test_a_campaign_whose_beginning_broke_off_begins_again(
    tmp_path: Path, made: tuple[str, ...]
) -> None:
    """It is one when its manifest is there, which is written last."""
    for name in ("lock", ".manifest", *made):
        (tmp_path / name).write_text("")
    assert stored_campaigns.make(tmp_path).manifest == stored_campaigns.manifest()


def test_a_copy_of_a_campaign_is_a_campaign(tmp_path: Path) -> None:
    """Without its lock, which nobody copies, and to be resumed where it is."""
    stored_campaigns.make(
        tmp_path / "one", [stored_campaigns.record(stored_campaigns.loaded().trials[0])]
    )
    shutil.copytree(tmp_path / "one", tmp_path / "two", ignore=shutil.ignore_patterns("lock"))
    assert len(list(stored_campaigns.make(tmp_path / "two").records())) == 1


def test_a_campaign_at_a_scale_is_read_back_as_it_ran(tmp_path: Path) -> None:
    """With the blocks and the levels of the scale."""
    smoke = stored_campaigns.loaded(stored_campaigns.SCALED, "smoke")
    manifest = stored_campaigns.manifest(scale="smoke")
    with campaigns.opened(tmp_path, stored_campaigns.SCALED, smoke.trials, manifest):
        pass
    results = query.read(tmp_path)
    assert results.planned == 3
    assert results.experiment.replicates == 1
    assert results.document["factors"]["loss"] == ["2 %"]


@pytest.mark.parametrize(
    ("members", "mistakes"),
    [
        ({"scale": 0}, ["scale: must be 'smoke', 'standard', 'paper' or 'full', not 0"]),
        ({"host": {"cores": "two"}}, ["host.cores: must be a whole number, not 'two'"]),
        (
            {"programs": [{"version": 1}], "senders": None},
            [
                "programs[0].name: is missing",
                'programs[0].version: must be a text, not 1: write it in quotes, "1"',
                "programs[0].sha256: is missing",
                "programs[0].libraries: is missing",
                "senders: must be a list",
            ],
        ),
        ({"sources": [{"blocks": {"first": 1}}]}, ["sources[0].blocks.first.[key]"]),
    ],
)
def test_every_member_of_a_manifest_that_cannot_be_read_is_named(
    tmp_path: Path, members: dict[str, object], mistakes: list[str]
) -> None:
    """Its seal is right: another version, or another program, has written it."""
    stored_campaigns.make(tmp_path, [])
    document = json.loads((tmp_path / "manifest.json").read_text()) | members
    del document["sha256"]
    (tmp_path / "manifest.json").write_bytes(digests.sealed(document))
    with pytest.raises(ConfigError) as refused:
        _ = campaigns.open_existing(tmp_path).manifest
    told = [str(one).removeprefix(f"{tmp_path}/manifest.json: ") for one in refused.value.mistakes]
    assert len(told) == len(mistakes)
    for line, mistake in zip(told, mistakes, strict=True):
        assert line.startswith(mistake)
        assert line.endswith("restore it from a copy, or use the httpbed that wrote the campaign")


Words = dict[str, str]
LEVELS = st.dictionaries(st.sampled_from(["loss", "delay"]), st.sampled_from(["0", "1"]))
DOCUMENTS = st.dictionaries(st.sampled_from(["roles", "workload"]), st.sampled_from(["a", "b"]))


@given(st.lists(st.tuples(st.integers(1, 3), LEVELS, DOCUMENTS)))
def test_every_trial_is_read_as_it_was_written(drawn: list[tuple[int, Words, Words]]) -> None:
    """Also when trials of equal levels have different documents."""
    design = [_trial(block, levels, document) for block, levels, document in drawn]
    read = campaign_files.parse_design(campaign_files.design_text(design))
    assert read == design
    assert [trial.id for trial in read] == [trial.id for trial in design]


def test_a_document_is_written_once_for_each_treatment() -> None:
    """In the first line that has its levels."""
    design = [_trial(block, {"loss": loss}, {"a": loss}) for block in (1, 2) for loss in "01"]
    lines = campaign_files.design_text(design).splitlines()
    assert ['"document"' in line for line in lines] == [True, True, False, False]


def test_a_file_in_which_every_line_has_a_document_is_read() -> None:
    """Campaigns had such designs until 2026-11-23."""
    design = [_trial(block, {"loss": "0"}, {"a": "b"}) for block in (1, 2)]
    assert (
        campaign_files.parse_design("".join(f"{trial.model_dump_json()}\n" for trial in design))
        == design
    )


def _trial(block: int, levels: Words, document: Words) -> Trial:
    return Trial(
        block=block, position=1, levels=levels, document=document, seed=1, time_limit_s=1.0
    )


def test_lines_are_read_back_in_order(tmp_path: Path) -> None:
    """Each has the machine, the block, the ending, and what is known of the machine."""
    machine_log.append(tmp_path, "alpha", 1, machine_log.LOST, {})
    machine_log.append(tmp_path, "beta", 1, machine_log.RETURNED, {"host": {"cores": 2}})
    first, second = machine_log.read(tmp_path)
    assert (first["machine"], first["block"], first["ending"]) == ("alpha", 1, "lost")
    assert machine_log.hosts([first, second]) == {"beta": {"cores": 2}}


def test_torn_and_foreign_lines_are_left_out(tmp_path: Path) -> None:
    """A power cut may tear the last line; the next one is whole."""
    machine_log.append(tmp_path, "alpha", 1, machine_log.RETURNED, {})
    path = tmp_path / layout.MACHINES
    path.write_text(path.read_text() + '[]\n{"machine": 3}\n{"machine": "be')
    machine_log.append(tmp_path, "gamma", 2, machine_log.RETURNED, {})
    assert [one["machine"] for one in machine_log.read(tmp_path)] == ["alpha", "gamma"]


def test_a_campaign_of_one_machine_has_no_log(tmp_path: Path) -> None:
    """Nor has a folder with a link in its place."""
    assert machine_log.read(tmp_path) == []
    (tmp_path / layout.MACHINES).symlink_to("/etc/hostname")
    assert machine_log.read(tmp_path) == []


def test_attempts_with_each_kind_are_counted(tmp_path: Path) -> None:
    """With the size of all; a folder or another file of a program is no qlog."""
    for number, names in enumerate((["link.pcapng", "server/a.qlog"], ["client/b.sqlog"], []), 1):
        artifacts = tmp_path / f"trials/0001/{number:012x}/1/artifacts"
        for name in ["client/c.txt", *names]:
            (artifacts / name).parent.mkdir(parents=True, exist_ok=True)
            (artifacts / name).write_bytes(bytes(1000))
        (artifacts / "client/folder.qlog").mkdir()
    keys, packets, qlogs = attempts.kept_lines(tmp_path, {"qlog", "pcap", "keylog"})
    assert keys.startswith("kept: keylog of 0 of 3 attempts, 0 B, in ")
    assert packets.startswith("kept: pcap of 1 of 3 attempts, 1 kB, in ")
    assert packets.endswith("/trials/BLOCK/TRIAL/ATTEMPT/artifacts/link.pcapng")
    assert qlogs.startswith("kept: qlog of 2 of 3 attempts, 2 kB, in ")


def test_a_run_that_keeps_nothing_says_nothing(tmp_path: Path) -> None:
    """Also where there are no attempts."""
    assert list(attempts.kept_lines(tmp_path, frozenset())) == []
