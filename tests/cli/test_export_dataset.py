"""``httpbed export --dataset``: CSV and Parquet agree with the dictionary beside them."""

from __future__ import annotations

import csv
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import stored_campaigns
from command_line import Command
from httpbed.addons.dataset import dataset_report as dictionary
from httpbed.addons.dataset.trial_columns import ARROW_TYPES

SCALARS = {
    "string": re.compile(r".*", re.DOTALL),
    "integer": re.compile(r"-?[0-9]+"),
    "number": re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?"),
    "boolean": re.compile(r"true|false"),
}
"""Text of each type by Table Schema 2.0, "Field Types", with the default lexical forms."""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Make a campaign of twelve trials, of which one failed."""
    trials = stored_campaigns.loaded().trials
    records = [stored_campaigns.record(trial) for trial in trials[1:]]
    records.append(stored_campaigns.record(trials[0], kind="failed"))
    stored_campaigns.make(tmp_path / "campaign", records)
    return tmp_path / "campaign"


@pytest.fixture
def folder(httpbed: Command, campaign: Path, tmp_path: Path) -> Path:
    code, out, err = httpbed("export", campaign, "--dataset", "-o", tmp_path / "dataset")
    assert (code, out) == (0, "")
    assert re.fullmatch(r"12 trials with \d+ columns: .*dataset\n", err)
    return tmp_path / "dataset"


def package(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "datapackage.json").read_text())
    return found


def cells(folder: Path) -> list[dict[str, str]]:
    """Return the rows of the CSV file."""
    with (folder / "trials.csv").open(newline="") as file:
        return [*csv.DictReader(file)]


def test_the_dictionary_names_exactly_the_columns_of_both_files(folder: Path) -> None:
    """In their order, with the types of the Parquet file."""
    table = pq.read_table(folder / "trials.parquet")
    for resource in package(folder)["resources"]:
        fields = resource["schema"]["fields"]
        assert [field["name"] for field in fields] == table.column_names == [*cells(folder)[0]]
        assert [ARROW_TYPES[field["type"]] for field in fields] == table.schema.types


def test_the_parquet_file_has_units_and_descriptions(folder: Path) -> None:
    """As metadata of its fields, so that it can be read alone."""
    schema = pq.read_schema(folder / "trials.parquet")
    for field in package(folder)["resources"][1]["schema"]["fields"]:
        metadata = schema.field(field["name"]).metadata
        assert metadata[b"description"].decode() == field["description"]
        assert metadata.get(b"unit", b"").decode() == field.get("unit", "")


def test_every_cell_of_the_csv_file_is_of_its_type(folder: Path) -> None:
    """By the lexical forms of Table Schema; missing values are empty."""
    kinds = {
        one["name"]: one["type"] for one in package(folder)["resources"][0]["schema"]["fields"]
    }
    rows = cells(folder)
    assert len(rows) == 12
    for row in rows:
        for name, text in row.items():
            assert not text or SCALARS[kinds[name]].fullmatch(text), name


def test_both_files_have_the_same_values(folder: Path) -> None:
    """Read by the types of the dictionary."""
    table = pq.read_table(folder / "trials.parquet")
    types = {field.name: field.type for field in table.schema}
    options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    read = pa.csv.read_csv(folder / "trials.csv", convert_options=options)
    assert read.to_pylist() == table.to_pylist()


def test_the_dictionary_follows_the_rules_of_data_packages(folder: Path) -> None:
    """Required properties of Data Package 2.0 and Table Schema 2.0.

    A package has resources; a resource has a name of letters, digits and ``._-`` and a path that
    does not leave the folder; a schema has fields with unique names and known types; the primary
    key names fields, and no two rows share it.
    """
    found = package(folder)
    assert found["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    assert re.fullmatch(r"[a-z0-9._-]+", found["name"])
    assert {one["path"] for one in found["resources"]} == {"trials.csv", "trials.parquet"}
    for resource in found["resources"]:
        content = (folder / resource["path"]).read_bytes()
        assert re.fullmatch(r"[a-z0-9._-]+", resource["name"])
        assert resource["bytes"] == len(content)
        assert resource["hash"] == f"sha256:{sha256(content).hexdigest()}"
        schema = resource["schema"]
        names = [one["name"] for one in schema["fields"]]
        assert len(set(names)) == len(names)
        assert all(one["type"] in SCALARS and one["description"] for one in schema["fields"])
        assert set(schema["primaryKey"]) <= set(names)
        assert schema["missingValues"] == [""]
    keys = [tuple(row[name] for name in ("campaign", "trial")) for row in cells(folder)]
    assert len(set(keys)) == 12


def test_descriptions_are_those_of_the_descriptors(folder: Path) -> None:
    """Of a metric, an impairment and a check."""
    about = {one["name"]: one for one in package(folder)["resources"][0]["schema"]["fields"]}
    assert about["request_time"]["unit"] == "s"
    assert about["request_time"]["source"] == "wire"
    assert "Liu et al. 2024" in about["request_time"]["description"]
    assert "One-way delay" in about["path_to_client_delay_s"]["description"]
    assert "smallest ping" in about["check_round_trip_time"]["description"]


def test_the_citation_names_the_data(folder: Path) -> None:
    """With its digest; the author is that of the repository's CITATION.cff."""
    found = package(folder)
    assert sha256((folder / "trials.parquet").read_bytes()).hexdigest() in found["citation"]
    assert found["citation"].startswith("12 trials of")
    assert dictionary.AUTHOR in (Path(__file__).parents[2] / "CITATION.cff").read_text()


def test_two_campaigns_make_one_dataset(httpbed: Command, campaign: Path, tmp_path: Path) -> None:
    """A second export replaces the files of the first."""
    trials = stored_campaigns.loaded().trials
    stored_campaigns.make(tmp_path / "other", [stored_campaigns.record(trials[0])])
    for directories, rows in (([campaign], 12), ([campaign, tmp_path / "other"], 13)):
        code, _, _ = httpbed("export", *directories, "--dataset", "-o", tmp_path / "dataset")
        assert code == 0
        assert len(cells(tmp_path / "dataset")) == rows
    assert {row["campaign"] for row in cells(tmp_path / "dataset")} == {"campaign", "other"}


def test_a_campaign_without_trials_has_no_dataset(httpbed: Command, tmp_path: Path) -> None:
    """And foreign files are not replaced."""
    stored_campaigns.make(tmp_path / "empty")
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "trials.csv").write_text("mine")
    code, _, err = httpbed("export", tmp_path / "empty", "--dataset", "-o", tmp_path / "dataset")
    assert code == 2
    assert "has no finished trial; run it first" in err
    assert "trials.csv: exists and is not the CSV file of a dataset" in err
    assert (tmp_path / "dataset" / "trials.csv").read_text() == "mine"
