"""Archives: campaigns as tables, read like any campaign."""

from __future__ import annotations

import errno
import gzip
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import stored_campaigns
from httpbed.addons.dataset import dataset_table
from httpbed.addons.verify import verification
from httpbed.base import digests
from httpbed.base.errors import ConfigError
from httpbed.experiment.trial import Trial
from httpbed.store import (
    archive,
    campaign,
    campaign_files,
    manifest_form,
    query,
    table_cache,
    tables,
)
from httpbed.store.archive import Merged
from httpbed.store.layout import ARCHIVED_DESIGN, DESIGN, MANIFEST

OTHER_SEED = stored_campaigns.SMALL.replace("seed = 20261121", "seed = 2")


def made(
    directory: Path, text: str = stored_campaigns.SMALL, *, of: range = range(12), s: float = 1.0
) -> Sequence[Trial]:
    trials = stored_campaigns.loaded(text).trials
    records = [stored_campaigns.record(trials[number], seconds=s) for number in of]
    stored_campaigns.make(directory, records, text)
    return trials


def merged(tmp_path: Path, *names: str) -> Merged:
    """Merge campaigns into ``tmp_path / "archive"``."""
    return archive.merge([tmp_path / name for name in names], tmp_path / "archive")


def times_s(directory: Path) -> dict[int, set[float]]:
    """Return the observed seconds of each block."""
    rows = query.read(directory).observations.to_pylist()
    return {block: {r["value"] for r in rows if r["block"] == block} for block in (1, 2, 3, 4)}


def test_an_archive_is_read_as_its_campaign(tmp_path: Path) -> None:
    """Tables, experiment and design are equal."""
    made(tmp_path / "one")
    merged(tmp_path, "one")
    ours, theirs = query.read(tmp_path / "archive"), query.read(tmp_path / "one")
    for table in ("trials", "observations", "checks"):
        assert getattr(ours, table).equals(getattr(theirs, table))
    assert ours.document == theirs.document
    assert ours.scenarios == theirs.scenarios
    assert ours.manifest["jobs"] == theirs.manifest["jobs"]
    assert ours.manifest["sources"][0]["blocks"] == {"1": 1, "2": 2}
    assert not (tmp_path / "archive" / "trials").exists()


def test_an_archive_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """It has the design as text, and an archive made of it has it compressed."""
    made(tmp_path / "one")
    merged(tmp_path, "one")
    folder = tmp_path / "archive"
    packed = folder / ARCHIVED_DESIGN
    (folder / DESIGN).write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    today = campaign.open_existing(tmp_path / "one")
    manifest = digests.unsealed((folder / MANIFEST).read_bytes())
    del manifest["files"][ARCHIVED_DESIGN]
    manifest["files"][DESIGN] = today.files()[DESIGN].model_dump()
    (folder / MANIFEST).write_bytes(digests.sealed(manifest))
    assert campaign.open_existing(folder).design() == today.design()
    assert not verification.verify(campaign.open_existing(folder)).damaged
    archive.merge([folder], tmp_path / "again")
    assert campaign.open_existing(tmp_path / "again").design() == today.design()
    assert not (tmp_path / "again" / DESIGN).exists()


@pytest.mark.parametrize(
    "spoil", [lambda _: b"no gzip", lambda content: content[:-9], lambda content: content]
)
def test_a_compressed_design_is_read_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[bytes], bytes]
) -> None:
    """Neither another file, nor a part of one, nor one that expands to more than any design."""
    made(tmp_path / "one")
    merged(tmp_path, "one")
    packed, manifest = (tmp_path / "archive" / name for name in (ARCHIVED_DESIGN, MANIFEST))
    packed.write_bytes(spoil(packed.read_bytes()))
    document = digests.unsealed(manifest.read_bytes())
    document["files"][ARCHIVED_DESIGN] = digests.of_bytes(packed.read_bytes()).model_dump()
    manifest.write_bytes(digests.sealed(document))
    monkeypatch.setattr(campaign_files, "MAX_EXPANDED_BYTES", 1000)
    with pytest.raises(ConfigError, match=re.escape(ARCHIVED_DESIGN)):
        campaign.open_existing(tmp_path / "archive").design()


def test_an_archive_without_its_design_names_the_file_that_an_archive_has(tmp_path: Path) -> None:
    """A campaign whose design is missing names the other one."""
    made(tmp_path / "one")
    merged(tmp_path, "one")
    for folder, name in (("archive", ARCHIVED_DESIGN), ("one", DESIGN)):
        (tmp_path / folder / name).unlink()
        with pytest.raises(ConfigError) as error:
            campaign.open_existing(tmp_path / folder)
        assert f" {name} " in str(error.value)


