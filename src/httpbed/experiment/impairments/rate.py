"""Rate: how fast a direction of a link sends packets, and which bytes the rate counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, Tag, field_validator, model_validator

from httpbed.base.errors import RejectedValueError
from httpbed.base.units import BitRate, Bytes, Seconds, Share
from httpbed.base.value import TEXT, Value, form_by_key
from httpbed.experiment.impairments.descriptor import (
    Cause,
    Digest,
    Emulated,
    Feature,
    FileName,
    Impairment,
    Limit,
    LinkFigures,
    Option,
    Table,
)

MTU_BYTES = 1500
"""Largest IP packet on every link; the Ethernet default, and what the studies used."""
OPPORTUNITY_BYTES = 1504
"""What one delivery opportunity of a packet-delivery trace carries (Netravali et al. 2015)."""
MAX_OPPORTUNITIES = 1_000_000
LONGEST_STEP_S = 86_400.0

OVERHEADS = {"ip": 0, "ethernet": 14, "wire": 38}
"""Bytes beyond the IP packet: the Ethernet header; with preamble, FCS and gap (IEEE 802.3)."""


class TokenBucket(Value):
    """A token bucket as in the kernel's ``tbf``: a burst at once, then the rate."""

    bucket: BitRate
    """Rate at which the bucket is filled, in bit/s."""
    burst: Annotated[Bytes, Field(ge=MTU_BYTES, lt=2**32)]
    """Bytes that the bucket holds, at least one packet; it is full at first."""

    @property
    def mean_bit_s(self) -> int:
        """Bits per second over a long time."""
        return self.bucket

    @property
    def first_bit_s(self) -> int:
        """Bits per second at the beginning, the burst aside."""
        return self.bucket


class Trace(Value):
    """Delivery opportunities at recorded times, in mahimahi's format, from a file."""

    trace: FileName
    """The file, relative to the experiment's file: a line for each opportunity of 1504 bytes, its
    time in ms, ascending; after the last line it repeats."""
    sha256: Digest | None = None
    """SHA-256 of the file; set when the experiment is loaded, and required if given."""
    mean: BitRate | None = None
    """Mean rate of the trace; set when the experiment is loaded."""

    @property
    def mean_bit_s(self) -> int | None:
        """Bits per second over a whole pass; None before the file was read."""
        return self.mean

    @property
    def first_bit_s(self) -> int | None:
        """The mean; the beginning of a trace is not typical of it."""
        return self.mean


def _pair(value: object) -> object:
    if isinstance(value, (list, tuple)) and len(value) == 2:  # a pair
        return tuple(value)
    raise ValueError('a step is a pair of a time and a rate, such as ["5 s", "2 Mbit/s"]')


Step = Annotated[
    tuple[Annotated[Seconds, Field(le=LONGEST_STEP_S)], BitRate], BeforeValidator(_pair)
]
"""Time since the client's start, and bits per second from then on."""


class Steps(Value):
    """A rate that changes at given times."""

    steps: list[Step] = Field(min_length=1, max_length=10_000)
    """Pairs of a time and a rate, the first at 0 s, the times ascending."""

    @field_validator("steps")
    @classmethod
    def _ascend(cls, steps: list[tuple[float, int]]) -> list[tuple[float, int]]:
        if steps[0][0] != 0:
            raise ValueError("the first step is at 0 s: until then there would be no rate")
        for (earlier, _), (later, _) in pairwise(steps):
            if later <= earlier:
                raise ValueError(f"the steps ascend in time, and {later:g} s follows {earlier:g} s")
        return steps

    @property
    def mean_bit_s(self) -> int:
        """The largest of the rates: no transfer is faster."""
        return max(rate for _, rate in self.steps)

    @property
    def first_bit_s(self) -> int:
        """Bits per second at the beginning."""
        return self.steps[0][1]


class CellularModel(Value):
    """Parameters of a synthetic cellular link (Winstein et al., NSDI 2013, section 3.1)."""

    mean: BitRate
    """Mean rate when there is no outage, in bit/s."""
    variation: Share = 0.5
    """Standard deviation of the rate's logarithm over a long time; 0 % is a constant rate."""
    memory: Annotated[Seconds, Field(ge=0.1, le=3600)] = 5.0
    """Time in which the logarithm of the rate forgets all but 1/e of a deviation."""
    outages: Annotated[Share, Field(lt=1)] = 0.0
    """Share of the time in which nothing is delivered."""
    outage: Annotated[Seconds, Field(gt=0, le=60)] = 1.0
    """Mean length of an outage."""
    duration: Annotated[Seconds, Field(ge=1, le=3600)] = 60.0
    """Length of the trace; it begins again after that."""

    @model_validator(mode="after")
    def _is_of_bearable_length(self) -> CellularModel:
        expected = self.mean * self.duration / 8 / OPPORTUNITY_BYTES
        if expected > MAX_OPPORTUNITIES:
            reason = f"{expected:.0f} delivery opportunities are more than {MAX_OPPORTUNITIES}"
            raise RejectedValueError(reason, "give it a shorter duration or a lower mean")
        if expected < 1:
            reason = "the trace would deliver no packet"
            raise RejectedValueError(reason, "give it a longer duration")
        return self


class Cellular(Value):
    """The rate of a cellular link, drawn from the seed for each block and direction."""

    cellular: CellularModel
    """The model's parameters."""

    @property
    def mean_bit_s(self) -> int:
        """About what it delivers over a long time."""
        return max(1, round(self.cellular.mean * (1 - self.cellular.outages)))

    @property
    def first_bit_s(self) -> int:
        """The mean when there is no outage."""
        return self.cellular.mean


