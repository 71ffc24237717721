"""Tables: tidy, cached as Parquet as long as that is true, and readable by whoever may look."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stored_campaigns
from httpbed.base.errors import ConfigError
from httpbed.experiment.parser import RESERVED_FACTORS
from httpbed.results.findings import find
from httpbed.store import campaign as campaigns
from httpbed.store import query
from httpbed.store import tables as compact
from httpbed.store.results import CHECK_FIELDS, OBSERVATION_FIELDS, TRIAL_FIELDS

FACTORS = ["http_version", "loss"]


def seconds(directory: Path) -> list[float]:
    """Return the request times that a reader of the campaign sees."""
    return [row["value"] for row in query.read(directory).observations.to_pylist()]


def test_the_columns_of_every_table() -> None:
    """Those of the table, then one of text for each factor; also when there is no row."""
    tables = compact.tabulate([], FACTORS)
    fields = {"trials": TRIAL_FIELDS, "observations": OBSERVATION_FIELDS, "checks": CHECK_FIELDS}
    for name, table in tables.items():
        assert table.column_names == [*fields[name], *FACTORS]
        assert table.schema.field("loss").type == pa.string()


def test_a_row_has_its_trials_levels() -> None:
    """As the author wrote them, beside value and unit."""
    trial = stored_campaigns.loaded().trials[0]
    (row,) = compact.tabulate([stored_campaigns.record(trial)], FACTORS)["observations"].to_pylist()
    about = {"block": 1, "trial": trial.id, "attempt": 1, "outcome": "completed"}
    about |= {"source": "wire", "item": ""}
    assert row == about | {"metric": "request_time", "value": 1.0, "unit": "s", **trial.levels}


def test_the_tidy_table_is_in_the_order_of_the_design(tmp_path: Path) -> None:
    """One row per observation of a valid attempt; the invalid one before it is left out."""
    trials = stored_campaigns.loaded().trials
    records = [
        stored_campaigns.record(trial, seconds=float(trial.position)) for trial in reversed(trials)
    ]
    stored_campaigns.make(
        tmp_path, [*records[:-1], stored_campaigns.record(trials[0], 1, "invalid", 99.0)]
    )
    tidy = query.tidy(query.read(tmp_path))
    about = ["block", "position", "trial", "attempt", "outcome"]
    assert tidy.column_names == [*about, *FACTORS, "metric", "item", "value", "unit", "source"]
    rows = tidy.to_pylist()
    assert [(row["block"], row["position"]) for row in rows] == [
        (trial.block, trial.position) for trial in trials[1:]
    ]
    assert all(row["value"] == row["position"] for row in rows)


def test_the_tidy_table_has_texts_as_dictionaries(tmp_path: Path) -> None:
    """With 100,000 trials, plain texts would take more than a gigabyte."""
    stored_campaigns.make(
        tmp_path, [stored_campaigns.record(trial) for trial in stored_campaigns.loaded().trials]
    )
    tidy = query.tidy(query.read(tmp_path))
    texts = [one.type for one in tidy.schema if one.name in {"trial", "metric", *FACTORS}]
    assert {pa.types.is_dictionary(text) for text in texts} == {True}


def test_the_invalid_attempt_stays_in_the_full_tables(tmp_path: Path) -> None:
    """It is kept aside, never silent."""
    stored_campaigns.make(
        tmp_path, [stored_campaigns.record(stored_campaigns.loaded().trials[0], 1, "invalid")]
    )
    results = query.read(tmp_path)
    assert results.trials.column("outcome").to_pylist() == ["invalid"]
    assert results.checks.column("passed").to_pylist() == [False]
    assert results.planned == 12


def test_the_cache_is_made_anew_when_a_torn_attempt_was_replaced(tmp_path: Path) -> None:
    """Its place has the same name, but it is another attempt."""
    trial = stored_campaigns.loaded().trials[0]
    campaign = stored_campaigns.make(tmp_path, [stored_campaigns.record(trial)])
    (file,) = tmp_path.glob("trials/*/*/*/trial.json")
    file.write_bytes(b"")
    assert seconds(tmp_path) == []
    stored_campaigns.keep(campaign, stored_campaigns.record(trial, seconds=3.0))
    assert seconds(tmp_path) == [3.0]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_campaign_that_cannot_be_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A read-only filesystem refuses to remove files, too, even those that are not there."""
    stored_campaigns.make(tmp_path, [stored_campaigns.record(stored_campaigns.loaded().trials[0])])

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(pq, "write_table", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    assert seconds(tmp_path) == [1.0]


def test_a_reader_knows_of_a_trace_what_its_trials_know(tmp_path: Path) -> None:
    """The experiment only names the file; the trials' documents have its digest and mean rate."""
    trace = tmp_path / "cell.trace"
    trace.write_text("1\n2\n")
    text = stored_campaigns.SMALL.replace('rate = "10 Mbit/s"', f'rate = {{ trace = "{trace}" }}')
    stored_campaigns.make(tmp_path / "campaign", text=text)
    results = query.read(tmp_path / "campaign")
    assert {row.ceiling_bit_s for _, row in find(results).rows()} == {12_032_000}


def published(directory: Path) -> Path:
    """Make a campaign of twelve trials of which only the tables are left."""
    records = [stored_campaigns.record(trial) for trial in stored_campaigns.loaded().trials]
    stored_campaigns.make(directory, records)
    query.read(directory)
    shutil.rmtree(directory / "trials")
    return directory


def test_tables_whose_trials_are_gone_are_refused_and_kept(tmp_path: Path) -> None:
    """Nothing shows what they were made from: only an archive says that it has no attempts."""
    directory = published(tmp_path / "results")
    before = {file.name: file.read_bytes() for file in directory.glob("*.parquet")}
    assert len(before) == 4
    with pytest.raises(ConfigError, match="no trials/"):
        query.read(directory)
    assert {file.name: file.read_bytes() for file in directory.glob("*.parquet")} == before


def test_a_campaign_without_trials_yet_becomes_readable(tmp_path: Path) -> None:
    """Its first tables are empty, and do not count once there are trials."""
    stored_campaigns.make(tmp_path)
    shutil.rmtree(tmp_path / "trials", ignore_errors=True)
    assert seconds(tmp_path) == []
    trial = stored_campaigns.loaded().trials[0]
    stored_campaigns.keep(campaigns.open_existing(tmp_path), stored_campaigns.record(trial))
    assert seconds(tmp_path) == [1.0]


def test_no_factor_has_the_name_of_a_column() -> None:
    """Each table has the factors beside its own columns."""
    assert {*TRIAL_FIELDS, *OBSERVATION_FIELDS, *CHECK_FIELDS} == RESERVED_FACTORS
