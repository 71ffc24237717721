"""What varies the delay: jitter, which keeps the order, and reordering, which does not."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from httpbed.experiment.alternatives import TEXT, chosen
from httpbed.experiment.units import Seconds, Share, SignedSeconds, at_most
from httpbed.experiment.value import Value

LONGEST_S = 60.0
MOST_SAMPLES = 1_000_000

Delay = Annotated[Seconds, at_most(LONGEST_S)]


class Distributed(Value):
    """A deviation from the delay, drawn for each packet; its mean is 0."""

    distribution: Literal["uniform", "normal", "pareto"]
    """``uniform``: between minus and plus the spread; ``normal``; ``pareto``: of shape 3."""
    spread: Delay
    """Largest deviation if uniform, else the standard deviation."""


class Samples(Value):
    """A deviation from the delay, drawn for each packet from a table."""

    samples: list[Annotated[SignedSeconds, at_most(LONGEST_S)]] = Field(
        min_length=1, max_length=MOST_SAMPLES
    )
    """Deviations, each as likely as the others; measured ones, for example."""


Jitter = Annotated[
    Annotated[Delay, Tag(TEXT)]
    | Annotated[Distributed, Tag("<distribution>")]
    | Annotated[Samples, Tag("<samples>")],
    chosen('"5 ms"', distribution="<distribution>", spread="<distribution>", samples="<samples>"),
]
"""Uniform between minus and plus this; or of another distribution, or from a table."""


class Reordering(Value):
    """Some packets are held back, so that later ones overtake them."""

    share: Share
    """Probability that a packet is held back, independently of all others."""
    hold: Delay
    """For how much longer than the others it is delayed."""
