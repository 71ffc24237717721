"""Makes the attempts of a block that a worker returned part of the campaign."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from httpbed.addons.cluster.block import AttemptFiles, BlockEnd, BlockError, WorkerFacts
from httpbed.base import digests
from httpbed.base.digests import DifferentError
from httpbed.campaign.executor import Work
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.store import attempts, finished, layout, machine_log
from httpbed.store.campaign import Campaign
from httpbed.store.layout import Damage
from httpbed.trial import verdict
from httpbed.trial.verdict import AttemptId


class ReturnedBlocks:
    """Commits to one campaign; its methods wait for the disk and run in threads."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign

    def began_on(self) -> dict[int, str]:
        """Return the machine that ran a block's trials in earlier runs, by the block."""
        trials = finished.finished_attempts(self._campaign).trials
        columns = (trials[name].to_pylist() for name in ("block", "outcome", "machine"))
        rows = zip(*columns, strict=True)
        return {
            block: machine for block, outcome, machine in rows if machine and outcome != "invalid"
        }

    def take(self, work: Sequence[Work], end: BlockEnd, machine: str) -> list[Attempt]:
        """Make the attempts of a block part of the campaign: all of them, or none.

        Raises:
            BlockError: An attempt is missing or damaged.
        """
        trials, returned = {trial.id: trial for trial, _ in work}, list[tuple[Record, Path]]()
        try:
            for files in end.attempts:
                returned.append(self._written(files, trials))
            require_wanted(work, [record.attempt for record, _ in returned])
        except BaseException:
            for _, folder in returned:
                shutil.rmtree(folder)
            raise
        returned.sort(key=lambda one: one[0].attempt.number)
        return [self._committed(record, folder, machine) for record, folder in returned]

    def _written(self, files: AttemptFiles, trials: dict[str, Trial]) -> tuple[Record, Path]:
        """Write the files that an attempt names into a folder, and compare their digests.

        A program under test chose names and contents of the artifacts.
        """
        try:
            attempt = attempts.trial_document(files[attempts.TRIAL])
            trial, number = trials[attempt.attempt.id], attempt.attempt.number
        except (DifferentError, KeyError, TypeError) as error:
            raise BlockError(f"it returned an attempt that was not wanted: {error}") from None
        folder = self._campaign.unfinished(trial, number)
        try:
            (folder / attempts.ARTIFACTS).mkdir()
            for name in (attempts.TRIAL, *attempt.files):
                path = folder / digests.path(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(files.get(name, b""))
            return self._read(trial, number, folder), folder
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            shutil.rmtree(folder)
            raise BlockError(f"it returned files that exclude each other: {error}") from None
        except BaseException:
            shutil.rmtree(folder)
            raise

    def _read(self, trial: Trial, number: int, folder: Path) -> Record:
        real = self._campaign.directory.resolve()
        place = f"{layout.UNFINISHED}/{folder.name}"
        final_place = layout.attempt(trial.block, trial.id, number)
        record = attempts.parse(
            replace(attempts.read_files(real, place), place=final_place), {trial.id: trial}
        )
        if isinstance(record, Damage):
            raise BlockError(str(record))
        if reasons := attempts.altered(real, place):
            raise BlockError(f"{final_place}: {'; '.join(reasons)}")
        return record

    def _committed(self, record: Record, folder: Path, machine: str) -> Attempt:
        """Commit an attempt that names its machine."""
        attempt = record.attempt.model_copy(update={"machine": machine})
        self._campaign.commit(record.model_copy(update={"attempt": attempt}), folder)
        return attempt

    def lose(
        self, work: Sequence[Work], started: datetime, reason: str, machine: str
    ) -> list[Attempt]:
        """Commit an invalid attempt at each trial of a block that was lost."""
        lost = list[Attempt]()
        for trial, number in work:
            folder = self._campaign.unfinished(trial, number)
            (folder / attempts.ARTIFACTS).mkdir()
            record = verdict.broken_bed(AttemptId(trial, number, started), reason)
            lost.append(self._committed(record, folder, machine))
        return lost

    def note(self, block: int, ending: str, worker: WorkerFacts, **about: Any) -> None:
        """Append how a block ended on a machine to the campaign's log of machines."""
        about["ended"] = datetime.now(UTC).isoformat(timespec="seconds")
        about |= {"httpbed": metadata.version("httpbed"), "host": worker.host.model_dump()}
        machine_log.append(self._campaign.directory, worker.name, block, ending, about)


def require_wanted(work: Sequence[Work], returned: Sequence[Attempt]) -> None:
    """Check that each trial has attempts with the numbers from the wanted one on, without a gap.

    Raises:
        BlockError: It has not.
    """
    for trial, first in work:
        numbers = sorted(attempt.number for attempt in returned if attempt.id == trial.id)
        if not numbers or numbers != list(range(first, first + len(numbers))):
            reason = f"it returned the attempts {numbers} at {trial.id}, not those from {first} on"
            raise BlockError(reason)
