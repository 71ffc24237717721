"""Our token bucket beside the kernel's ``tbf``: of one burst both take the same packets."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from httpbed.addons.calibration import cell_runner, judgement
from httpbed.addons.calibration.cell_runner import Bench
from httpbed.addons.calibration.other_cells import BUCKET_LIMIT_BYTES, bucket_queue
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network.plan import NetworkPlan
from httpbed.bed.toolbox import toolbox
from networks import remade

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.alone]

SEED = 3
ATTEMPTS = 3
"""Of a burst that the machine stretched until a packet more may have left."""
PUBLISHED = "root handle 1: tbf rate 0.5mbit burst 32kb latency 70ms"
"""Zhang and Song's own words to tc."""


def honest(planned: NetworkPlan) -> NetworkPlan:
    """Change nothing."""
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
) -> tuple[list[int], judgement.Verdict]:
    """Send the burst; return the numbers that arrived, and the verdict by arithmetic."""
    root = toolbox.ensure(toolbox.TOOLS, say=print).path
    cell = bucket_queue()
    for attempt in range(ATTEMPTS):
        place = folder / f"{backend}-{attempt}"
        asyncio.run(cell_runner.run(cell, Bench(root, SEED, backend, tamper=tamper), place))
        seen = judgement.read(cell, place, {}, SEED)
        found = judgement.judge(cell, seen)
        if found.measured:
            (flow,) = cell.flows
            return seen.passages[flow.direction].numbers().tolist(), found
    pytest.fail("this machine stretches every burst")


def test_the_published_bucket_takes_what_the_kernels_takes(tmp_path: Path) -> None:
    """Both accept 22 packets by the burst and 24 by the queue."""
    ours, found = taken(tmp_path / "ours", "af_packet")
    assert found.passed, found
    kernels, found = taken(tmp_path / "kernel", "tbf")
    assert found.passed, found
    published, found = taken(tmp_path / "published", "tbf", as_published)
    assert found.passed, found
    assert ours == kernels == published == list(range(22 + 24))


@pytest.mark.slow
def test_the_latency_alone_is_another_network(tmp_path: Path) -> None:
    """4375 bytes hold two packets, so another limit than tbf's is detected."""
    kernels, found = taken(tmp_path, "tbf", with_limit(4375))
    assert kernels == list(range(22 + 2))
    assert not found.passed
