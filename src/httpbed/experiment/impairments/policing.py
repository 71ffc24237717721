"""Policing: a token bucket without a queue, which drops the packets that exceed it."""

from __future__ import annotations

from pydantic import Field

from httpbed.base.units import BitRate, Bytes
from httpbed.base.value import Value
from httpbed.experiment.impairments.descriptor import (
    Cause,
    Emulated,
    Feature,
    Impairment,
    Limit,
    Option,
    Table,
)
from httpbed.experiment.impairments.rate import MTU_BYTES, OVERHEADS


class Policing(Value):
    """A policer as internet service providers use it.

    Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016; RFC 2697 with one
    bucket.
    """

    rate: BitRate
    """Rate at which the bucket is filled, in bit/s."""
    burst: Bytes = Field(ge=MTU_BYTES + max(OVERHEADS.values()), lt=2**32)
    """Bytes that the bucket holds; it is full at first. At least one packet as it is counted."""


class PolicingField(Value):
    """The field of a direction."""

    policing: Policing | None = None
    """Which packets are dropped because they exceed a rate and a burst; none of them waits."""


def _emulated(policing: Policing | None, _direction: Emulated) -> Table | None:
    if policing is None:
        return None
    return {"bit_s": policing.rate, "burst_bytes": policing.burst}


def _words(table: Table) -> str:
    return f"policed to {table.get('rate', '?')} with bursts of {table.get('burst', '?')}"


def _most_bytes(policing: Policing, seconds: float) -> float:
    return policing.burst + policing.rate * seconds / 8


POLICING = Impairment(
    field="policing",
    emulated=_emulated,
    text="policed by {}",
    table_words=_words,
    options=(
        Option(
            "police",
            ("policing", "rate"),
            "rate",
            "8mbit",
            "Drop what exceeds this rate and --police-burst; nothing waits.",
            needs="police-burst",
        ),
        Option(
            "police-burst",
            ("policing", "burst"),
            "size",
            "64KiB",
            "Bytes above that rate that pass at once.",
            needs="police",
        ),
    ),
    causes=(Cause("policed", "policed", "policed", draws_later=False),),
    limit=Limit("policed", _most_bytes),
    features=(
        Feature(
            "policing_rate_bit_s",
            "integer",
            "bit/s",
            lambda policing, _: policing and policing.rate,
            along="smallest",
        ),
        Feature(
            "policing_burst_bytes",
            "integer",
            "byte",
            lambda policing, _: policing and policing.burst,
        ),
    ),
)
