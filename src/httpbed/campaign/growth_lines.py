"""Says how a campaign grew, in lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from httpbed.experiment.growth import Growth
from httpbed.experiment.trial import Trial


def lines(growth: Growth, directory: Path) -> Iterator[str]:
    """Yield what a campaign gained, lost and keeps."""
    before = len(growth.design) - len(growth.added) + len(growth.left)
    if growth.changes_trials:
        changes = [f"{len(growth.added)} added"] * bool(growth.added)
        changes += [f"{len(growth.left)} that never ran left out"] * bool(growth.left)
        now = len(growth.design)
        yield f"{directory} had {before} trials and now has {now}: {', '.join(changes)}"
    else:
        yield f"{directory} keeps its {before} trials; the experiment file or the options changed"
    if growth.joined and growth.design[0].clock == "real":
        yield (
            f"note: the trials added to {_blocks(growth.joined)} run at another time than the rest"
            " of their block; differences of the machine between these times do not cancel out"
        )
    if growth.kept:
        many = len(growth.kept) > 1
        yield (
            f"note: {_trials(growth.kept)} that the experiment no longer asks for ran earlier;"
            f" {'they stay' if many else 'it stays'} in the report"
        )


def _trials(trials: Sequence[Trial]) -> str:
    return f"{len(trials)} trial{'s' * (len(trials) > 1)}"


def _blocks(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    if len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"blocks {numbers[0]} to {numbers[-1]}"
    return f"blocks {', '.join(map(str, numbers))}"
