"""The cells are what an experiment could ask for, and cover what they say."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from httpbed.addons.calibration import cell_runner, cells, session
from httpbed.addons.calibration.cell import ABOUT_S, SCALES, Cell, Scale, about
from httpbed.addons.calibration.cells import BURST_PACKETS, all_cells
from httpbed.base.errors import BedError

GUIDE = Path(__file__).parents[3] / "docs/guides/calibration.md"


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_lasts_about_as_long_as_documented(scale: Scale) -> None:
    """One figure, in the command's help and in the guide: the sum of the cells."""
    lasts_s = sum(cell.lasts_s() + cells.OVERHEAD_S for cell in all_cells(scale))
    assert lasts_s == pytest.approx(ABOUT_S[scale], rel=0.1)
    option = "" if scale == "standard" else f" --scale {scale}"
    lines = [
        line
        for line in GUIDE.read_text().splitlines()
        if line.startswith("httpbed doctor calibrate")
    ]
    (told,) = (
        line for line in lines if line.split("#")[0].rstrip() == f"httpbed doctor calibrate{option}"
    )
    assert about(scale) in told


@pytest.mark.parametrize("scale", SCALES)
def test_every_cell_claims_something_and_sends_something(scale: Scale) -> None:
    """The first is the floor of all others."""
    tried = all_cells(scale)
    assert tried[0] == cells.floor()
    assert all(cell.claims and (cell.flows or cell.stream) for cell in tried)


def test_bursts_fit_the_smallest_receive_buffer() -> None:
    """A rootless emulator's takes about 180 packets."""
    assert BURST_PACKETS < 150
    assert cells.HEAD_START_FAST < 150


def test_without_the_first_cell_no_other_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The delay of the link without impairments is subtracted from that of all others."""
    ran = list[str]()

    async def breaks(cell: Cell, *_: object) -> None:
        ran.append(cell.name)
        raise BedError("the emulator ended")

    monkeypatch.setattr(cell_runner, "run", breaks)
    chosen = all_cells("smoke")[:3]
    bench = cast("Any", SimpleNamespace(seed=1))
    verdicts = asyncio.run(session.calibrate(chosen, bench, tell=lambda _: None))
    assert {*ran} == {chosen[0].name}
    assert [verdict.broken for verdict in verdicts] == [
        "the emulator ended",
        *[f"{chosen[0].name} was not measured"] * 2,
    ]
