"""Does ``httpbed explain`` find planted causes? Trials in virtual time, with a confusion matrix.

    make bench-explain      or: python -m bench.explain [--seeds 201-205] [--only loss] [--keep DIR]

Each plant runs once for each seed. The cause that was **in force** for longest counts, apart from
what every transfer has: set-up, path and client. With ``--twins`` each plant runs again without
its cause; the difference is what the cause cost, and is compared with what the division says.
T-RAT and Dapper (:mod:`bench.explain.baselines`) answer from the same packets of TCP.

Rules were changed by the plants of seeds below 200 alone; those from 201 on are the test.
``--dataset FILE`` writes a row for each plant: what was planted, what was answered, and shares. The
exit code is 1 if a plant is missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from functools import partial
from pathlib import Path

import pyarrow as pa
from bench.explain import trials
from bench.explain.judgement import Row, row, tables
from bench.explain.plants import plants
from pyarrow import parquet


def main() -> None:
    """Run the plants and print the tables."""
    words = _arguments()
    with tempfile.TemporaryDirectory(prefix="httpbed-bench-") as scratch:
        rows = _rows(words, Path(words.keep or scratch))
    if words.dataset:
        parquet.write_table(pa.Table.from_pylist(rows), words.dataset, compression="zstd")
    print("\n\n".join(tables(rows)))
    for one in rows:
        if not one["is_right"]:
            place = f"{one['planted']}, HTTP/{one['http_version']}, seed {one['seed']}"
            print(f"missed: {place}: {one['top']}", file=sys.stderr)
    sys.exit(0 if all(one["is_right"] for one in rows) else 1)


def _rows(words: argparse.Namespace, folder: Path) -> list[Row]:
    catalog = trials.catalog_of(folder)
    planted = [plant for seed in words.seeds for plant in plants(seed) if words.only in plant.cause]
    trials.run(planted, folder, catalog, words.jobs)
    if words.twins:
        twins = (plant.of_twin() for plant in planted if plant.twin)
        trials.run(twins, folder, catalog, words.jobs)
    judged = partial(row, folder=folder, catalog=catalog)
    with multiprocessing.get_context("fork").Pool(words.jobs) as pool:
        rows = pool.map(judged, planted, chunksize=1)
    # Columns that only some rows have are empty in the others.
    columns = dict.fromkeys(name for one in rows for name in one)
    return [{name: one.get(name) for name in columns} for one in rows]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seeds", type=parsed_seeds, default=range(201, 206), help="such as 201-205"
    )
    parser.add_argument("--only", default="", help="plants with this word")
    parser.add_argument("--keep", help="folder for the campaigns")
    parser.add_argument("--twins", action="store_true", help="run each also without its cause")
    parser.add_argument("--jobs", type=int, default=2, help="trials side by side")
    parser.add_argument("--dataset", help="Parquet file to write")
    return parser.parse_args()


def parsed_seeds(text: str) -> range:
    """Return the seeds of words such as ``201-205``."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    main()
