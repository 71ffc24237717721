"""Which machines ran the blocks of a campaign, and how much they differ.

A block stays on one machine, so what makes a machine slow is the same for all treatments of the
block, and ratios within blocks are free of it. Here the machines are compared with each other. The
**effect** of a block is the geometric mean, over its treatments, of the value divided by the
treatment's median over all blocks. A machine's effect is the median of the effects of its blocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from httpbed.report.document import (
    NoteMaker,
    Paragraph,
    ReportInput,
    Section,
    SectionMaker,
    plain_table,
)
from httpbed.report.phrasing import DASH, few, listed, ratio_interval, ratio_number, title
from httpbed.results.comparison import EQUAL_MARGIN
from httpbed.results.estimate import Interval, median_interval
from httpbed.results.findings import Findings
from httpbed.results.sample import Sample
from httpbed.store import machine_log, manifest_form, resume
from httpbed.store.layout import MACHINE_LINES, SOURCES
from httpbed.store.results import Results


@dataclass(frozen=True)
class MachineShare:
    """What one machine ran of a campaign."""

    name: str
    blocks: tuple[int, ...]
    """The machine ran their valid attempts."""
    lost: int
    """Blocks that were lost with it, each time that it happened."""
    host: Mapping[str, Any]
    """Its facts; empty if they are unknown."""
    effect: float | None
    """Median effect of its blocks; None without a value."""
    interval: Interval | None
    """The interval of the effect; None for fewer than two blocks."""

    @property
    def differs(self) -> bool:
        """Whether its effect certainly differs from 1, by more than 1 %."""
        ends = self.interval
        if ends is None or not ends.reaches_confidence:
            return False
        return ends.low.value > 1 + EQUAL_MARGIN or ends.high.value < 1 - EQUAL_MARGIN


def shares(results: Results, findings: Findings) -> list[MachineShare]:
    """Return what each machine ran; nothing for a campaign of one machine that has no name."""
    ran = _machines_of_blocks(results)
    lines = results.manifest.get(MACHINE_LINES, ())
    lost = Counter(line["machine"] for line in lines if line["ending"] == machine_log.LOST)
    names = sorted({*lost, *(name for several in ran.values() for name in several)})
    effects = block_effects(row.sample for _, row in findings.rows())
    hosts = _hosts(results.manifest)
    return [_share(name, ran, lost[name], effects, hosts.get(name, {})) for name in names]


def _share(
    name: str,
    ran: Mapping[int, set[str]],
    lost: int,
    effects: Mapping[int, float],
    host: Mapping[str, Any],
) -> MachineShare:
    blocks = tuple(sorted(block for block, names in ran.items() if name in names))
    whole = [effects[block] for block in blocks if ran[block] == {name} and block in effects]
    own = np.array(whole)
    effect = float(np.median(own)) if own.size else None
    return MachineShare(name, blocks, lost, host, effect, median_interval(own))


def mixed_blocks(results: Results) -> list[int]:
    """Return the blocks whose trials ran on several machines."""
    ran = _machines_of_blocks(results)
    return sorted(block for block, names in ran.items() if len(names) > 1)


def block_effects(samples: Iterable[Sample]) -> dict[int, float]:
    """Return the effect of each block with a positive value."""
    logarithms = defaultdict[int, list[float]](list)
    for sample in samples:
        known = {block: value for block, value in sample.observed.items() if value > 0}
        if known:
            median = float(np.median(list(known.values())))
            for block, value in known.items():
                logarithms[block].append(float(np.log(value / median)))
    return {block: float(np.exp(np.mean(own))) for block, own in logarithms.items()}


def _machines_of_blocks(results: Results) -> dict[int, set[str]]:
    """Return the names of the machines that ran each block's valid attempts."""
    machines = defaultdict[int, set[str]](set)
    of_sources = _machines_of_sources(results.manifest)
    for row in results.last_attempts:
        name = row["machine"] or of_sources.get(row["block"])
        if name and row["outcome"] != "invalid":
            machines[row["block"]].add(name)
    return dict(machines)


def _machines_of_sources(manifest: Mapping[str, Any]) -> dict[int, str]:
    """Return a name for the machine of each block of an archive of runs on several machines."""
    hosts = _hosts_of_sources(manifest)
    known = list(dict.fromkeys(map(_key, hosts.values())))
    if len(known) < 2:  # a single machine needs no name
        return {}
    return {block: f"machine {known.index(_key(host)) + 1}" for block, host in hosts.items()}


def _hosts_of_sources(manifest: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Return the facts of the machine of each block of an archive, where its campaign has them."""
    blocks = [int(block) for one in manifest.get(SOURCES, ()) for block in one["blocks"]]
    hosts = {block: manifest_form.source_of_block(manifest, block).get("host") for block in blocks}
    return {block: host for block, host in hosts.items() if host}


def _key(host: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(host.get(name)) for name in resume.MACHINE)


def _hosts(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    hosts = _hosts_of_sources(manifest)
    of_sources = {name: hosts[block] for block, name in _machines_of_sources(manifest).items()}
    return {**of_sources, **machine_log.hosts(manifest.get(MACHINE_LINES, ()))}


GIB = 2**30


def _section(source: ReportInput) -> Section | None:
    machines = shares(source.results, source.findings)
    if not machines:
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
    table = plain_table("Machines", caption, headers, [*map(_row, machines)])
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
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ", ".join(f"{one[0]}" if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in ranges)


def notes(source: ReportInput) -> Iterator[str]:
    """Yield what limits the findings because several machines ran the campaign."""
    results, findings = source.results, source.findings
    yield from _mixed(results)
    yield from _different(results, findings)
    if results.manifest.get("clock") == "virtual":  # which no certificate covers
        return
    if names := machine_log.uncalibrated(results.manifest.get(MACHINE_LINES, ())):
        machines = listed(few(names, "machines"))
        yield f"no link certificate on {machines}: run httpbed doctor calibrate there"


def _mixed(results: Results) -> Iterator[str]:
    if mixed := mixed_blocks(results):
        blocks = ", ".join(few([str(block) for block in mixed], "blocks"))
        yield (
            f"trials of one block ran on several machines (blocks: {blocks}): the machines'"
            " difference counts as one of the treatments; further blocks (replicates) stay on one"
        )


def _different(results: Results, findings: Findings) -> Iterator[str]:
    differing = [
        f"{share.name} {ratio_number(share.effect)}x ({ratio_interval(share.interval)})"
        for share in shares(results, findings)
        if share.differs and share.effect is not None
    ]
    if differing:
        yield (
            f"machines differ in {title(findings.metric)}, against the median of all blocks:"
            f" {'; '.join(few(differing, 'machines'))}; ratios within blocks are free of that,"
            " medians over all blocks are not"
        )


SECTION = SectionMaker("machines", 140, _section)
NOTES = NoteMaker("machines", 60, notes)
