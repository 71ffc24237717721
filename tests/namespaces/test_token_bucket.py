"""Our token bucket beside the kernel's ``tbf``: of one burst both take the same packets."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from httpbed.addons.calibration import cell_runner, evidence
from httpbed.addons.calibration.cell import DOWN, Cell, Flow, Train
from httpbed.addons.calibration.cell_runner import Bench
from httpbed.addons.calibration.evidence import Passage
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.sandbox.sandbox_spec import TOOLS, ProcessSpec
from httpbed.bed.toolbox import root_filesystem
from networks import remade

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.alone]

SEED = 3
ATTEMPTS = 3
"""Of a burst that the machine stretched until a packet more may have left."""
BURST = Cell(
    name="token bucket's queue, counted as Ethernet",
    link={"profile": "zhang2023-500k", "up": {"rate": "1 Gbit/s"}},
    flows=(Flow(DOWN, (Train(60, 1475),)),),
    claims=(),
    settle_s=0.9,
)
"""Zhang and Song's published link under a burst. 22 packets empty the bucket but for 10 bytes."""
UNSHAPED = dataclasses.replace(BURST, link={})
"""The same burst over a link that passes every packet on at once."""
BY_BUCKET, BY_QUEUE = 22, 24
NEXT_LEAVES_S = 0.02
"""A little before the first queued packet leaves, and makes room: 24 ms after the burst began."""
PUBLISHED = "root handle 1: tbf rate 0.5mbit burst 32kb latency 70ms"
"""Zhang and Song's own words to tc."""


def over_the_kernel(words: str) -> Callable[[NetworkPlan], NetworkPlan]:
    """Have the kernel's discipline shape what the emulator sends to the client."""
    line = ("tc", "qdisc", "add", "dev", "l0a", *words.split())

    def tamper(planned: NetworkPlan) -> NetworkPlan:
        discipline = ProcessSpec(line, root=TOOLS, stderr="network-errors.txt")
        return remade(planned, hosts=(*planned.processes.hosts, discipline))

    return tamper


def taken(folder: Path, cell: Cell, bench: Bench) -> list[int]:
    """Send the burst; return the numbers that arrived."""
    for attempt in range(ATTEMPTS):
        place = folder / f"attempt-{attempt}"
        asyncio.run(cell_runner.run(cell, bench, place))
        passage = evidence.read(cell.sizes(), place, {}, SEED).passages[DOWN]
        sent, seen = len(passage.sent_s), len(passage.arrived_s)
        assert seen, f"of {sent} packets none was seen; {sorted(place.rglob('*'))}"
        if not stretched(passage):
            return [int(number) for number in passage.numbers()]
    pytest.fail("this machine stretches every burst")


def stretched(passage: Passage) -> bool:
    """Return whether sender or kernel were so late that a queued packet may have left meanwhile.

    A kernel that forwards late shows in the arrivals of packets that the bucket passes at once.
    """
    _, delays_s = passage.delays_s()
    reached_s = max(passage.done_s[-1], passage.sent_s[0] + max(delays_s[:BY_BUCKET], default=0))
    return bool(reached_s - passage.sent_s[0] > NEXT_LEAVES_S)


@pytest.fixture(scope="module")
def root() -> Path:
    return root_filesystem.ensure(root_filesystem.TOOLS, say=print).path


def test_the_published_bucket_takes_what_the_kernels_takes(tmp_path: Path, root: Path) -> None:
    """Both accept 22 packets by the burst and 24 by the queue."""
    kernels = Bench(root, SEED, tamper=over_the_kernel(PUBLISHED))
    expected = list(range(BY_BUCKET + BY_QUEUE))
    assert taken(tmp_path / "ours", BURST, Bench(root, SEED)) == expected
    assert taken(tmp_path / "kernel", UNSHAPED, kernels) == expected


@pytest.mark.slow
def test_a_kernels_bucket_with_another_limit_is_told_apart(tmp_path: Path, root: Path) -> None:
    """4375 bytes, which the latency alone makes, hold two packets."""
    words = PUBLISHED.replace("latency 70ms", "limit 4375")
    kernels = Bench(root, SEED, tamper=over_the_kernel(words))
    assert taken(tmp_path, UNSHAPED, kernels) == list(range(BY_BUCKET + 2))
