"""``httpbed export --dataset``: campaigns as CSV, Parquet and a dictionary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from httpbed.base.errors import Mistake, require_none
from httpbed.base.user_file import Kind
from httpbed.cli.exports import Export, ExportChoice

if TYPE_CHECKING:  # slow, and not for --help
    from httpbed.store.results import Results


def write(campaigns: Sequence[Results], choice: ExportChoice) -> Iterator[str]:
    """Write the dataset of some campaigns into a folder; yield a sentence about it.

    Raises:
        ConfigError: There is no finished trial, or files are in the way.
    """
    from httpbed.addons.dataset import dataset_report as dictionary
    from httpbed.addons.dataset import dataset_table
    from httpbed.base import disk
    from httpbed.cli import table_files

    folder = choice.folder
    _require(campaigns, folder)
    table = dataset_table.make(campaigns)
    files = {dictionary.CSV: "csv", dictionary.PARQUET: "parquet"}
    contents = {name: table_files.content(table.table, form) for name, form in files.items()}
    package = dictionary.package(table, campaigns, contents)
    contents[dictionary.DICTIONARY] = (json.dumps(package, indent=1) + "\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        disk.write_output(folder / name, content)
    trials = f"{len(table.rows)} trial{'s' * (len(table.rows) != 1)}"
    yield f"{trials} with {len(table.columns)} columns: {folder}"


def _require(campaigns: Sequence[Results], folder: Path) -> None:
    from httpbed.addons.dataset import dataset_report as dictionary
    from httpbed.cli import output_file, table_files

    kinds = {
        dictionary.CSV: Kind("the CSV file of a dataset", re.compile(rb'"campaign","experiment",')),
        dictionary.PARQUET: table_files.FILES["parquet"],
        dictionary.DICTIONARY: Kind(
            "the dictionary of a dataset", re.compile(rb'\{\s*"\$schema": "https://datapackage')
        ),
    }
    mistakes = [
        Mistake(str(results.directory), "has no finished trial", "run it first: httpbed run")
        for results in campaigns
        if not results.trials.num_rows
    ]
    mistakes += output_file.kind_mistakes(folder, kinds)
    require_none(mistakes)


EXPORT = Export(
    name="dataset",
    help="Write one row per trial of all DIRs into the folder of -o, with a data dictionary.",
    what="CSV and Parquet files",
    takes_several=True,
    write=write,
)
