"""Does a division by the timeline say what one by packets says?

    python -m bench.explain.timeline KEPT     KEPT: what python -m bench.explain --keep KEPT left

Reads each campaign's trial in both ways. Prints each trial with its two largest causes, how often
they are the same, how far the link's busy shares are apart, and the CPU time of a trial.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.explain.plants import LOSS, WINDOW

from httpbed.addons.explain import outline
from httpbed.addons.explain.division import BUSY
from httpbed.addons.explain.explanation import Divided, Explained, explain, typical_rows
from httpbed.programs import catalog as catalogs
from httpbed.results import attempts
from httpbed.store import query


@dataclass(frozen=True)
class Both:
    """A trial divided in both ways."""

    name: str
    exact: Divided
    coarse: Divided
    cpu_s: float

    @property
    def tops(self) -> tuple[str, str]:
        """The largest cause by packets, and by the timeline."""
        exact, coarse = (divided.division.costs() for divided in (self.exact, self.coarse))
        return max(exact, key=lambda one: exact[one]), max(coarse, key=lambda one: coarse[one])

    @property
    def is_same_group(self) -> bool:
        """Whether the two are the same, all causes of losses and all windows taken as one."""
        exact, coarse = self.tops
        return exact == coarse or any({exact, coarse} <= some for some in (LOSS, WINDOW))

    @property
    def apart(self) -> float:
        """Difference of the busy shares."""
        exact, coarse = (
            sum(ns for name, ns in divided.division.costs().items() if name in BUSY)
            for divided in (self.exact, self.coarse)
        )
        return abs(exact - coarse) / max(1, self.exact.division.whole)


def main() -> None:
    """Compare the trials of a folder of campaigns."""
    found = [*_compared(Path(sys.argv[1]))]
    for both in found:
        exact, coarse = both.tops
        print(f"{both.name}: {exact}" + ("" if exact == coarse else f"; by the timeline {coarse}"))
    same = sum(len({*both.tops}) == 1 for both in found)
    group = sum(both.is_same_group for both in found)
    print(f"\nthe same largest cause in {same} of {len(found)}, the same group in {group}")
    named = [both for both in found if both.exact.held and both.exact.held.of]
    again = [both for both in named if both.coarse.held and both.coarse.held.of]
    print(f"a window with a knob in {len(named)} by packets, in {len(again)} of these by both")
    apart = sorted(100 * both.apart for both in found)
    print(f"busy shares apart: median {median(apart):.2f} points, most {apart[-1]:.1f}")
    print(f"CPU time of a trial: median {1000 * median(both.cpu_s for both in found):.1f} ms")


def _compared(folder: Path) -> Iterator[Both]:
    catalog = catalogs.load([folder / "recipes"])
    for place in sorted(path.parent for path in folder.glob("*/manifest.json")):
        results = query.read(place)
        for row in typical_rows(results, attempts.valid(results)):
            exact = explain(results, row, catalog)
            before = time.process_time()
            coarse = outline.outline(results, row, catalog)
            spent = time.process_time() - before
            if isinstance(exact, Explained) and coarse:
                yield Both(place.name, exact, coarse, spent)
            else:
                print(f"{place.name}: not divided in both ways", file=sys.stderr)


if __name__ == "__main__":
    main()
