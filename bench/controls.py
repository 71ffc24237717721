r"""What the kernel's own controls show: the table in ``conformance/properties.py``.

    for control in reno cubic bbr; do
        httpbed conformance nginx --http-version 1.1 --congestion-control $control \
            --scale full -o controls/$control
    done
    python bench/controls.py controls

Each trial is judged alone, so that the spread is seen and not only the median. Trials on a busy
machine are counted beside the others; in the table they are included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from httpbed.addons.conformance import conformance_session, properties
from httpbed.addons.conformance.judgement import ConformanceEvidence
from httpbed.addons.conformance.networks import networks
from httpbed.addons.conformance.properties import Transfers
from httpbed.addons.conformance.sender import Control
from httpbed.store import campaign

KERNEL: tuple[Control, ...] = ("reno", "cubic", "bbr")


def main() -> None:
    """Print least to most of each property, judged as each control, with the number of trials."""
    (folder,) = map(Path, sys.argv[1:])
    for sender in KERNEL:
        evidence = read(folder / sender, sender)
        every = evidence.transfers.every
        strained = sum(transfer.strained for transfer in every)
        print(f"{sender}: {len(every)} trials, {strained} on a busy machine", *evidence.unreadable)
        for control in KERNEL:
            for name, values in spreads(control, evidence.transfers).items():
                text = f"{min(values):8.3f} .. {max(values):8.3f}  n = {len(values)}"
                print(f"  as {control:<5}  {name:<38} {text}")


def read(folder: Path, control: Control) -> ConformanceEvidence:
    """Read the campaign of a test; the networks of any scale are among those of the full one."""
    return conformance_session.read(campaign.open_existing(folder), networks("full", control))


def spreads(control: Control, transfers: Transfers) -> dict[str, list[float]]:
    """Gather what single trials show of each property, throughputs of all networks together."""
    found: dict[str, list[float]] = {}
    for name, seen in figures(control, transfers):
        found.setdefault(name.split(",")[0], []).append(seen)
    return found


def figures(control: Control, transfers: Transfers) -> Iterator[tuple[str, float]]:
    """Yield each property as each trial shows it; slopes need several, so all are taken."""
    for transfer in transfers.every:
        alone = Transfers([transfer.network], [transfer])
        for finding in properties.judge(control, alone):
            if finding.observed is not None:
                yield finding.name, finding.observed
    for finding in properties.judge(control, transfers):
        if finding.name.startswith("slope") and finding.observed is not None:
            yield finding.name, finding.observed


if __name__ == "__main__":
    main()
