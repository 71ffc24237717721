"""The dictionary of a dataset as a Frictionless data package, with how to cite it.

Data Package 2.0 and Table Schema 2.0, https://datapackage.org/standard/. Beside the properties of
the standard each field has ``unit`` and ``source``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from httpbed.addons.dataset.dataset_table import TrialDataset
from httpbed.addons.dataset.trial_columns import DatasetColumn
from httpbed.report.phrasing import listed
from httpbed.store.results import Results

CSV, PARQUET = "trials.csv", "trials.parquet"
DICTIONARY = "datapackage.json"
PROFILES = "https://datapackage.org/profiles/2.0"
AUTHOR = "The httpbed maintainers"
KEY = ["campaign", "trial"]
"""Columns that identify a row."""
_FORMATS = {CSV: ("csv", "text/csv"), PARQUET: ("parquet", "application/vnd.apache.parquet")}


def package(
    dataset: TrialDataset, campaigns: Sequence[Results], files: Mapping[str, bytes]
) -> dict[str, Any]:
    """Return the data package for :func:`json.dumps`.

    Args:
        dataset: Its columns become the fields of the schema.
        campaigns: What the dataset was made from.
        files: The content of the CSV and the Parquet file, by their names.
    """
    schema = table_schema(dataset.columns)
    return {
        "$schema": f"{PROFILES}/datapackage.json",
        "name": "httpbed-trials",
        "title": f"Trials of {_experiments(campaigns)}",
        "description": _description(dataset, campaigns),
        "keywords": ["HTTP/1.1", "HTTP/2", "HTTP/3", "QUIC", "network emulation"],
        "contributors": [{"title": AUTHOR, "roles": ["tool"]}],
        "citation": citation(dataset, campaigns, files),
        "resources": [_resource(name, content, schema) for name, content in files.items()],
    }


def table_schema(columns: Sequence[DatasetColumn]) -> dict[str, Any]:
    """Return the Table Schema of these columns."""
    return {
        "$schema": f"{PROFILES}/tableschema.json",
        "fields": [_field(column) for column in columns],
        "missingValues": [""],
        "primaryKey": KEY,
    }


def _field(column: DatasetColumn) -> dict[str, str]:
    about = {
        "name": column.name,
        "type": column.kind,
        "description": column.description,
        "unit": column.unit,
        "source": column.source,
    }
    return {name: text for name, text in about.items() if text}


def _resource(name: str, content: bytes, schema: Mapping[str, Any]) -> dict[str, Any]:
    form, media = _FORMATS[name]
    return {
        "name": name.replace(".", "-"),
        "type": "table",
        "path": name,
        "format": form,
        "mediatype": media,
        **({"encoding": "utf-8"} if form == "csv" else {}),
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "schema": schema,
    }


def citation(
    dataset: TrialDataset, campaigns: Sequence[Results], files: Mapping[str, bytes]
) -> str:
    """Return the citation of a dataset: its experiments, days, programs and digest."""
    days = sorted({str(row["started"])[:10] for row in dataset.rows})
    when = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
    versions = sorted({str(campaign.manifest.get("httpbed", "unknown")) for campaign in campaigns})
    digest = hashlib.sha256(files[PARQUET]).hexdigest()
    return (
        f"{len(dataset.rows)} trials of {_experiments(campaigns)}, measured {when} with httpbed"
        f" {listed(versions)}. SHA-256 of {PARQUET}: {digest}."
    )


def _experiments(campaigns: Sequence[Results]) -> str:
    return listed(dict.fromkeys(campaign.experiment.name for campaign in campaigns))


def _description(dataset: TrialDataset, campaigns: Sequence[Results]) -> str:
    questions = " ".join(dict.fromkeys(campaign.experiment.question for campaign in campaigns))
    return (
        f"{len(dataset.rows)} trials, one per row: the last attempt at each. {questions} A trial"
        " with the outcome `invalid` has no metrics. A missing value is empty in CSV and null in"
        " Parquet. In CSV a text that begins like a formula has a leading apostrophe."
    )
