"""The machines that ran a campaign: a table of the report, and notes on what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from httpbed.addons.cluster import machine_log, machines
from httpbed.addons.cluster.machines import MachineShare
from httpbed.report.phrasing import DASH, listed, ratio_interval, ratio_number, title
from httpbed.report.remark import few
from httpbed.results.findings import Findings
from httpbed.store.layout import MACHINE_LINES
from httpbed.store.results import Results

GIB = 2**30


def section(results: Results, findings: Findings) -> dict[str, Any] | None:
    """Gather what the section on machines shows; None for a campaign of one machine."""
    shares = machines.shares(results, findings)
    if not shares:
        return None
    return {"metric": title(findings.metric), "rows": [_row(one) for one in shares]}


def _row(share: MachineShare) -> dict[str, str]:
    host = share.host
    memory = host.get("memory_bytes")
    return {
        "name": share.name,
        "blocks": _ranges(share.blocks) or DASH,
        "lost": str(share.lost),
        "effect": DASH if share.effect is None else f"{ratio_number(share.effect)}x",
        "interval": ratio_interval(share.interval),
        "cpu": str(host.get("cpu") or DASH),
        "cores": str(host.get("cores", DASH)),
        "memory": f"{memory / GIB:.1f} GiB" if memory else DASH,
        "kernel": str(host.get("kernel") or DASH),
    }


def _ranges(numbers: tuple[int, ...]) -> str:
    """Write sorted numbers with ranges: ``1-4, 7``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(f"{one[0]}" if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in found)


def notes(results: Results, findings: Findings) -> Iterator[str]:
    """Yield what limits the findings because several machines ran the campaign."""
    yield from _mixed(results)
    yield from _different(results, findings)
    if names := machine_log.uncalibrated(results.manifest.get(MACHINE_LINES, ())):
        yield (
            f"no link certificate on {listed(few(names, 'machines'))}: run httpbed calibrate there"
        )


def _mixed(results: Results) -> Iterator[str]:
    if mixed := machines.mixed_blocks(results):
        blocks = ", ".join(few([str(block) for block in mixed], "blocks"))
        yield (
            f"trials of one block ran on several machines (blocks: {blocks}): the machines'"
            " difference counts as one of the treatments; further blocks (replicates) stay on one"
        )


def _different(results: Results, findings: Findings) -> Iterator[str]:
    differing = [
        f"{one.name} {ratio_number(one.effect)}x ({ratio_interval(one.interval)})"
        for one in machines.shares(results, findings)
        if one.differs and one.effect is not None
    ]
    if differing:
        yield (
            f"machines differ in {title(findings.metric)}, against the median of all blocks:"
            f" {'; '.join(few(differing, 'machines'))}; ratios within blocks are free of that,"
            " medians over all blocks are not"
        )
