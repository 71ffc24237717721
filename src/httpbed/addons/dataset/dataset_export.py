"""Campaigns as one dataset: a folder with CSV, Parquet, dictionary and citation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from httpbed.addons.dataset import dataset_report as dictionary
from httpbed.addons.dataset import table
from httpbed.base import whole_file
from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.user_file import Kind
from httpbed.cli import output_file, table_files
from httpbed.store.results import Results

KINDS = {
    dictionary.CSV: Kind("the CSV file of a dataset", re.compile(rb'"campaign","experiment",')),
    dictionary.PARQUET: table_files.FILES["parquet"],
    dictionary.DICTIONARY: Kind(
        "the dictionary of a dataset", re.compile(rb'\{\s*"\$schema": "https://datapackage')
    ),
    dictionary.CITATION: Kind(
        "the citation of a dataset", re.compile(rb"How to cite this dataset")
    ),
}
"""What ``httpbed export --dataset`` writes, by file name."""


def write(campaigns: Sequence[Results], folder: Path) -> str:
    """Write the dataset of some campaigns into a folder; return a sentence about it.

    Raises:
        ConfigError: There is no finished trial, or files are in the way.
    """
    _require(campaigns, folder)
    made = table.make(campaigns)
    files = {dictionary.CSV: "csv", dictionary.PARQUET: "parquet"}
    contents = {name: table_files.content(made.table, kind) for name, kind in files.items()}
    package = dictionary.package(made, campaigns, contents)
    texts = {
        dictionary.DICTIONARY: json.dumps(package, indent=1) + "\n",
        dictionary.CITATION: dictionary.citation(made, campaigns, contents),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (contents | _encoded(texts)).items():
        whole_file.write(folder / name, content)
    trials = f"{len(made.rows)} trial{'s' * (len(made.rows) != 1)}"
    return f"{trials} with {len(made.columns)} columns: {folder}"


def _encoded(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in texts.items()}


def _require(campaigns: Sequence[Results], folder: Path) -> None:
    output_file.require_folder(folder)
    mistakes = [
        Mistake(str(results.directory), "has no finished trial", "run it first: httpbed run")
        for results in campaigns
        if not results.trials.num_rows
    ]
    mistakes += output_file.kind_mistakes(folder, KINDS)
    if mistakes:
        raise ConfigError(mistakes)
