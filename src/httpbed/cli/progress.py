"""How a run tells how far it is: on a terminal by a line that changes, else block by block."""

from __future__ import annotations

import time

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from httpbed.campaign.progress import HowFar, Pace, Progress
from httpbed.cli.echo import echo
from httpbed.cli.progress_bar import LiveBar
from httpbed.experiment import units

MOST_SILENCE_S = 60.0
"""Without a terminal; then the next trial's end is told."""


class Reporter(LiveBar):
    """Takes what an executor tells; use it as a context."""

    def __init__(
        self, total: int, per_block: int, *, expected: frozenset[str] = frozenset()
    ) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        super().__init__(*columns, description="trials", total=total)
        self._expected = expected | {"completed"}  # ends of a trial of which nothing is told
        self._told = time.monotonic()
        self._pace = Pace(total, per_block, self._told)

    def tell(self, progress: Progress) -> None:
        """Take the news of one attempt."""
        attempt = progress.attempt
        if attempt.outcome.kind == "invalid":
            then = _then(progress)
            said = f"invalid attempt {attempt.number} at {attempt.id}: {attempt.outcome.reason}"
            self._say(f"{said}; {then}")
        elif attempt.outcome.kind not in self._expected:
            self._say(
                f"{attempt.outcome.kind}: {_name(attempt.trial.levels)}: {attempt.outcome.reason}"
            )
        if progress.retried:
            return
        now = time.monotonic()
        how_far = self._pace.finish(attempt, now)
        if self.is_live:
            self.advance()
        elif how_far.block is not None or now - self._told >= MOST_SILENCE_S:
            self._told = now
            self._say(_line(how_far))

    def _say(self, text: str) -> None:
        if self.is_live:
            self.print(text)
        else:
            echo(text, err=True)


def _line(how_far: HowFar) -> str:
    block = "" if how_far.block is None else f"block {how_far.block} done, "
    lasted = units.format_long_duration(how_far.lasted_s)
    is_left = how_far.done < how_far.total
    then = f"about {units.format_long_duration(how_far.left_s)} left" if is_left else "all of them"
    return f"{block}{how_far.done} of {how_far.total} trials in {lasted}, {then}"


def _then(progress: Progress) -> str:
    if not progress.retried:
        return "giving up"
    if progress.patience_s:
        return f"trying again when the machine is quiet, at most {progress.patience_s:g} s later"
    return "trying again"


def _name(levels: dict[str, str]) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in levels.items()) or "the treatment"
