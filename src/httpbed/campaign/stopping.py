"""Which trials of a design with a range of replicates still run, from what a campaign holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from httpbed.experiment.replication import Replicates
from httpbed.experiment.trial import Trial
from httpbed.store import layout

Levels = frozenset[tuple[str, str]]


def settled(directory: Path, rule: Replicates) -> frozenset[Levels]:
    """Return the treatments of a campaign that need no further block."""
    # Statistics take time to import, and runs without such a rule do not need them.
    from httpbed.analysis import sample, stopping  # noqa: PLC0415
    from httpbed.analysis.findings import default_metric  # noqa: PLC0415
    from httpbed.store import query  # noqa: PLC0415

    results = query.read(directory)
    found = sample.samples(results, default_metric(results)).values()
    return frozenset(of(one.levels) for one in found if stopping.is_settled(one, rule))


def of(levels: Mapping[str, str]) -> Levels:
    """Return the key of a treatment."""
    return frozenset(levels.items())


def needed(directory: Path, rule: Replicates | None, trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials that ran, and those of treatments that are not settled."""
    if rule is None or not (directory / layout.MANIFEST).is_file():
        return list(trials)
    ran = layout.trials_with_attempts(directory.resolve())
    done = settled(directory, rule)
    return [one for one in trials if one.id in ran or of(one.levels) not in done]


def line(rule: Replicates, trials: Iterable[Trial], left: int) -> str:
    """Say where the treatments of a finished run stopped."""
    blocks: dict[Levels, int] = {}
    for trial in trials:
        key = of(trial.levels)
        blocks[key] = max(blocks.get(key, 0), trial.block)
    fewest, most = min(blocks.values(), default=0), max(blocks.values(), default=0)
    span = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return (
        f"{rule.until}: stopped after {span} blocks; {left} of the planned trials were not needed"
    )
