"""How often planted campaigns get each verdict, and how wide and how right a share's interval is.

make bench-claims ARGS='--campaigns 600'
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/support"))

from bench.claims.coverage import simulated

from httpbed.addons.claims.claim_verdict import VERDICTS
from planted_campaigns import ONE_CELL, SEVERAL

CORRELATED = ((8, 5, 0.4), (24, 10, 0.4), (180, 5, 0.4), (180, 10, 0.4), (180, 10, 0.0))
"""Cells, blocks and correlation of the campaigns whose intervals of a share are counted."""


def main() -> None:
    """Print a table as Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--campaigns", type=int, default=300)
    count = options.parse_args().campaigns
    print(f"| planted | blocks | {' | '.join(VERDICTS)} |")
    print(f"| --- | --- |{' --- |' * len(VERDICTS)}")
    for planted in (*ONE_CELL, *SEVERAL):
        found = planted.verdicts(count)
        rates = [f"{100 * found[verdict] / count:.1f}" for verdict in VERDICTS]
        print(f"| {planted.says} | {planted.blocks} | {' | '.join(rates)} |", flush=True)
    _coverage(count)


def _coverage(count: int) -> None:
    """Print how often the interval of a share has what a repetition reports."""
    print("\n| cells | blocks | correlation | coverage | width, points | estimated correlation |")
    print("| --- | --- | --- | --- | --- | --- |")
    for planted in CORRELATED:
        found = simulated(*planted, count)
        low, mean, high = found.estimated
        between = f"{mean:.2f} ({low:.2f} to {high:.2f})"
        shown = f"{found.covered:.3f} | {100 * found.width:.0f} | {between}"
        print(f"| {found.cells} | {found.blocks} | {found.correlation} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
