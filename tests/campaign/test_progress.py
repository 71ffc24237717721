"""How far a run is, from the attempts that it has committed."""

from __future__ import annotations

from httpbed.campaign.progress import Pace, RunProgress
from httpbed.experiment.trial import Attempt
from recorded import H2_LOSS, trial


def finished(block: int) -> Attempt:
    values = {"number": 1, "started": "2026-11-22T10:00:00Z", "phases_s": {}, "checks": []}
    of_block = trial(H2_LOSS).model_copy(update={"block": block})
    return Attempt.model_validate({**values, "trial": of_block, "outcome": {"kind": "completed"}})


def test_the_time_left_is_that_of_the_finished_trials_times_the_others() -> None:
    """Two of six trials in 10 s leave 20 s."""
    pace = Pace(total=6, per_block={1: 3, 2: 3}, began_s=100.0)
    pace.finish(finished(1), 104.0)
    assert pace.finish(finished(1), 110.0) == RunProgress(2, 6, lasted_s=10.0, left_s=20.0)


def test_the_last_trial_of_a_block_completes_it() -> None:
    """Trials of other blocks in between do not count."""
    pace = Pace(total=4, per_block={1: 2, 2: 2}, began_s=0.0)
    blocks = [pace.finish(finished(block), 1.0).block for block in (1, 2, 2, 1)]
    assert blocks == [None, None, 2, 1]
