"""Which workers may run blocks of a campaign, and why others may not."""

from __future__ import annotations

from dataclasses import dataclass

from httpbed.addons.cluster.messages import CodeIdentity, WorkerFacts

MOST_CLOCK_OFFSET_S = 5.0
"""Between the clocks of a worker and of the campaign: attempts are ordered by the time at which
they started, and a TLS certificate is valid from the time at which it was made."""
MOST_QUESTIONS = 3
"""How often a worker is asked for its time before it is refused."""


class LostError(Exception):
    """A worker or the scheduler is gone; the message says which."""


class UselessError(Exception):
    """A worker is there, and what it returned is no block; the message says why."""


@dataclass(frozen=True)
class ConnectedWorker:
    """A worker that the scheduler knows."""

    address: str
    """Where the scheduler reaches it."""
    facts: WorkerFacts | None
    """None: it did not register as a worker of httpbed, or in another form."""
    clock_offset_s: float | None = None
    """By how much its clock is ahead of the campaign's, at least; None: unknown."""
    unanswered: int = 0
    """How often it was asked for its time, and did not answer."""

    @property
    def registration(self) -> str:
        """What differs each time that a worker registers."""
        return self.facts.registration if self.facts else self.address

    @property
    def may_answer(self) -> bool:
        """Whether it has yet to answer, and may still do so."""
        return self.clock_offset_s is None and 0 < self.unanswered < MOST_QUESTIONS

    @property
    def slots(self) -> int:
        """Blocks that it runs at a time."""
        return self.facts.slots if self.facts else 0

    @property
    def name(self) -> str:
        """The name that attempts and messages give."""
        return self.facts.name if self.facts else self.address


def unfit(worker: ConnectedWorker, code: CodeIdentity) -> str:
    """Return why a worker may not run blocks, with the remedy; empty if it may."""
    facts = worker.facts
    if facts is None:
        return "is no worker of this httpbed; start it with httpbed worker, of the same version"
    if facts.code != code:
        return f"runs {facts.code}, and the campaign {code}; install the same on both"
    if facts.unable:
        return f"cannot run trials: {facts.unable}"
    if facts.slots < 1:
        return "has no slot for a measurement; give it --resources measurement=1"
    return _wrong_clock(worker)


def _wrong_clock(worker: ConnectedWorker) -> str:
    offset_s = worker.clock_offset_s
    if offset_s is None:
        return f"did not answer {worker.unanswered} questions for its time; start it again"
    if abs(offset_s) > MOST_CLOCK_OFFSET_S:
        way = "ahead of" if offset_s > 0 else "behind"
        return f"has a clock {abs(offset_s):.0f} s {way} the campaign's; set it, such as by NTP"
    return ""


def clock_offset_s(sent_s: float, theirs_s: float, received_s: float) -> float:
    """Return the least offset of a clock that explains its answer to a question of this machine.

    The answer was made at some time between the question and its arrival.
    """
    if theirs_s > received_s:
        return theirs_s - received_s
    return min(0.0, theirs_s - sent_s)
