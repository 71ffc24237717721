"""Tables that say something else than the trials: shown by nobody, found by verify."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import stored_campaigns
from command_line import Command
from httpbed.base import digests, folders
from httpbed.experiment.metric import METRICS
from httpbed.store import archive, query, table_cache
from httpbed.store.layout import INDEX, MANIFEST

TRIALS = stored_campaigns.loaded().trials
TABLES = ("trials", "observations", "checks", "attempts")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's key out of the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "campaign"
    stored_campaigns.make(folder, map(stored_campaigns.record, TRIALS))
    assert seconds(folder) == [1.0] * 12
    return folder


@pytest.fixture
def archived(campaign: Path, tmp_path: Path) -> Path:
    archive.merge([campaign], tmp_path / "archive")
    return tmp_path / "archive"


def seconds(directory: Path) -> list[float]:
    """Return the request times that a reader of the campaign sees."""
    return [row["value"] for row in query.read(directory).observations.to_pylist()]


def divide(directory: Path, by: float = 10.0) -> None:
    """Divide all values in the tables, and compute every digest again."""
    file = directory / "observations.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index("value")
    pq.write_table(table.set_column(place, "value", pc.divide(table["value"], by)), file)
    reseal(directory)


def reseal(directory: Path) -> None:
    """Compute the digests of the tables, and of the files that the manifest names, again."""
    index = digests.unsealed((directory / INDEX).read_bytes())
    for name in index["tables"]:
        index["tables"][name] = digests.of_bytes(
            (directory / f"{name}.parquet").read_bytes()
        ).sha256
    (directory / INDEX).write_bytes(digests.sealed(index))
    manifest = digests.unsealed((directory / MANIFEST).read_bytes())
    for name in manifest["files"]:
        manifest["files"][name] = digests.of_bytes((directory / name).read_bytes()).model_dump()
    (directory / MANIFEST).write_bytes(digests.sealed(manifest))


def test_divided_tables_are_shown_by_nobody_and_found(campaign: Path, httpbed: Command) -> None:
    """The trials are untouched, so they are what is shown."""
    assert httpbed("verify", campaign)[0] == 0
    divide(campaign)
    code, out, _ = httpbed("verify", campaign)
    assert (code, "observations.parquet" in out) == (1, True)
    assert seconds(campaign) == [1.0] * 12
    assert httpbed("verify", campaign)[0] == 0  # reading made them again


def test_verify_finds_what_the_users_own_programs_forge(campaign: Path, httpbed: Command) -> None:
    """They can read the user's key, so a reader believes them."""
    stored = table_cache.read(campaign, TABLES)
    rows = stored.tables["observations"].to_pylist()
    cheaper = pa.Table.from_pylist(
        [row | {"value": 0.1} for row in rows], stored.tables["observations"].schema
    )
    tables = {**stored.tables, "observations": cheaper}
    table_cache.write_own(
        campaign, table_cache.StoredTables(tables, stored.damaged, stored.made_from)
    )
    assert seconds(campaign) == [0.1] * 12
    code, out, _ = httpbed("verify", campaign)
    assert (code, "observations.parquet" in out) == (1, True)


@pytest.mark.parametrize("change", ["a row more", "a row less"])
def test_verify_counts_the_rows(campaign: Path, httpbed: Command, change: str) -> None:
    """Also those of attempts that the cache does not name."""
    file = campaign / "trials.parquet"
    table = pq.read_table(file)
    stranger = [row | {"trial": "0" * 12} for row in table.to_pylist()[:1]]
    added = pa.Table.from_pylist(stranger, table.schema)
    pq.write_table(table[1:] if change == "a row less" else pa.concat_tables([table, added]), file)
    reseal(campaign)
    code, out, _ = httpbed("verify", campaign)
    assert (code, "trials.parquet" in out) == (1, True)


def test_tables_of_another_user_are_made_again(campaign: Path) -> None:
    """Whoever sends a campaign sends its tables along."""
    divide(campaign)
    shutil.rmtree(folders.state())
    assert seconds(campaign) == [1.0] * 12


def test_a_growing_campaign_is_no_contradiction(campaign: Path, httpbed: Command) -> None:
    """The tables are older than an attempt; the next reader adds it."""
    (gone,) = (campaign / "trials/0001" / TRIALS[0].id).iterdir()
    shutil.rmtree(gone)
    assert httpbed("verify", campaign)[0] == 0


def test_verify_names_trials_that_are_gone(campaign: Path, httpbed: Command) -> None:
    """Tables without the trials from which they were made prove nothing."""
    shutil.rmtree(campaign / "trials")
    code, out, _ = httpbed("verify", campaign)
    assert code == 1
    assert out.startswith("trials/: is gone")


def test_an_archive_says_that_it_is_unsigned(archived: Path, httpbed: Command) -> None:
    """In verify, and in the report beside its numbers."""
    code, out, _ = httpbed("verify", archived)
    assert (code, "unsigned tables" in out) == (0, True)
    assert "unsigned tables" in httpbed("report", archived)[1]


def test_attempts_beside_an_archive_are_refused(
    archived: Path, campaign: Path, httpbed: Command
) -> None:
    """They would stand beside tables that were not made from them."""
    shutil.copytree(campaign / "trials", archived / "trials")
    code, _, err = httpbed("report", archived)
    assert (code, "trials/" in err) == (2, True)
    assert httpbed("verify", archived)[0] == 1


def test_an_archive_whose_manifest_does_not_cover_the_tables_is_named(
    archived: Path, httpbed: Command
) -> None:
    """Archives of before do not name them, so a signature of the manifest says nothing of them."""
    assert "does not cover" not in httpbed("verify", archived)[1]
    manifest = digests.unsealed((archived / MANIFEST).read_bytes())
    del manifest["files"][INDEX]
    (archived / MANIFEST).write_bytes(digests.sealed(manifest))
    code, out, _ = httpbed("verify", archived)
    assert (code, "manifest.json does not cover the tables" in out) == (0, True)


def test_tables_that_were_made_with_a_removed_addon_are_no_damage(
    campaign: Path, httpbed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit of a metric is the addon's, and no file of an attempt has it."""
    monkeypatch.delitem(METRICS, "request_time")
    code, out, _ = httpbed("verify", campaign)
    assert (code, "observations.parquet" in out) == (0, False)
