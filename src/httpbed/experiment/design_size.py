"""How large a design may be: a small file can state a product of any size."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.base.errors import Mistake
from httpbed.experiment import factorial_mistakes
from httpbed.experiment.factorial_mistakes import PartialDesign

MAX_TREATMENTS = 20_000
"""Each treatment is checked as a network and a set of programs of its own, 0.2 ms each."""
MAX_TRIALS = 200_000
"""Of all blocks: two days of trials of one second."""


def mistakes(design: PartialDesign, blocks: int) -> Iterator[Mistake]:
    """Yield what is wrong with the size of a design, which is not made for that."""
    treatments = design.most()
    if treatments > MAX_TREATMENTS:
        sizes = factorial_mistakes.listed(
            [f"{name} {len(levels)}" for name, levels in design.factors.items()]
        )
        reason = (
            f"the design has {treatments} treatments (levels: {sizes}), each of which is checked;"
            f" the limit is {MAX_TREATMENTS}"
        )
        remedy = "use fewer levels, or groups of those that the question needs together"
        yield Mistake("groups" if design.groups else "factors", reason, remedy)
    elif treatments * blocks > MAX_TRIALS:
        reason = f"the design has {treatments * blocks} trials; the limit is {MAX_TRIALS}"
        yield Mistake("replicates", reason, "use fewer blocks or levels, or several experiments")