def test_an_archive_can_be_archived_again(tmp_path: Path) -> None:
    """Merging archives is merging their campaigns."""
    made(tmp_path / "one")
    merged(tmp_path, "one")
    archive.merge([tmp_path / "archive"], tmp_path / "again")
    assert times_s(tmp_path / "again") == times_s(tmp_path / "archive")


def test_each_block_comes_from_the_campaign_that_finished_most_of_it(tmp_path: Path) -> None:
    """A block is never mixed; the first named of equals provides it."""
    made(tmp_path / "first", of=range(8), s=1.0)
    made(tmp_path / "second", of=range(4, 12), s=2.0)
    assert merged(tmp_path, "first", "second").finished == 12
    assert times_s(tmp_path / "archive") == {1: {1.0}, 2: {2.0}, 3: set(), 4: set()}


def test_blocks_of_another_seed_are_numbered_on(tmp_path: Path) -> None:
    """They are other trials, whose ids are hashes of the new number, too."""
    made(tmp_path / "first", s=1.0)
    made(tmp_path / "second", OTHER_SEED, s=2.0)
    whole = merged(tmp_path, "first", "second")
    assert times_s(tmp_path / "archive") == {1: {1.0}, 2: {1.0}, 3: {2.0}, 4: {2.0}}
    rows = query.read(tmp_path / "archive").trials.to_pylist()
    assert {row["trial"] for row in rows} == {trial.id for trial in whole.design}
    assert len(rows) == 24


def test_each_block_keeps_the_facts_of_its_campaign(tmp_path: Path) -> None:
    """Its seed and machine; the archive has the blocks of both campaigns."""
    made(tmp_path / "first")
    made(tmp_path / "second", OTHER_SEED)
    merged(tmp_path, "first", "second")
    archive.merge([tmp_path / "archive"], tmp_path / "again")
    for name in ("archive", "again"):
        results = query.read(tmp_path / name)
        assert results.experiment.blocks == 4
        assert results.seeds == {1: 20261121, 2: 20261121, 3: 2, 4: 2}
        own = [manifest_form.source_of_block(results.manifest, block) for block in (1, 2, 3, 4)]
        assert own[0] is own[1]
        assert own[2] is own[3]
        assert own[0]["made_from"] != own[2]["made_from"]
    rows = dataset_table.make([query.read(tmp_path / "archive")]).rows
    assert [row["seed"] for row in rows if row["position"] == 1] == [20261121, 20261121, 2, 2]


def test_a_block_is_merged_once_however_it_is_numbered(tmp_path: Path) -> None:
    """An archive holds the blocks of the second campaign under other numbers."""
    made(tmp_path / "first", s=1.0)
    made(tmp_path / "second", OTHER_SEED, s=2.0)
    merged(tmp_path, "first", "second")
    again = archive.merge([tmp_path / "archive", tmp_path / "second"], tmp_path / "again")
    assert sorted(again.blocks) == [1, 2, 3, 4]
    assert times_s(tmp_path / "again") == times_s(tmp_path / "archive")


def test_campaigns_of_other_experiments_and_programs_are_refused(tmp_path: Path) -> None:
    """Every one, with the difference."""
    made(tmp_path / "first")
    made(tmp_path / "other", stored_campaigns.SMALL.replace('"1 MB"', '"2 MB"'))
    trials = stored_campaigns.loaded().trials
    manifest = stored_campaigns.manifest(sha256="f" * 64)
    with campaign.opened(tmp_path / "new", stored_campaigns.SMALL, trials, manifest):
        pass
    with pytest.raises(ConfigError) as refused:
        merged(tmp_path, "first", "other", "new")
    other, program = map(str, refused.value.mistakes)
    assert "is of another experiment than" in other
    assert "program curl is 8.23.0 (ffffffffffff)" in program
    assert not (tmp_path / "archive").exists()


def test_programs_of_another_experiment_are_not_listed(tmp_path: Path) -> None:
    """They follow from the experiment."""
    made(tmp_path / "first")
    other = stored_campaigns.SMALL.replace('"1 MB"', '"2 MB"')
    manifest = stored_campaigns.manifest(sha256="f" * 64)
    trials = stored_campaigns.loaded(other).trials
    with campaign.opened(tmp_path / "other", other, trials, manifest):
        pass
    with pytest.raises(ConfigError) as refused:
        merged(tmp_path, "first", "other")
    (mistake,) = map(str, refused.value.mistakes)
    assert "is of another experiment than" in mistake
    assert f"httpbed diff {tmp_path / 'first'} {tmp_path / 'other'}" in mistake


