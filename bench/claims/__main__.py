"""How often planted campaigns get each verdict, and how wide and how right a share's interval is.

make bench-claims ARGS='--campaigns 600'
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/support"))

from httpbed.addons.claims.verdict import VERDICTS
from planted_campaigns import ONE_CELL, SEVERAL


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


if __name__ == "__main__":
    main()
