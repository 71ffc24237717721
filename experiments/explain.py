"""Explains the published cells in which HTTP/2 and HTTP/3 differ: ``results/explained``.

An archive has only tables, so two trials of a cell run again, in virtual time and of one block:
``httpbed explain --why``. A transfer is lifted until the slower one is as fast as the other; a page
gets the critical path of the metric nearest to its study's. Cells are kept one by one, so the
command may be ended and started again. When the page is written, a kept cell that differs no longer
is dropped, and the others get the medians that are published then::

    nice python experiments/explain.py WORK [--only STUDY] [--most CELLS]
    python experiments/explain.py --page   # writes results/explained/README.md from what is kept
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any

from httpbed.addons.pages.load.critical_path import goal_of
from httpbed.results.sample import samples, scenario
from httpbed.store import query

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import results_explained  # noqa: E402

KEPT = ROOT / "results" / results_explained.CELLS
PAGE = KEPT.with_name("README.md")
STUDIES = (
    "liu2024/single-stream",
    "liu2024/multi-stream",
    "ranjan2019/pages",
    "liu2024/pages",
    "biswal2016/sites",
    "biswal2016/networks",
    "biswal2016/grid",
)
"""Those of liu2024/migration are not divided: their client has two links."""
DIFFERS = 0.1
"""Relative difference of the medians from which on a cell is explained."""
MIN_LOADS = 5
"""Of each version, for a cell to count: blocks share their losses, so one load says little."""
PROGRAMS = ("client", "stack", "http_version")
"""Factors that choose the HTTP version."""
TIME_LIMIT_S = 3600


@dataclass(frozen=True)
class Side:
    """A cell's treatment of one HTTP version."""

    levels: Mapping[str, str]
    server: str
    median_s: float
    n: int

    @property
    def words(self) -> str:
        """The treatment as ``--why`` takes it."""
        return ",".join(f"{name}={level}" for name, level in self.levels.items())


@dataclass(frozen=True)
class Cell:
    """A published condition in which the two differ."""

    study: str
    http2: Side
    http3: Side

    @property
    def ratio(self) -> float:
        """HTTP/3's median over HTTP/2's."""
        return self.http3.median_s / self.http2.median_s

    @property
    def published(self) -> dict[str, Any]:
        """Its medians, as they are kept."""
        return {
            "http2_s": self.http2.median_s,
            "http3_s": self.http3.median_s,
            "n": [self.http2.n, self.http3.n],
        }

    @property
    def key(self) -> str:
        """Its name among the kept ones."""
        return f"{self.study}: {self.http2.words} | {self.http3.words}"


def archive(study: str) -> Path:
    """Return the archive that most claims of a campaign are judged by: in virtual time, if any."""
    virtual = ROOT / "results/virtual" / study
    return virtual if virtual.exists() else ROOT / "results" / study


def cells(study: str) -> Iterator[Cell]:
    """Yield the cells of a published campaign that differ enough, each by one server.

    That is the first by which the cell was loaded: other servers are arms.
    """
    results = query.read(archive(study))
    is_of_pages = results.document["workload"]["kind"] == "page"
    metric = goal_of(results.experiment.report.metric) if is_of_pages else "request_time"
    groups = defaultdict[tuple[str, ...], dict[str, Side]](dict)
    for sample in samples(results, metric).values():
        values = [*sample.observed.values()]
        loaded = scenario(results, sample.levels)
        version, server = loaded.hops()[0].http_version, loaded.roles.server.implementation
        same = tuple(level for name, level in sample.levels.items() if name not in PROGRAMS)
        if len(values) >= MIN_LOADS and version != "1.1":
            sides = groups[same]
            if all(side.server == server for side in sides.values()):
                sides.setdefault(version, Side(sample.levels, server, median(values), len(values)))
    for sides in groups.values():
        if len(sides) == 2:
            cell = Cell(study, sides["2"], sides["3"])
            if abs(cell.ratio - 1) > DIFFERS:
                yield cell


def in_turn(studies: Iterable[Iterable[Cell]]) -> Iterator[Cell]:
    """Yield a cell of each campaign in turn, in an order that says nothing of its values.

    So the cells that ran are a sample of each campaign's, whenever the command is ended.
    """
    shuffled = [sorted(some, key=lambda one: sha256(one.key.encode()).digest()) for some in studies]
    for turn in zip_longest(*shuffled):
        yield from filter(None, turn)


