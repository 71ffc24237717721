"""Duplication: packets that arrive twice."""

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
