"""Corruption and duplication: packets that arrive with one bit flipped, or twice."""

from __future__ import annotations

from httpbed.base.units import Share
from httpbed.base.value import Value
from httpbed.experiment.impairments.descriptor import (
    Chance,
    Impairment,
    Option,
    chance,
    share_feature,
)


class CorruptionField(Value):
    """The field of a direction."""

    corruption: Share = 0.0
    """Probability that one bit of a packet is flipped behind its IP header."""


CORRUPTION = Impairment(
    field="corruption",
    emulated=chance("corruption"),
    text="{} corrupted",
    options=(
        Option("corrupt", ("corruption",), "share", "0.01%", "Probability of a flipped bit."),
    ),
    random=True,
    chance=Chance("corrupted", "damage", draws=2, netem="corrupt"),
    counters=("corrupted",),
    changes_bytes=True,
    features=(share_feature("corruption"),),
)
"""Draw ``2 n`` decides about packet ``n``; draw ``2 n + 1`` chooses the bit."""


class DuplicationField(Value):
    """The field of a direction."""

    duplication: Share = 0.0
    """Probability that a packet is sent twice, independently of all others."""


DUPLICATION = Impairment(
    field="duplication",
    emulated=chance("duplication"),
    text="{} duplicated",
    options=(
        Option(
            "duplicate",
            ("duplication",),
            "share",
            "0.1%",
            "Probability that a packet is duplicated.",
        ),
    ),
    random=True,
    chance=Chance("duplicated", "copies", netem="duplicate"),
    counters=("duplicated",),
    features=(share_feature("duplication"),),
)
