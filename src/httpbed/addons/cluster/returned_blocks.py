"""Commits the attempts of a block that a worker returned, or notes that the block was lost."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster.attempt_archive import UselessError
from httpbed.addons.cluster.messages import BlockEnd, PackedAttempt
from httpbed.campaign.executor import MAX_RETRIES, Work
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.store import attempts, finished, layout, machine_log
from httpbed.store.campaign import Campaign
from httpbed.store.damage import Damage
from httpbed.store.machine_log import RETURNED
from httpbed.trial import verdict
from httpbed.trial.verdict import AttemptId


@dataclass(frozen=True)
class ReturnedAttempt:
    """An attempt that came back, in a folder that is not part of the campaign yet."""

    record: Record
    folder: Path


class ReturnedBlocks:
    """Commits to one campaign; its methods wait for the disk and run in threads."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign

    def began_on(self) -> dict[int, str]:
        """Return the machine that ran a block's trials in earlier runs, by the block."""
        trials = finished.finished_attempts(self._campaign).trials
        rows = zip(
            *(trials[one].to_pylist() for one in ("block", "outcome", "machine")), strict=True
        )
        return {
            block: machine for block, outcome, machine in rows if machine and outcome != "invalid"
        }

    def take(
        self, work: Sequence[Work], started: datetime, end: BlockEnd, archives: Sequence[bytes]
    ) -> list[Attempt]:
        """Make the attempts of a block part of the campaign: all of them, or none.

        Raises:
            UselessError: The block failed, or an attempt is missing or damaged.
        """
        reason = mismatch(work, end.attempts)
        if end.kind == "failed" or reason:
            raise UselessError(end.reason or reason)
        trials = {trial.id: trial for trial, _ in work}
        came, returned = iter(archives), list[ReturnedAttempt]()
        try:
            for packed in end.attempts:
                this = AttemptId(trials[packed.trial], packed.number, started)
                if packed.travels:
                    returned.append(self._unpacked(this, next(came, b""), end.worker))
                else:
                    reason = attempt_archive.too_large(packed.bytes)
                    returned.append(self._invalid(this, reason, end.worker))
        except BaseException:
            for one in returned:
                shutil.rmtree(one.folder)
            raise
        return self._committed(sorted(returned, key=lambda one: one.record.attempt.number))

    def _unpacked(self, this: AttemptId, archive: bytes, machine: str) -> ReturnedAttempt:
        """Unpack an attempt, and compare it with its digests."""
        folder = self._campaign.unfinished(this.trial, this.number)
        try:
            attempt_archive.unpack(io.BytesIO(archive), folder)
            record = self._read(this.trial, this.number, folder)
        except BaseException:
            shutil.rmtree(folder)
            raise
        return ReturnedAttempt(_of(machine, record), folder)

    def _read(self, trial: Trial, number: int, folder: Path) -> Record:
        real = self._campaign.directory.resolve()
        place = f"{layout.UNFINISHED}/{folder.name}"
        final_place = layout.attempt(trial.block, trial.id, number)
        record = attempts.parse(
            replace(attempts.read_files(real, place), place=final_place), {trial.id: trial}
        )
        if isinstance(record, Damage):
            raise UselessError(str(record))
        if reasons := attempts.altered(real, place):
            raise UselessError(f"{final_place}: {'; '.join(reasons)}")
        return record

    def _invalid(self, this: AttemptId, reason: str, machine: str) -> ReturnedAttempt:
        """Return an invalid attempt; the worker's own attempt did not come back."""
        folder = self._campaign.unfinished(this.trial, this.number)
        (folder / attempts.ARTIFACTS).mkdir()
        return ReturnedAttempt(_of(machine, verdict.broken_bed(this, reason)), folder)

    def _committed(self, returned: Sequence[ReturnedAttempt]) -> list[Attempt]:
        for one in returned:
            self._campaign.commit(one.record, one.folder)
        return [one.record.attempt for one in returned]

    def lose(
        self, work: Sequence[Work], started: datetime, reason: str, machine: str
    ) -> list[Attempt]:
        """Commit an invalid attempt at each trial of a block that was lost."""
        lost = [AttemptId(trial, number, started) for trial, number in work]
        return self._committed([self._invalid(this, reason, machine) for this in lost])

    def note(self, block: int, ending: str, end: BlockEnd) -> None:
        """Append how a block ended on a machine to the campaign's log of machines."""
        about: dict[str, Any] = {"ended": datetime.now(UTC).isoformat(timespec="seconds")}
        if end.host and end.code:
            about |= {"httpbed": end.code.version, "host": end.host.as_json()}
        if ending == RETURNED:
            about["link_certificate"] = end.certificate
        machine_log.append(self._campaign.directory, end.worker, block, ending, about)


def _of(machine: str, record: Record) -> Record:
    """Return a record that names the machine of its attempt."""
    attempt = record.attempt.model_copy(update={"machine": machine})
    return record.model_copy(update={"attempt": attempt})


def mismatch(work: Sequence[Work], packed: Sequence[PackedAttempt]) -> str:
    """Return how the attempts that a worker announces differ from those that were wanted.

    Each trial has attempts with the numbers from the wanted one on, without a gap.
    """
    numbers: dict[str, list[int]] = {trial.id: [] for trial, _ in work}
    for one in packed:
        if one.trial not in numbers:
            return f"it returned an attempt at {one.trial}, which was not wanted"
        numbers[one.trial].append(one.number)
    for trial, first in work:
        found = sorted(numbers[trial.id])
        expected = list(range(first, first + len(found)))
        if not found or len(found) > MAX_RETRIES + 1 or found != expected:
            return f"it returned the attempts {found} at {trial.id}, not those from {first} on"
    return ""
