"""The machines that ran a campaign: a table of the report, and notes on what follows from them."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.addons.cluster import machines
from httpbed.addons.cluster.machines import MachineShare
from httpbed.report.document import (
    NoteMaker,
    Paragraph,
    ReportInput,
    Section,
    SectionMaker,
    plain_table,
)
from httpbed.report.phrasing import DASH, few, listed, ratio_interval, ratio_number, title
from httpbed.results.findings import Findings
from httpbed.store import machine_log
from httpbed.store.layout import MACHINE_LINES
from httpbed.store.results import Results

GIB = 2**30


def _section(source: ReportInput) -> Section | None:
    shares = machines.shares(source.results, source.findings)
    if not shares:
        return None
    caption = (
        f"Which machine ran which blocks. Effect: {title(source.findings.metric)} of its blocks"
        " against the median of all blocks, over all treatments, with the 95 % interval of its"
        " median."
    )
    explanation = Paragraph(
        "A block stays on one machine, so ratios within blocks do not depend on which machine is"
        " slow. Lost: blocks whose worker vanished; they ran again, and their attempts are invalid."
    )
    headers = [
        "machine",
        "blocks",
        "#lost",
        "#effect",
        "#interval",
        "processor",
        "#cores",
        "#memory",
        "kernel",
    ]
    table = plain_table("Machines", caption, headers, [*map(_row, shares)])
    return Section("machines", "Machines", (table, explanation), in_contents="")


def _row(share: MachineShare) -> tuple[str, ...]:
    host = share.host
    memory = host.get("memory_bytes")
    return (
        share.name,
        _ranges(share.blocks) or DASH,
        str(share.lost),
        DASH if share.effect is None else f"{ratio_number(share.effect)}x",
        ratio_interval(share.interval),
        str(host.get("cpu") or DASH),
        str(host.get("cores", DASH)),
        f"{memory / GIB:.1f} GiB" if memory else DASH,
        str(host.get("kernel") or DASH),
    )


def _ranges(numbers: tuple[int, ...]) -> str:
    """Write sorted numbers with ranges: ``1-4, 7``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(f"{one[0]}" if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in found)


def notes(source: ReportInput) -> Iterator[str]:
    """Yield what limits the findings because several machines ran the campaign."""
    results, findings = source.results, source.findings
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


SECTION = SectionMaker("machines", 140, _section)
NOTES = NoteMaker("machines", 60, notes)