def explain(cell: Cell, work: Path) -> dict[str, Any]:
    """Run the two trials again, and return what explains their difference."""
    place = work / cell.study.replace("/", "-")
    words = ["--why", cell.http3.words, cell.http2.words, "--json", "--clock", "virtual"]
    files = str(ROOT / "experiments" / cell.study.partition("/")[0])
    httpbed, study = Path(sys.executable).with_name("httpbed"), archive(cell.study)
    command = [str(httpbed), "explain", str(study), *words]
    done = subprocess.run(
        [*command, "-o", str(place), "--files", files],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    row = {
        "key": cell.key,
        "study": cell.study,
        "http2": dict(cell.http2.levels),
        "http3": dict(cell.http3.levels),
        "published": cell.published,
    }
    if done.returncode:
        return {**row, "failed": done.stderr.strip().splitlines()[-1].replace(f"{ROOT}/", "")[:300]}
    found = json.loads(done.stdout)
    return {**row, **(_of_loads(found) if "loads" in found else _of_transfers(found))}


def _of_transfers(found: Mapping[str, Any]) -> dict[str, Any]:
    difference = found["difference"]
    if difference is None:
        reasons = [one["why"] for one in found["not_explained"]]
        return {"failed": "; ".join(reasons) or "the two took the same time again"}
    slow = next(o for o in found["explained"] if o["trial"] == difference["slow"][1])
    return {
        "again_s": _seconds(found["explained"]),
        "difference_s": difference["seconds"],
        "causes": difference["causes"],
        **_lifted(slow["ladder"]),
        "held": slow["held"]["knob"] if slow["held"] else None,
    }


def _lifted(ladder: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what was lifted, and the time once all that helped was in place."""
    names = ("cause", "lifted", "confirmed", "kept", "saved_s")
    kept = [rung for rung in ladder if rung["kept"]]
    return {
        "lifts": [{name: rung[name] for name in names} for rung in ladder],
        "lifted_s": kept[-1]["after"]["seconds"] if kept else None,
    }


def _of_loads(found: Mapping[str, Any]) -> dict[str, Any]:
    difference = found["difference_by_cause"]
    if difference is None:
        why = "the two took the same time again, or the packets of one show no path"
        return {"failed": why}
    slow = next(one for one in found["loads"] if one["trial"] == difference["slow"][1])
    held = slow["held"]
    return {
        "again_s": _seconds(found["loads"]),
        "metric": found["loads"][0]["metric"],
        "difference_s": difference["seconds"],
        "causes": difference["causes"],
        "held": held["knob"] if held else None,
        "held_s": held["idle_s"] if held else 0.0,
        **_lifted(slow["ladder"]),
    }


def _seconds(trials: list[dict[str, Any]]) -> list[float]:
    """Return the times of the repeated trials, HTTP/3's first, as they were asked for."""
    return [trial["seconds"] for trial in trials]


def main() -> int:
    """Explain cells that are not explained yet, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", nargs="?", type=Path, help="folder for the repeated trials")
    parser.add_argument("--only", choices=STUDIES, help="cells of this campaign alone")
    parser.add_argument("--most", type=int, default=10**6, help="number of cells")
    parser.add_argument("--page", action="store_true", help="write the page, and run nothing")
    words = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    found = {study: [*cells(study)] for study in STUDIES if words.only in {None, study}}
    if not words.page:
        if words.work is None:
            parser.error("name a folder for the repeated trials, or give --page")
        known = {one["key"] for one in results_explained.read(KEPT)}
        left = [one for one in in_turn(found.values()) if one.key not in known]
        for cell in left[: words.most]:
            print(cell.key, flush=True)
            row = explain(cell, words.work)
            with KEPT.open("a") as file:
                file.write(json.dumps(row, sort_keys=True) + "\n")
    if words.only is None:
        differing = {cell.key: cell for some in found.values() for cell in some}
        rows = [
            {**one, "published": differing[one["key"]].published}
            for one in results_explained.read(KEPT)
            if one["key"] in differing
        ]
        KEPT.write_text("".join(json.dumps(one, sort_keys=True) + "\n" for one in rows))
        PAGE.write_text(
            results_explained.page(rows, {study: len(some) for study, some in found.items()})
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
