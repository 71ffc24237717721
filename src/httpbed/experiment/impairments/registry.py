"""The list of impairments: to add one, add its field and its descriptor here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_type_hints

from pydantic import create_model

from httpbed.base.units import Share
from httpbed.base.value import Value
from httpbed.experiment.impairments.delay import (
    DELAY,
    JITTER,
    REORDERING,
    Delay,
    Jitter,
    Reordering,
)
from httpbed.experiment.impairments.descriptor import Cause, Chance, Impairment, Option
from httpbed.experiment.impairments.loss import CORRUPTION, DUPLICATION, LOSS, Loss
from httpbed.experiment.impairments.queue import QUEUE, Queue
from httpbed.experiment.impairments.rate import COUNTED, POLICING, RATE, Counted, Policing, Rate

ALL: tuple[Impairment, ...] = (
    RATE,
    DELAY,
    LOSS,
    POLICING,
    JITTER,
    REORDERING,
    DUPLICATION,
    CORRUPTION,
    COUNTED,
    QUEUE,
)
"""Every impairment, in the order in which the report describes a link."""


class Impaired(Value):
    """Every impairment of one direction."""

    rate: Rate | None = None
    """Capacity; absent means unlimited, and then nothing waits in the queue."""
    counted: Counted = "ip"
    """Bytes that take time at the rate: the IP packet's, or with the Ethernet header (14 more),
    or with all that is on a wire (38 more)."""
    delay: Delay = 0.0
    """One-way delay, added after transmission; the RTT is measured, never configured."""
    jitter: Jitter | None = None
    """Variation of the delay from packet to packet; it keeps their order."""
    loss: Loss = 0.0
    """Packets that are lost on arrival, whatever the queue does."""
    policing: Policing | None = None
    """Which packets are dropped because they exceed a rate and a burst; none of them waits."""
    reordering: Reordering | None = None
    """Packets that are held back, so that later packets overtake them."""
    duplication: Share = 0.0
    """Probability that a packet is sent twice, independently of all others."""
    corruption: Share = 0.0
    """Probability that one bit of a packet is flipped behind its IP header."""
    queue: Queue = Queue.model_construct()
    """The buffer before the transmitter; without a rate nothing waits in it."""


_FORMS = get_type_hints(Impaired, include_extras=True)
_Optional = create_model(
    "OneWay",
    __base__=Value,
    **{name: (_FORMS[name] | None, None) for name in Impaired.model_fields},  # type: ignore[call-overload]
)


class OneWay(_Optional):
    """What differs in one direction of a link from what the link says for both."""


BY_FIELD: Mapping[str, Impairment] = {impairment.field: impairment for impairment in ALL}
OPTIONS: tuple[Option, ...] = tuple(option for impairment in ALL for option in impairment.options)
"""Options of ``httpbed link`` that describe a link."""
CHANCES: tuple[tuple[Impairment, Chance], ...] = tuple(
    (impairment, impairment.chance) for impairment in ALL if impairment.chance
)
"""Impairments that choose each packet with a probability of its own."""
DOWN = Cause("down_dropped", "down", "link down", draws_later=False)
NAT = Cause("nat_dropped", "nat", "no mapping", draws_later=False)
CAUSES: tuple[Cause, ...] = (*(cause for one in ALL for cause in one.causes), DOWN, NAT)
"""Every reason for a drop: the impairments', a link that is down, a NAT without a mapping."""
COUNTERS: tuple[str, ...] = tuple(name for impairment in ALL for name in impairment.counters)
"""Every counter of what happened to packets that were not dropped."""
