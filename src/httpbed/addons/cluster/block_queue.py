"""The blocks of a campaign that wait for a worker.

Whether a trial is needed is decided when its block is handed out: with a range of replicates, a
treatment may be settled by then. Its trials stay in the queue, because blocks that are still under
way may bring values that widen its interval again. Then they are handed out after all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from httpbed.campaign.executor import Work
from httpbed.experiment.trial import Trial

Needs = Callable[[Trial], bool]
"""Whether a trial that did not run is needed."""


@dataclass(frozen=True)
class PendingBlock:
    """Pending trials of a block."""

    work: Sequence[Work]
    losses: int = 0
    """How often it was lost in this run."""

    @property
    def number(self) -> int:
        """The block's number."""
        return self.work[0][0].block

    def again(self) -> PendingBlock:
        """Return the block after it was lost: with the numbers of its next attempts."""
        return PendingBlock([(trial, number + 1) for trial, number in self.work], self.losses + 1)


class BlockQueue:
    """The blocks that have not begun, and trials that were not needed when theirs began."""

    def __init__(
        self, blocks: Iterable[PendingBlock], began_on: Mapping[int, str], needs: Needs
    ) -> None:
        self._blocks = list(blocks)
        self._began_on = began_on
        """The machine that ran other trials of a block, in earlier runs."""
        self._given_to: dict[int, str] = {}
        """The machine that got other trials of a block in this run."""
        self._needs = needs

    def take(self, machine: str, present: Collection[str]) -> PendingBlock | None:
        """Return the needed trials of the next block for a machine; None without any.

        A block that began on another machine is left to that one, if it is present.
        """
        for place, block in enumerate(self._blocks):
            if not self._may_run_on(machine, block.number, present):
                continue
            if needed := self._needed(block):
                rest = [one for one in block.work if one not in needed]
                self._blocks[place : place + 1] = [PendingBlock(rest)] * bool(rest)
                self._given_to[block.number] = machine
                return PendingBlock(needed, block.losses)
        return None

    def _needed(self, block: PendingBlock) -> Sequence[Work]:
        """Return the trials that are needed, among them all that have an invalid attempt."""
        return [one for one in block.work if one[1] > 1 or self._needs(one[0])]

    def _may_run_on(self, machine: str, block: int, present: Collection[str]) -> bool:
        began_on = self._began_on.get(block) or self._given_to.get(block)
        return began_on in {None, machine} or began_on not in present

    def put_back(self, block: PendingBlock) -> None:
        """Let a block that its worker lost or refused run before all others.

        It need not run where other trials of the block ran in this run.
        """
        self._given_to.pop(block.number, None)
        self._blocks.insert(0, block)

    def is_empty(self) -> bool:
        """Whether no trial is needed."""
        return not any(map(self._needed, self._blocks))