def test_an_archive_that_cannot_be_completed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the tables; an empty folder of the user stays, and a retry works."""
    made(tmp_path / "one")
    (tmp_path / "archive").mkdir()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(tables, "archive", full)
        with pytest.raises(OSError, match="No space"):
            merged(tmp_path, "one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "one"]
    assert not [*(tmp_path / "archive").iterdir()]
    merged(tmp_path, "one")
    assert (tmp_path / "archive" / "manifest.json").exists()


def test_a_damaged_campaign_is_refused(tmp_path: Path) -> None:
    """Its attempts would be missing without a word."""
    made(tmp_path / "one")
    next((tmp_path / "one").glob("trials/*/*/*/observations.jsonl")).write_text("{}")
    with pytest.raises(ConfigError, match=r"observations.jsonl has"):
        merged(tmp_path, "one")


@pytest.mark.parametrize("name", ["trials.parquet", "observations.parquet", "tables.json"])
def test_an_edited_archive_is_refused(tmp_path: Path, name: str) -> None:
    """There are no attempts from which its tables could be made again."""
    made(tmp_path / "one")
    merged(tmp_path, "one")
    file = tmp_path / "archive" / name
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(ConfigError, match=re.escape(name)):
        query.read(tmp_path / "archive")
    found = verification.verify(campaign.open_existing(tmp_path / "archive"))
    assert [damage.place for damage in found.damaged] == ["tables.json"]


def test_verification_of_an_archive_counts_its_trials(tmp_path: Path) -> None:
    """And says what it is."""
    made(tmp_path / "one", of=range(5))
    merged(tmp_path, "one")
    shutil.rmtree(tmp_path / "one")
    found = verification.verify(campaign.open_existing(tmp_path / "archive"))
    assert (found.planned, found.attempts, found.without_attempt) == (12, 5, 7)
    assert not found.damaged
    assert "archive" in found.notes[0]


def test_an_archive_names_no_folder_of_its_maker(tmp_path: Path) -> None:
    """Command lines keep the last part of a path, and the home folder is a tilde."""
    trials = stored_campaigns.loaded().trials
    manifest = stored_campaigns.manifest() | {
        "command": "httpbed run studies/a.toml --recipes=/srv/x/recipes -o /srv/y/one",
        "own": [str(Path.home() / "build" / "curl"), 1, None],
    }
    with campaign.opened(tmp_path / "one", stored_campaigns.SMALL, trials, manifest):
        pass
    merged(tmp_path, "one")
    kept = campaign.open_existing(tmp_path / "archive").manifest
    assert kept["command"] == "httpbed run studies/a.toml --recipes=recipes -o one"
    assert kept["own"] == ["~/build/curl", 1, None]
    assert kept["sources"][0]["command"] == kept["command"]


def test_an_archive_keeps_the_files_that_the_experiment_names(tmp_path: Path) -> None:
    """Such as packet-delivery traces, by their digests."""
    (tmp_path / "trace").write_text("1\n2\n")
    trials, manifest = stored_campaigns.loaded().trials, stored_campaigns.manifest()
    files = {"a" * 64: tmp_path / "trace"}
    with campaign.opened(tmp_path / "one", stored_campaigns.SMALL, trials, manifest, files):
        pass
    merged(tmp_path, "one")
    assert (tmp_path / "archive" / "links" / ("a" * 64)).read_text() == "1\n2\n"
    assert not verification.verify(campaign.open_existing(tmp_path / "archive")).damaged


def test_no_run_continues_an_archive(tmp_path: Path) -> None:
    """Its attempts are elsewhere."""
    trials = made(tmp_path / "one", of=range(5))
    merged(tmp_path, "one")
    text, manifest = stored_campaigns.SMALL, stored_campaigns.manifest()
    with (
        pytest.raises(ConfigError, match="holds an archive"),
        campaign.opened(tmp_path / "archive", text, trials, manifest),
    ):
        pass


def column(name: str, values: pa.Array) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, values)

    return changed


ROWS = 12
"""Of the observations of the small campaign."""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table.drop_columns("http_version"), "has no column 'http_version'"),
        (lambda table: table.drop_columns("metric"), "has no column 'metric'"),
        (
            column("value", pa.array(["fast"] * ROWS)),
            "its column 'value' has the type string, not double",
        ),
        (
            column("loss", pa.nulls(ROWS, pa.string())),
            "its column 'loss' has rows without a value",
        ),
    ],
)
def test_an_archive_with_other_columns_is_refused(
    tmp_path: Path, change: Callable[[pa.Table], pa.Table], reason: str
) -> None:
    """Its digests are right: another program, or a person, has written it."""
    made(tmp_path / "one")
    folder = tmp_path / "archive"
    archive.merge([tmp_path / "one"], folder)
    stored = table_cache.read(folder, tables.TABLES)
    assert stored is not None
    changed = {**stored.tables, "observations": change(stored.tables["observations"])}
    tables.archive(folder, changed)
    with pytest.raises(ConfigError) as refused:
        query.read(folder)
    (mistake,) = refused.value.mistakes
    assert str(mistake) == (
        f"{folder}/observations.parquet: {reason}; restore the tables and tables.json from a copy"
    )
