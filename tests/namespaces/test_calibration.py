"""The calibration passes what is sound, and catches every planted fault.

A fault is planted by changing the network that is about to be made; the cell's promise stays.
Nothing here judges how punctual a busy machine is: what must fail fails by far more than that.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.calibration import cell_runner, cells, evidence, session
from httpbed.addons.calibration.cell import DOWN, UP, Cell
from httpbed.addons.calibration.cell_runner import Bench
from httpbed.addons.calibration.session import Verdict
from httpbed.base.errors import BedError
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.toolbox import root_filesystem
from networks import remade

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.alone]

SEED = 3
LOSS = cells.loss_cell(0.05, 1000)
Tamper = Callable[[NetworkPlan], NetworkPlan]
Sound = Callable[[Cell], Verdict]


def honest(planned: NetworkPlan) -> NetworkPlan:
    """Plant nothing."""
    return planned


def configured(change: Callable[[dict[str, Any]], None]) -> Tamper:
    """Tell the emulator something else than what was asked."""

    def tamper(planned: NetworkPlan) -> NetworkPlan:
        config = copy.deepcopy(dict(planned.emulator_config))
        change(config)
        files = {**planned.processes.emulator.files, "link.json": json.dumps(config)}
        emulator = dataclasses.replace(planned.processes.emulator, files=files)
        told = dataclasses.replace(planned, emulator_config=config)
        return remade(told, emulator=emulator)

    return tamper


def way(config: dict[str, Any], direction: int) -> dict[str, Any]:
    """Find a direction in the emulator's configuration."""
    found: dict[str, Any] = config["links"][0]["directions"][direction]
    return found


def set_rate(config: dict[str, Any], direction: int, bit_s: int | None) -> None:
    """Set a constant rate, or none, as the configuration's version has it."""
    said = way(config, direction)
    if "rate_bit_s" in said:
        said["rate_bit_s"] = bit_s
    else:
        said["rate"] = None if bit_s is None else {"model": "constant", "bit_s": bit_s}


def verdict(cell: Cell, folder: Path, tamper: Tamper = honest) -> Verdict:
    """Run and judge one cell."""
    root = root_filesystem.ensure(root_filesystem.TOOLS, say=print).path
    bench = Bench(root, SEED, tamper=tamper)
    try:
        asyncio.run(cell_runner.run(cell, bench, folder / "cell"))
    except BedError as error:
        return session.broken(cell, str(error))
    return session.judge(cell, evidence.read(cell.sizes(), folder / "cell", {}, SEED))


def failed(found: Verdict) -> set[str]:
    """Name what failed."""
    return {finding.what for finding in found.findings if not finding.passed}


def caught(cell: Cell, folder: Path, tamper: Tamper) -> set[str]:
    """Name what failed of a cell with a fault in it, which must have run to its end.

    A bed that broke, or a claim that could not be put to the test, has caught nothing.
    """
    found = verdict(cell, folder, tamper)
    assert not found.broken
    return {
        finding.what
        for finding in found.findings
        if not finding.passed and finding.achieved is not None
    }


def exact(found: Verdict) -> set[str]:
    """Name what failed of that which no busy machine may change."""
    exactly = {finding.what for finding in found.findings if finding.tolerance == 0.0}
    return failed(found) & exactly


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """Return a function that runs a cell without a fault; each cell runs once."""
    verdicts: dict[str, Verdict] = {}

    def run(cell: Cell) -> Verdict:
        if cell.name not in verdicts:
            verdicts[cell.name] = verdict(cell, tmp_path_factory.mktemp("sound"))
        return verdicts[cell.name]

    return run


def test_a_sound_link_loses_the_packets_that_its_seed_draws(sound: Sound) -> None:
    """Each packet's loss in each direction follows the seed."""
    found = sound(LOSS)
    assert not found.broken
    assert not failed(found), found


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_sound_queue_takes_what_fits(sound: Sound, place: int) -> None:
    """The queue limit holds to the last packet and to the last byte."""
    found = sound(list(cells.queues())[place])
    assert not found.broken
    assert not failed(found), found


def test_a_sound_link_changes_no_packet(sound: Sound) -> None:
    """Order and content of the packets are unchanged."""
    found = sound(cells.floor())
    assert not found.broken
    assert not exact(found), found


def test_a_shaper_that_does_nothing_is_caught(tmp_path: Path) -> None:
    """The commonest fault: 10 Mbit/s were requested and no rate was set."""

    def forget(config: dict[str, Any]) -> None:
        for direction in (UP, DOWN):
            set_rate(config, direction, None)

    found = caught(cells.rate_cell(10**7, 0.5), tmp_path, configured(forget))
    assert {"rate up", "rate down"} <= found


@pytest.mark.slow
def test_a_bucket_far_larger_than_a_packet_is_caught(tmp_path: Path) -> None:
    """A bucket of 64 KiB has nearly the right mean rate and the wrong burst."""

    def pour(config: dict[str, Any]) -> None:
        bucket = {"model": "token_bucket", "bit_s": 10**7, "burst_bytes": 2**16}
        for direction in (UP, DOWN):
            way(config, direction)["rate"] = bucket

    found = caught(cells.rate_cell(10**7, 1.0), tmp_path, configured(pour))
    assert {"ahead of the rate up", "ahead of the rate down"} <= found


def test_a_rate_in_another_unit_is_caught(tmp_path: Path) -> None:
    """The rate of one direction is a hundred times too high."""

    def hurry(config: dict[str, Any]) -> None:
        set_rate(config, UP, 10**9)

    found = caught(cells.rate_cell(10**7, 0.5), tmp_path, configured(hurry))
    assert {"rate up", "ahead of the rate up"} <= found
    assert "ahead of the rate down" not in found


@pytest.mark.parametrize("direction", [UP, DOWN])
def test_a_delay_in_one_direction_only_is_caught(tmp_path: Path, direction: int) -> None:
    """The round trip alone would hide it, in either direction."""

    def forget(config: dict[str, Any]) -> None:
        way(config, direction)["delay_ns"] = 0

    found = caught(cells.delay_cell(25, 50), tmp_path, configured(forget))
    assert f"median delay {('up', 'down')[direction]}" in found


def test_offloads_left_on_are_caught(tmp_path: Path) -> None:
    """With segmentation offload, datagrams cross the link as one frame that no wire carries."""

    def forget(planned: NetworkPlan) -> NetworkPlan:
        kept = tuple(spec for spec in planned.processes.hosts if spec.argv[0] != "ethtool")
        return remade(planned, hosts=kept)

    found = caught(cells.offloads(), tmp_path, forget)
    assert "frames that no wire carries" in found


def test_another_loss_of_the_same_share_is_caught(tmp_path: Path) -> None:
    """Another key draws as many losses, of other packets."""

    def exchange(config: dict[str, Any]) -> None:
        way(config, UP)["loss"]["key"] = "1"

    found = caught(LOSS, tmp_path, configured(exchange))
    assert "loss up, packets amiss" in found
    assert "loss down, packets amiss" not in found


@pytest.mark.slow
def test_a_queue_of_another_length_is_caught(tmp_path: Path) -> None:
    """One additional packet is detected."""

    def lengthen(config: dict[str, Any]) -> None:
        queue = way(config, UP)["queue"]
        queue.get("limit", queue)["packets"] = 11

    found = caught(next(cells.queues()), tmp_path, configured(lengthen))
    assert "packets of a burst up" in found
