"""Files in the shared folder: the host writes the work, the guest writes the result."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError
from httpbed.experiment.trial import Trial
from httpbed.host.sandbox import untrusted_files
from httpbed.trial.plan import CampaignSetup

_WORK, _RESULT = "work.pickle", "result.json"
ARTIFACTS = "artifacts"


@dataclass(frozen=True)
class Work:
    """An attempt to be made in a guest."""

    trial: Trial
    setup: CampaignSetup


def write_work(shared: Path, work: Work) -> None:
    """Write a guest's work, for the same httpbed in a folder of this user alone."""
    (shared / _WORK).write_bytes(pickle.dumps(work))


def read_work(shared: Path) -> Work:
    """Read a guest's work."""
    work = pickle.loads((shared / _WORK).read_bytes())  # noqa: S301 - see write_work
    assert isinstance(work, Work)  # noqa: S101 - for the type checker
    return work


def write_result(shared: Path, result: dict[str, Any]) -> None:
    """Write the seconds of each phase of an attempt, or why it was broken off."""
    (shared / _RESULT).write_text(json.dumps(result))


def read_result(shared: Path) -> dict[str, float]:
    """Return the virtual seconds of each phase.

    Raises:
        BedError: The bed broke the attempt off in the guest, or the guest left no result.
    """
    text = untrusted_files.own_text(shared / _RESULT)
    if not text:
        raise BedError("the guest powered off without a result")
    result = json.loads(text)
    if "broken" in result:
        raise BedError(result["broken"])
    return {name: float(seconds) for name, seconds in result["phases_s"].items()}
