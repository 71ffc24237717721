"""Which trials a worker gets next, and which wait because their treatment is settled."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import stored_campaigns
from httpbed.addons.cluster.block_queue import BlockQueue, PendingBlock
from httpbed.experiment.trial import Trial

TRIALS = stored_campaigns.loaded().trials
BOTH = {"alpha", "beta"}


class Needed:
    """Whose trials are needed: those of every level of loss that is not settled."""

    def __init__(self, *settled: str) -> None:
        self.settled = set(settled)

    def __call__(self, trial: Trial) -> bool:
        """Whether a trial is needed."""
        return trial.levels["loss"] not in self.settled


def queue(needed: Needed, began_on: Mapping[int, str] | None = None) -> BlockQueue:
    """Return a queue of two blocks of six trials, half of them without loss."""
    groups = itertools.groupby(TRIALS, key=lambda one: one.block)
    blocks = [PendingBlock([(trial, 1) for trial in own]) for _, own in groups]
    return BlockQueue(blocks, began_on or {}, needed)


def losses(block: PendingBlock | None) -> list[str]:
    """Return the levels of loss of a block's trials, sorted."""
    return sorted(trial.levels["loss"] for trial, _ in block.work) if block else []


def test_what_a_block_needs_is_decided_when_it_is_handed_out() -> None:
    """A treatment that is settled meanwhile gets no further block."""
    needed = Needed()
    waiting = queue(needed)
    assert losses(waiting.take("alpha", BOTH)) == ["0 %"] * 3 + ["2 %"] * 3
    needed.settled.add("0 %")
    assert losses(waiting.take("beta", BOTH)) == ["2 %"] * 3
    assert waiting.is_empty()


def test_a_treatment_that_is_no_longer_settled_gets_the_trials_that_it_missed() -> None:
    """A block that was still under way brought a value that widened its interval."""
    needed = Needed("0 %")
    waiting = queue(needed)
    assert [waiting.take(name, BOTH) is not None for name in ("alpha", "beta")] == [True, True]
    assert waiting.is_empty()
    needed.settled.clear()
    assert not waiting.is_empty()
    first = waiting.take("beta", BOTH)
    assert first
    assert (first.number, losses(first)) == (2, ["0 %"] * 3)
    assert waiting.take("beta", BOTH) is None, "block 1 began on alpha, which is present"
    second = waiting.take("beta", {"beta"})
    assert second
    assert (second.number, losses(second)) == (1, ["0 %"] * 3)
    assert waiting.is_empty()


def test_all_trials_of_a_lost_block_run_again() -> None:
    """Their attempts are invalid, and a campaign with such trials is not finished."""
    needed = Needed()
    waiting = queue(needed)
    lost = waiting.take("alpha", BOTH)
    assert lost
    needed.settled |= {"0 %", "2 %"}
    assert waiting.is_empty()
    waiting.put_back(lost.again())
    again = waiting.take("beta", BOTH)
    assert again
    assert (again.number, losses(again)) == (1, ["0 %"] * 3 + ["2 %"] * 3)
    assert {number for _, number in again.work} == {2}


def test_an_invalid_trial_of_an_earlier_run_is_needed() -> None:
    """A block that was lost before this run began has the numbers of its next attempts."""
    (trial, *others) = TRIALS[:6]
    waiting = BlockQueue(
        [PendingBlock([(trial, 2), *((one, 1) for one in others)])], {}, Needed("0 %", "2 %")
    )
    block = waiting.take("alpha", BOTH)
    assert block
    assert list(block.work) == [(trial, 2)]


def test_what_a_refused_block_needs_is_decided_again() -> None:
    """It runs on any machine, before the other blocks."""
    needed = Needed()
    waiting = queue(needed)
    refused = waiting.take("alpha", BOTH)
    assert refused
    waiting.put_back(refused)
    needed.settled.add("2 %")
    again = waiting.take("beta", BOTH)
    assert again
    assert (again.number, losses(again)) == (1, ["0 %"] * 3)


def test_a_block_that_began_in_an_earlier_run_is_left_to_its_machine() -> None:
    """Unless that is absent."""
    waiting = queue(Needed(), {1: "alpha", 2: "gamma"})
    block = waiting.take("beta", BOTH)
    assert block
    assert block.number == 2
    assert waiting.take("beta", BOTH) is None
    assert waiting.take("alpha", BOTH) is not None
