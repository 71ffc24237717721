"""Which trials of a design with a range of replicates still run, from what a campaign holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from httpbed.experiment.experiment import Replicates
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.trial import Trial
from httpbed.store import layout


class Stopping:
    """The treatments of a campaign that get no further block, as of the last look.

    A look parses only the attempts that were added since the one before.
    """

    def __init__(self, directory: Path, rule: Replicates) -> None:
        from httpbed.store.finished import GrowingCampaign  # noqa: PLC0415 - it imports pyarrow

        self._campaign = GrowingCampaign(directory)
        self.rule = rule
        self._settled = self._judged()

    def look(self) -> None:
        """Read what the campaign has gained, and judge its treatments again."""
        if self._campaign.refresh():
            self._settled = self._judged()

    def _judged(self) -> frozenset[TreatmentKey]:
        # Statistics take time to import, and runs without such a rule do not need them.
        from httpbed.results import estimate, sample  # noqa: PLC0415
        from httpbed.results.findings import default_metric  # noqa: PLC0415

        results = self._campaign.results
        found = sample.samples(results, default_metric(results))
        return frozenset(key for key, one in found.items() if estimate.is_settled(one, self.rule))

    def needs(self, trial: Trial) -> bool:
        """Whether a trial that did not run is needed."""
        factors = self._campaign.results.experiment.factors
        if trial.levels.keys() != factors.keys():  # of another experiment, which is refused later
            return True
        return treatment_key(trial.levels, factors) not in self._settled

    def wanted(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the trials that ran, and those that are needed."""
        ran = layout.trials_with_attempts(self._campaign.directory.resolve())
        return [trial for trial in trials if trial.id in ran or self.needs(trial)]


def wanted_trials(directory: Path, rule: Replicates | None, trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials that a run asks of a campaign, which may not exist yet."""
    if rule is None or not (directory / layout.MANIFEST).is_file():
        return list(trials)
    return Stopping(directory, rule).wanted(trials)


def stopping_line(rule: Replicates, trials: Iterable[Trial], left: int) -> str:
    """Say where the treatments of a finished run stopped."""
    blocks: dict[TreatmentKey, int] = {}
    for trial in trials:
        key = treatment_key(trial.levels)
        blocks[key] = max(blocks.get(key, 0), trial.block)
    fewest, most = min(blocks.values(), default=0), max(blocks.values(), default=0)
    span = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return (
        f"{rule.until}: stopped after {span} blocks; {left} of the planned trials were not needed"
    )