Rate = Annotated[
    Annotated[BitRate, Tag(TEXT)]
    | Annotated[TokenBucket, Tag("<token bucket>")]
    | Annotated[Trace, Tag("<trace>")]
    | Annotated[Steps, Tag("<steps>")]
    | Annotated[Cellular, Tag("<cellular>")],
    form_by_key(
        '"10 Mbit/s"',
        bucket="<token bucket>",
        trace="<trace>",
        steps="<steps>",
        cellular="<cellular>",
    ),
]
"""Constant, in bit/s; a token bucket; steps in time; or opportunities from a file or a model."""


AnyRate = int | TokenBucket | Trace | Steps | Cellular | None
Counted = Literal["ip", "ethernet", "wire"]


def mean_bit_s(rate: AnyRate) -> int | None:
    """Return the bits per second that a long transfer cannot exceed; None if there is no limit."""
    return rate if rate is None or isinstance(rate, int) else rate.mean_bit_s


def first_bit_s(rate: AnyRate) -> int | None:
    """Return the bits per second by which a queue in bandwidth-delay products is measured."""
    return rate if rate is None or isinstance(rate, int) else rate.first_bit_s


def _emulated(rate: AnyRate, direction: Emulated) -> Table | None:
    if isinstance(rate, TokenBucket):
        return {"model": "token_bucket", "bit_s": rate.bucket, "burst_bytes": rate.burst}
    if isinstance(rate, Trace):
        return {"model": "trace", "path": direction.trace_path(rate.trace, rate.sha256)}
    if isinstance(rate, Cellular):
        return {"model": "trace", "path": direction.cellular_path()}
    bit_s = first_bit_s(rate)
    return None if bit_s is None else {"model": "constant", "bit_s": bit_s}


def _words(table: Table) -> str:
    if "bucket" in table:
        return f"{table['bucket']} by a token bucket of {table.get('burst', '?')}"
    if "trace" in table:
        return f"rate of the trace {table['trace']}"
    if "cellular" in table:
        model = table["cellular"]
        mean = model.get("mean", "?") if isinstance(model, Mapping) else "?"
        return f"cellular rate of {mean} on average"
    steps = table.get("steps", [])
    return ", then ".join(f"{bit_s} from {at}" for at, bit_s in steps[:3]) + (
        ", ..." if len(steps) > 3 else ""  # more is no sentence
    )


def model(rate: AnyRate, _figures: LinkFigures | None = None) -> str:
    """Name the model of a rate: ``unlimited``, ``constant``, ``token bucket`` or another."""
    match rate:
        case None:
            return "unlimited"
        case TokenBucket():
            return "token bucket"
        case Trace():
            return "trace"
        case Steps():
            return "steps"
        case Cellular():
            return "cellular"
    return "constant"


RATE = Impairment(
    field="rate",
    emulated=_emulated,
    text="{}",
    table_words=_words,
    absent="no rate limit",
    options=(
        Option(
            "rate",
            ("rate", "bucket"),
            "rate",
            "10mbit",
            "Capacity (by default unlimited).",
            ("rate",),
        ),
        Option(
            "burst",
            ("rate", "burst"),
            "size",
            "32KiB",
            "Bytes sent at once (token bucket).",
            needs="rate",
        ),
    ),
    features=(
        Feature(
            "rate_bit_s",
            "integer",
            "bit/s",
            lambda rate, _: mean_bit_s(rate),
            along="smallest",
            addition="Mean over time; of steps, the largest.",
        ),
        Feature(
            "rate_model",
            "string",
            "",
            model,
            along="narrowest",
            addition="`unlimited`, `constant`, `token bucket`, `trace`, `steps` or `cellular`.",
        ),
        Feature(
            "burst_bytes",
            "integer",
            "byte",
            lambda rate, _: rate.burst if isinstance(rate, TokenBucket) else None,
            along="narrowest",
            addition="Bytes that its token bucket sends at once.",
        ),
    ),
)
COUNTED = Impairment(
    field="counted",
    emulator_key="overhead_bytes",
    emulated=lambda counted, _direction: OVERHEADS[counted],
    text="bytes counted as {}",
    options=(
        Option(
            "counted",
            ("counted",),
            "word",
            "ip",
            "Which bytes the rate counts: ip, ethernet or wire.",
        ),
    ),
    is_computed=True,
    features=(Feature("counted", "string", "", lambda counted, _: str(counted)),),
)


# Policing: a token bucket without a queue, which drops the packets that exceed it.


class Policing(Value):
    """A policer as internet service providers use it.

    Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016; RFC 2697 with one
    bucket.
    """

    rate: BitRate
    """Rate at which the bucket is filled, in bit/s."""
    burst: Annotated[Bytes, Field(ge=MTU_BYTES + max(OVERHEADS.values()), lt=2**32)]
    """Bytes that the bucket holds; it is full at first. At least one packet as it is counted."""


def _emulated_policing(policing: Policing | None, _direction: Emulated) -> Table | None:
    if policing is None:
        return None
    return {"bit_s": policing.rate, "burst_bytes": policing.burst}


def _policing_words(table: Table) -> str:
    return f"policed to {table.get('rate', '?')} with bursts of {table.get('burst', '?')}"


def _most_policed_bytes(policing: Policing, seconds: float) -> float:
    return policing.burst + policing.rate * seconds / 8


POLICING = Impairment(
    field="policing",
    emulated=_emulated_policing,
    text="policed by {}",
    table_words=_policing_words,
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
    loses_packets=True,
    is_computed=True,
    limit=Limit("policed", _most_policed_bytes),
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
