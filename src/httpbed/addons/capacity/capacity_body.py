"""What ``httpbed capacity`` does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from httpbed.addons.capacity import capacity_records, session
from httpbed.addons.capacity.capacity_records import METRICS
from httpbed.addons.capacity.experiment import VERSIONS
from httpbed.addons.capacity.judgement import MARGIN, ConcurrencyLevel
from httpbed.addons.capacity.session import CapacityResult, CapacityTest
from httpbed.addons.pages import page_programs
from httpbed.bed.machine import backend, scratch
from httpbed.cli import experiment_argument, output_file
from httpbed.cli.echo import command_line, echo, say
from httpbed.cli.progress import Reporter
from httpbed.report.phrasing import DASH
from httpbed.report.terminal import Console


def run(
    *,
    browser: str,
    most: int,
    turns: int,
    keep: Path | None,
    link_backend: str | None,
    recipe_folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Measure how many page loads may run side by side on this machine."""
    output_file.require_new_folder("--keep", keep)
    catalog = experiment_argument.catalog(recipe_folders)
    page_programs.require(catalog, browser=browser)
    test = CapacityTest(browser, most, turns, backend.choose(link_backend), command_line())
    with _folder(keep) as folder, Reporter(test.loads(), {}) as reporter:
        result = session.run(test, catalog, folder, tell=reporter.report, say=say)
    record = _record(test, result)
    kept = capacity_records.write(browser, record)
    if as_json:
        echo(json.dumps(record, indent=1))
    else:
        _show(test, result, kept)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep:
        keep.mkdir(parents=True)
        yield keep
        return
    with scratch.temporary("capacity") as own:
        yield own


def _record(test: CapacityTest, found: CapacityResult) -> dict[str, Any]:
    programs = {one["name"]: one for one in found.made_by["programs"]}
    browser = programs[test.browser]
    return {
        "backend": test.backend,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "browser": {name: browser[name] for name in ("name", "version", "sha256")},
        "machine": found.made_by["host"],
        "undisturbed": {metric: found.undisturbed(metric) for metric in METRICS},
        "margin": MARGIN,
        "levels": [level.as_json() for level in found.levels],
    }


def _show(test: CapacityTest, result: CapacityResult, kept: Path) -> None:
    out = Console()
    table = Table(box=None, pad_edge=False)
    table.add_column("side by side", justify="right")
    for name in (
        "loads",
        "failed",
        "busy",
        "per minute",
        "Speed Index",
        "against alone",
        "page load time",
    ):
        table.add_column(name, justify="right")
    table.add_column("against alone", justify="right")
    for level in result.levels:
        table.add_row(*_cells(level))
    out.print(table)
    for metric in METRICS:
        name = metric.replace("_", " ")
        out.print(f"{name:<16}  {result.undisturbed(metric)} side by side leave it undisturbed")
    versions = " and ".join(VERSIONS)
    out.print(f"browser           {test.browser}; the worse result of HTTP/{versions} counts")
    out.print(f"record            {kept}", soft_wrap=True)


def _cells(level: ConcurrencyLevel) -> list[str]:
    cells = [f"{level.at_once}", f"{level.loads}", f"{level.failed}", f"{level.strained}"]
    cells.append(f"{level.loads_per_minute:.0f}")
    for metric in METRICS:
        worse = level.worsening.get(metric)
        ratio = f"{worse.ratio:.2f}x ({worse.low:.2f} .. {worse.high:.2f})" if worse else DASH
        median = level.medians.get(metric)
        cells += [DASH if median is None else f"{median:.2f} s", ratio]
    return cells
