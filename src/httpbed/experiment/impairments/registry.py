"""The list of impairments: to add one, add its field and its descriptor here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_type_hints

from pydantic import create_model

from httpbed.base.value import Value
from httpbed.experiment.impairments.damage import (
    CORRUPTION,
    DUPLICATION,
    CorruptionField,
    DuplicationField,
)
from httpbed.experiment.impairments.delay import (
    DELAY,
    JITTER,
    REORDERING,
    DelayField,
    JitterField,
    ReorderingField,
)
from httpbed.experiment.impairments.descriptor import Cause, Chance, Impairment, Option
from httpbed.experiment.impairments.loss import LOSS, LossField
from httpbed.experiment.impairments.policing import POLICING, PolicingField
from httpbed.experiment.impairments.queue import QUEUE, QueueField
from httpbed.experiment.impairments.rate import COUNTED, RATE, CountedField, RateField

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


class Impaired(
    QueueField,
    CorruptionField,
    DuplicationField,
    ReorderingField,
    PolicingField,
    LossField,
    JitterField,
    DelayField,
    CountedField,
    RateField,
):
    """Every impairment of one direction; pydantic orders the fields from the last base on."""


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
