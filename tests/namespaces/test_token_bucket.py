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
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.toolbox import root_filesystem
from networks import remade

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.alone]

SEED = 3
ATTEMPTS = 3
"""Of a burst that the machine stretched until a packet more may have left."""
BUCKET_LIMIT_BYTES = 37_143
"""70 ms at the rate plus the burst, as tc converts a latency."""
BURST = Cell(
    name="token bucket's queue, counted as Ethernet",
    link={"profile": "zhang2023-500k", "up": {"rate": "1 Gbit/s"}},
    flows=(Flow(DOWN, (Train(60, 1475),)),),
    claims=(),
    settle_s=0.9,
)
"""Zhang and Song's published link under a burst. 22 packets empty the bucket but for 10 bytes."""
BY_BUCKET, BY_QUEUE = 22, 24
NEXT_LEAVES_S = 0.02
"""A little before the first queued packet leaves, and makes room: 24 ms after the burst began."""
PUBLISHED = "root handle 1: tbf rate 0.5mbit burst 32kb latency 70ms"
"""Zhang and Song's own words to tc."""


def honest(planned: NetworkPlan) -> NetworkPlan:
    return planned


def as_published(planned: NetworkPlan) -> NetworkPlan:
    """Give tc the paper's parameters instead of the computed ones."""
    words = f"qdisc add dev l0a {PUBLISHED}\n"
    *others, disciplines = planned.processes.hosts
    kept = [one for one in (disciplines.input or "").splitlines() if " dev l0a " not in one]
    text = "".join(f"{line}\n" for line in kept) + words
    hosts = (*others, dataclasses.replace(disciplines, input=text))
    return remade(planned, hosts=hosts)


def with_limit(limit_bytes: int) -> Callable[[NetworkPlan], NetworkPlan]:
    """Give tbf another limit than the one that was computed."""

    def tamper(planned: NetworkPlan) -> NetworkPlan:
        *others, disciplines = planned.processes.hosts
        text = (disciplines.input or "").replace(
            f"limit {BUCKET_LIMIT_BYTES}", f"limit {limit_bytes}"
        )
        assert text != disciplines.input
        hosts = (*others, dataclasses.replace(disciplines, input=text))
        return remade(planned, hosts=hosts)

    return tamper


def taken(
    folder: Path, backend: Backend, tamper: Callable[[NetworkPlan], NetworkPlan] = honest
) -> list[int]:
    """Send the burst; return the numbers that arrived."""
    root = root_filesystem.ensure(root_filesystem.TOOLS, say=print).path
    for attempt in range(ATTEMPTS):
        place = folder / f"{backend}-{attempt}"
        asyncio.run(cell_runner.run(BURST, Bench(root, SEED, backend, tamper=tamper), place))
        passage = evidence.read(BURST.sizes(), place, {}, SEED).passages[DOWN]
        sent, seen = len(passage.sent_s), len(passage.arrived_s)
        assert seen, f"{backend}: of {sent} packets none was seen; {sorted(place.rglob('*'))}"
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


def test_the_published_bucket_takes_what_the_kernels_takes(tmp_path: Path) -> None:
    """Both accept 22 packets by the burst and 24 by the queue."""
    ours = taken(tmp_path / "ours", "af_packet")
    kernels = taken(tmp_path / "kernel", "tbf")
    published = taken(tmp_path / "published", "tbf", as_published)
    assert ours == kernels == published == list(range(BY_BUCKET + BY_QUEUE))


@pytest.mark.slow
def test_the_latency_alone_is_another_network(tmp_path: Path) -> None:
    """4375 bytes hold two packets, so another limit than tbf's is detected."""
    assert taken(tmp_path, "tbf", with_limit(4375)) == list(range(BY_BUCKET + 2))
