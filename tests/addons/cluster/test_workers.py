"""Which workers may run blocks."""

from __future__ import annotations

from typing import Any

import pytest

from cluster_workers import CODE, facts
from httpbed.addons.cluster import workers
from httpbed.addons.cluster.messages import CodeIdentity
from httpbed.addons.cluster.workers import ConnectedWorker


def reason(offset_s: float | None = 0.0, **changes: Any) -> str:
    """Return why a worker with these facts may not run blocks."""
    return workers.unfit(ConnectedWorker("tcp://10.0.0.2:4000", facts(**changes), offset_s), CODE)


def test_a_worker_with_the_same_code_and_a_right_clock_is_fit() -> None:
    """A small difference of the clocks is no reason."""
    assert reason() == reason(4.9) == reason(-4.9) == ""


def silent(unanswered: int) -> ConnectedWorker:
    """Return a worker that has not told its time."""
    return ConnectedWorker("tcp://10.0.0.2:4000", facts(), None, unanswered)


def test_a_worker_may_answer_until_it_was_asked_three_times() -> None:
    """One that hangs must not delay every look."""
    assert [silent(count).may_answer for count in (1, 2, 3)] == [True, True, False]


def test_a_worker_whose_clock_is_unknown_is_refused() -> None:
    """A wrong clock would mix up the order of attempts, and spoil certificates."""
    assert workers.unfit(silent(3), CODE) == (
        "did not answer 3 questions for its time; start it again"
    )


def test_a_worker_of_another_version_is_named_with_both_versions() -> None:
    """Equal versions with other files differ by the digest."""
    other = CodeIdentity(version="0.2.0", sha256="b" * 64)
    assert reason(code=other) == (
        f"runs httpbed 0.2.0 (code {'b' * 12}), and the campaign httpbed 0.1.0 (code {'a' * 12});"
        " install the same on both"
    )
    assert reason(code=CodeIdentity(version=CODE.version, sha256="c" * 64))


@pytest.mark.parametrize(
    ("offset_s", "words"), [(3600.0, "3600 s ahead of"), (-61.2, "61 s behind")]
)
def test_a_worker_with_a_wrong_clock_is_told_by_how_much(offset_s: float, words: str) -> None:
    """The remedy is to set the clock."""
    assert reason(offset_s) == f"has a clock {words} the campaign's; set it, such as by NTP"


def test_a_machine_that_cannot_run_trials_gets_none() -> None:
    """The reason and the remedy are those of the machine's own tests."""
    assert reason(unable="this machine refuses user namespaces; allow them") == (
        "cannot run trials: this machine refuses user namespaces; allow them"
    )


def test_a_worker_without_a_slot_gets_no_block() -> None:
    """A worker that Dask started needs the resource on its command line."""
    assert reason(slots=0).endswith("give it --resources measurement=1")


def test_another_worker_of_dask_gets_no_block() -> None:
    """It registered without the facts of this version."""
    stranger = ConnectedWorker("tcp://10.0.0.3:4000", None)
    assert workers.unfit(stranger, CODE).startswith("is no worker of this httpbed")
    assert stranger.name == stranger.registration == "tcp://10.0.0.3:4000"
    assert stranger.slots == 0


@pytest.mark.parametrize(
    ("theirs_s", "offset_s"), [(100.0, 0.0), (100.5, 0.0), (101.0, 0.0), (103.0, 2.0), (97.0, -3.0)]
)
def test_the_offset_of_a_clock_excludes_the_time_of_the_answer(
    theirs_s: float, offset_s: float
) -> None:
    """Any time between question and answer is right, however long the answer took."""
    assert workers.clock_offset_s(100.0, theirs_s, 101.0) == offset_s
