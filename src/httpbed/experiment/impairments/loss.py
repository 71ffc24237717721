"""Which packets a direction of a link loses, whatever its queue does."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Tag

from httpbed.experiment.alternatives import TEXT, chosen
from httpbed.experiment.impairments.files import Digest, FileName
from httpbed.experiment.units import Share
from httpbed.experiment.value import Value

MOST_LISTED = 10_000_000


class GilbertElliott(Value):
    """Loss in bursts: two states, each with its own probability of loss.

    Gilbert, Bell Syst. Tech. J. 39 (1960); Elliott, 42 (1963); the parameters are netem's.
    """

    to_bad: Share
    """Probability, at each packet, to change from the good to the bad state."""
    to_good: Share = Field(gt=0)
    """Probability, at each packet, to change back; the mean stay in the bad state is 1 over it."""
    bad: Share = 1.0
    """Probability that a packet is lost in the bad state."""
    good: Share = 0.0
    """Probability that a packet is lost in the good state."""

    @property
    def mean(self) -> float:
        """Share of packets that are lost over a long time."""
        in_bad = self.to_bad / (self.to_bad + self.to_good)
        return in_bad * self.bad + (1 - in_bad) * self.good

    @property
    def mean_burst(self) -> float:
        """Packets that a stay in the bad state has on average."""
        return 1 / self.to_good


PacketNumber = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Listed(Value):
    """Loss of the packets that are named."""

    packets: list[PacketNumber] = Field(max_length=MOST_LISTED)
    """Numbers of the lost packets in this direction; the first since the client's start is 0."""


class Replay(Value):
    """Loss of the packets that were lost before, by their number."""

    replay: FileName
    """The record, relative to the experiment: a log of ``httpbed link --log``, or a trial's
    ``link-result.json``."""
    sha256: Digest | None = None
    """Digest of the file; filled in when the experiment is loaded, demanded where it is said."""


Loss = Annotated[
    Annotated[Share, Tag(TEXT)]
    | Annotated[GilbertElliott, Tag("<Gilbert-Elliott>")]
    | Annotated[Listed, Tag("<listed>")]
    | Annotated[Replay, Tag("<replay>")],
    chosen(
        '"2 %"',
        to_bad="<Gilbert-Elliott>",
        to_good="<Gilbert-Elliott>",
        packets="<listed>",
        replay="<replay>",
    ),
]
"""Probability that a packet is lost, independently of all others; or in bursts, or which ones."""
