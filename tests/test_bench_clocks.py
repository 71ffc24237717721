"""The grid on which virtual time is compared with real time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from bench.clocks import costs, grid, judged

from campaigns import Ending, Ends, campaign
from httpbed.base.clock import Clock
from httpbed.campaign import preparation
from httpbed.campaign.settings import DesignOptions
from httpbed.programs import catalog
from httpbed.store import query


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_the_experiments_have_every_cell_with_every_seed(clock: Clock) -> None:
    """Once by each clock, and no others."""
    every = set(grid.cells(grid.SIZES, grid.STACKS, grid.LOSSES, grid.DELAYS))
    found = [
        (grid.cell_of(trial.levels), trial.block)
        for layout in grid.LAYOUTS
        for trial in preparation.load(
            grid.experiment(layout), catalog.load(), options=DesignOptions(clock=clock)
        ).trials
    ]
    assert len(found) == len(set(found)) == len(every) * grid.BLOCKS
    assert {cell for cell, _ in found} == every


def test_cells_are_chosen_by_each_of_their_levels() -> None:
    """Small files come first, whatever the order of the words."""
    chosen = list(grid.cells(("1 MB", "100 kB"), ("H3 Envoy",), ("4 %",), grid.DELAYS))
    assert chosen == [
        (size, "H3 Envoy", "4 %", delay) for size in ("100 kB", "1 MB") for delay in grid.DELAYS
    ]


def test_the_tables_show_both_clocks_and_where_they_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One cell is the same, in one the handshake takes 12 ms more, and one did not run."""
    results = {}
    for clock in grid.CLOCKS:
        computing_s = 0.012 if clock == "real" else 0.0
        folder = judged.directory(tmp_path, "direct", clock)
        folder.mkdir()
        results[folder] = campaign(_ends(clock, computing_s), grid.experiment("direct"))
    monkeypatch.setattr(query, "read", results.__getitem__)
    with costs.noted(tmp_path, "virtual", CELLS[0], trials=10):
        pass
    judged.show(tmp_path, CELLS)
    printed = capsys.readouterr().out.splitlines()
    small = [line for line in printed if line.startswith("H2 cubic, 0 %, 0 ms, 100 kB")]
    (large,) = [line for line in printed if line.startswith("H2 cubic, 0 %, 0 ms, 10 MB")]
    assert " 0.893x" in small[0]
    assert " different " in small[0]
    differences = "12.0 ms 12.0 ms 0.0 ms 10 of 10 7.0% 7.0%"
    assert small[1].split()[-11:] == differences.split()
    assert " same " in large
    assert "1 virtual without a time" in large
    assert printed[-1] == "2 of 3 cells: 1 same, 1 different, 0 open"


CELLS = [(size, "H2 cubic", "0 %", "0 ms") for size in ("100 kB", "1 MB", "10 MB")]


def _ends(clock: str, computing_s: float) -> Ends:
    """Return how trials of HTTP/2 over a link without loss and delay end."""
    least_s = {"100 kB": 0.1, "10 MB": 8.4}

    def ends(levels: Mapping[str, str], block: int) -> Ending | None:
        if grid.cell_of(levels) not in CELLS or levels["size"] not in least_s:
            return None
        if (clock, levels["size"], block) == ("virtual", "10 MB", 3):
            return Ending({}, "failed", "no server")
        noise_s = 1e-4 * block
        same = {"packet_loss": 0.0, "wire_overhead": 0.07}
        handshake_s = 0.01 + computing_s
        whole_s = least_s[levels["size"]] + computing_s + noise_s
        return Ending({"request_time": whole_s, "handshake_time": handshake_s, **same})

    return ends
