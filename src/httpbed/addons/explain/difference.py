"""Why one trial took longer than another: the difference of their divisions.

Both divisions add up to their wholes, so the differences of the causes add up to the difference of
the times. A minus sign marks a cause on which the slower trial spent less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.explanation import Explained, duration_text
from httpbed.addons.explain.lifts import Rung
from httpbed.addons.explain.transfer import NS
from httpbed.report.phrasing import listed
from httpbed.results.comparison import EQUAL_MARGIN

MAX_NAMED = 5
"""Causes that a sentence names."""
SAME = f"Both took the same time, to within {100 * EQUAL_MARGIN:.0f} %"
WORTH = 0.03
"""Share of the difference below which a cause is not named."""


@dataclass(frozen=True)
class Difference:
    """Two trials, the slower one last."""

    fast: Explained
    slow: Explained

    @property
    def whole(self) -> int:
        """How much longer the slower one took, in ns."""
        return self.slow.division.whole - self.fast.division.whole

    @cached_property
    def causes(self) -> list[tuple[str, int]]:
        """Each cause with its part of the difference in ns, the largest first."""
        before, after = self.fast.division.costs(), self.slow.division.costs()
        parts = [(name, after[name] - before[name]) for name in BY_NAME]
        return sorted((part for part in parts if part[1]), key=lambda one: -abs(one[1]))

    def named(self) -> str:
        """Return the largest parts in words."""
        return ", ".join(
            f"{'+' if ns > 0 else '-'}{duration_text(abs(ns))} {name}"
            for name, ns in self.causes[:MAX_NAMED]
            if abs(ns) >= WORTH * self.whole
        )

    def sentence(self, fast: str, slow: str) -> str:
        """Say it with the names of the two, without the full stop."""
        return f"{slow} took {duration_text(self.whole)} longer than {fast}: {self.named()}"

    def closing(self, fast: str, slow: str, ladder: Sequence[Rung]) -> str:
        """Say how near the slower one comes with what was lifted, without the full stop.

        Empty if nothing that was lifted saved anything.
        """
        kept = [rung.after for rung in ladder if rung.is_kept]
        if not kept or not isinstance(after := kept[-1], Explained):
            return ""
        share = (self.slow.division.whole - after.division.whole) / max(1, self.whole)
        took = duration_text(after.division.whole)
        if share >= 1:
            return f"With all of that, {slow} takes {took}, and is as fast as {fast}"
        return (
            f"With all of that, {slow} takes {took}: {100 * share:.0f} % of the difference is gone"
        )

    def values(self) -> dict[str, Any]:
        """Return it as JSON values, times in seconds."""
        return {
            "fast": [self.fast.block, self.fast.trial],
            "slow": [self.slow.block, self.slow.trial],
            "seconds": self.whole / NS,
            "causes": {name: ns / NS for name, ns in self.causes},
        }


def of(known: Sequence[Explained]) -> Difference | None:
    """Return the difference of the slowest and the fastest trial; None if there is none.

    Only completed trials count: one that was cut off has not taken its time. Two that differ by
    less than :data:`EQUAL_MARGIN` of the slower one took the same time, as in reports.
    """
    completed = [explained for explained in known if explained.outcome == "completed"]
    if not completed:
        return None
    by_time = sorted(completed, key=lambda explained: explained.division.whole)
    found = Difference(by_time[0], by_time[-1])
    is_different = found.whole > EQUAL_MARGIN * found.slow.division.whole
    return found if is_different else None


def absence(outcomes: Mapping[str, str]) -> str:
    """Say why two trials have no difference, from the outcome of each; without the full stop."""
    cut = [f"{name} {outcome}" for name, outcome in outcomes.items() if outcome != "completed"]
    return f"Their times are not compared: {listed(cut)}" if cut else SAME
