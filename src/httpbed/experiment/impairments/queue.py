"""Queue: the buffer before a link's transmitter, and which packets it drops or marks."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from httpbed.base import units
from httpbed.base.errors import RejectedValueError
from httpbed.base.value import Value
from httpbed.experiment.impairments.descriptor import (
    Cause,
    Emulated,
    Feature,
    Impairment,
    LinkFigures,
    Option,
    Table,
    nanoseconds,
)
from httpbed.experiment.impairments.rate import MTU_BYTES

MIN_QUEUE_PACKETS = 10
"""Least packets of a queue given in BDP: the initial window of a sender (RFC 6928)."""

MAX_IN_QUEUE = 10**12
"""Largest limit in packets, bytes or BDP: the emulator counts in 64 bits."""
LONGEST_WAIT_S = 3600

LimitUnit = Literal["packets", "bytes", "s", "BDP"]


class QueueLimit(NamedTuple):
    """Capacity of a queue: packets, bytes, seconds, or bandwidth-delay products."""

    amount: float
    unit: LimitUnit

    def resolved(self, rate_bit_s: int, rtt_s: float) -> tuple[str, int]:
        """Resolve to ``("packets" | "bytes" | "ns", amount)`` for a link of this rate and RTT."""
        if self.unit == "s":
            return "ns", round(self.amount * 1e9)
        if self.unit != "BDP":
            return self.unit, int(self.amount)
        packets = math.ceil(self.amount * rate_bit_s * rtt_s / 8 / MTU_BYTES)
        return "packets", max(MIN_QUEUE_PACKETS, packets)


_LEAST = {
    "packets": Decimal(1),
    "bytes": Decimal(MTU_BYTES),
    "s": Decimal("1e-6"),
    "BDP": Decimal("0.001"),
}
_MOST = {"packets": MAX_IN_QUEUE, "bytes": MAX_IN_QUEUE, "s": LONGEST_WAIT_S, "BDP": 10**12}


def parse_queue_limit(text: object) -> QueueLimit:
    """Read ``"1000 packets"``, ``"64 KiB"``, ``"70 ms"`` or ``"1 BDP"``."""
    known = {"packets": 1, "BDP": 1, **units.SIZES, **units.DURATIONS}
    number, named = units.split(text, known, "1000 packets")
    amount = number * known[named]
    unit = _unit(named)
    if unit == "packets" and amount != int(amount):
        raise RejectedValueError(f"{text!r} is not a whole number of packets")
    if amount < _LEAST[unit]:
        least = f"the least is {_LEAST[unit]:f} {unit}" if unit != "packets" else "the least is one"
        raise RejectedValueError(f"{text!r} holds no packet", least)
    if amount > _MOST[unit]:
        raise RejectedValueError(f"{text!r} is too large: more than {_MOST[unit]} {unit}")
    return QueueLimit(float(amount), unit)


def _unit(named: str) -> LimitUnit:
    if named in units.SIZES:
        return "bytes"
    if named in units.DURATIONS:
        return "s"
    return "packets" if named == "packets" else "BDP"


Discipline = Literal["droptail", "codel", "fq_codel", "pie"]

_PARAMETERS: dict[str, set[str]] = {
    "droptail": set(),
    "codel": {"target", "interval", "ecn"},
    "fq_codel": {"target", "interval", "ecn", "flows", "quantum"},
    "pie": {"target", "interval", "ecn"},
}
_TARGET_S = {"codel": 0.005, "fq_codel": 0.005, "pie": 0.015}
_INTERVAL_S = {"codel": 0.1, "fq_codel": 0.1, "pie": 0.015}
"""Defaults of RFC 8289 (4.3, 4.2), RFC 8290 (5.2.2, 5.2.1) and RFC 8033 (5, 4.2)."""
_FLOWS, _QUANTUM_BYTES = 1024, 1514
"""Defaults of RFC 8290 (5.2.4, 5.2.3); the quantum is a full Ethernet frame's."""

QUEUE_LIMIT = "1000 packets"
"""The limit of a queue whose author gives none."""


class Queue(Value):
    """The buffer before a link's transmitter."""

    discipline: Discipline = "droptail"
    """``droptail`` drops packets that arrive at a full queue; ``codel`` (RFC 8289), ``fq_codel``
    (RFC 8290) and ``pie`` (RFC 8033) drop earlier, to keep the queue short."""
    limit: Annotated[
        QueueLimit,
        BeforeValidator(parse_queue_limit),
        WithJsonSchema(
            {"type": "string", "examples": ["1000 packets", "64 KiB", "70 ms", "1 BDP"]}
        ),
    ] = parse_queue_limit(QUEUE_LIMIT)
    """Packets, bytes, time, or multiples of rate x RTT (BDP) that may wait or be in service."""
    target: Annotated[units.Seconds, Field(gt=0), units.at_most(60)] | None = None
    """Queue delay that CoDel accepts (default 5 ms) and PIE aims at (default 15 ms)."""
    interval: Annotated[units.Seconds, Field(gt=0), units.at_most(60)] | None = None
    """Time within which CoDel's delay must fall below the target (default 100 ms); time between
    PIE's updates of its probability (default 15 ms)."""
    ecn: bool = Field(default=False, strict=True)
    """Whether ECN-capable packets are marked instead of dropped (RFC 3168). If one queue of a
    network marks, all its hosts request ECN over TCP."""
    flows: int | None = Field(default=None, ge=1, le=65536, strict=True)
    """Number of FQ-CoDel's queues, to which flows are hashed; default 1024."""
    quantum: Annotated[units.Bytes, Field(ge=64, le=2**20)] | None = None
    """Bytes that a flow of FQ-CoDel may send in its turn; default 1514."""

    @model_validator(mode="after")
    def _has_its_own_parameters(self) -> Queue:
        given = {"target", "interval", "ecn", "flows", "quantum"} & self.model_fields_set
        foreign = sorted(
            name for name in given - _PARAMETERS[self.discipline] if getattr(self, name)
        )
        if foreign:
            reason = f"{self.discipline} has no {', '.join(foreign)}"
            raise RejectedValueError(reason, "choose another discipline")
        return self


def _emulated(queue: Queue, direction: Emulated) -> Table:
    unit, amount = queue.limit.resolved(direction.first_bit_s, direction.rtt_s)
    table: dict[str, object] = {"discipline": queue.discipline, "limit": {unit: amount}}
    if queue.discipline == "droptail":
        return table
    target_s = queue.target or _TARGET_S[queue.discipline]
    table |= {"target_ns": nanoseconds(target_s), "ecn": queue.ecn}
    interval = nanoseconds(queue.interval or _INTERVAL_S[queue.discipline])
    if queue.discipline == "pie":
        return table | {"update_ns": interval, "key": direction.key("pie")}
    table["interval_ns"] = interval
    if queue.discipline == "fq_codel":
        table |= {"flows": queue.flows or _FLOWS, "quantum_bytes": queue.quantum or _QUANTUM_BYTES}
    return table


def _words(table: Table) -> str:
    """Name the discipline, unless it is drop-tail, and the limit."""
    discipline = table.get("discipline", "droptail")
    name = {"codel": "CoDel", "fq_codel": "FQ-CoDel", "pie": "PIE"}.get(discipline)
    words = [*([name] if name else []), *(["ECN"] if table.get("ecn") is True else [])]
    return " ".join([*words, f"queue {table['limit']}"])


def _bytes(queue: Queue, figures: LinkFigures) -> int | None:
    """Return the bytes that may wait, in packets of 1500 bytes; None without a rate."""
    if not figures.first_bit_s:
        return None
    unit, amount = queue.limit.resolved(figures.first_bit_s, figures.rtt_s)
    if unit == "ns":
        return round(amount / 1e9 * figures.first_bit_s / 8)
    return amount * MTU_BYTES if unit == "packets" else amount


QUEUE = Impairment(
    field="queue",
    emulated=_emulated,
    text="queue {}",
    table_words=_words,
    options=(
        Option(
            "queue",
            ("queue", "limit"),
            "amount",
            "'1000 packets'",
            "Packets, bytes (64KiB), time (70ms) or bandwidth-delay products (1bdp) that may wait.",
        ),
        Option(
            "discipline",
            ("queue", "discipline"),
            "word",
            "codel",
            "droptail, codel, fq_codel or pie.",
        ),
        Option(
            "target",
            ("queue", "target"),
            "duration",
            "5ms",
            "Queue delay that the discipline aims at.",
            needs="discipline",
        ),
        Option(
            "interval",
            ("queue", "interval"),
            "duration",
            "100ms",
            "The discipline's period.",
            needs="discipline",
        ),
        Option(
            "flows",
            ("queue", "flows"),
            "count",
            "1024",
            "Number of fq_codel's queues.",
            needs="discipline",
        ),
        Option(
            "quantum",
            ("queue", "quantum"),
            "size",
            "1514B",
            "Bytes that a flow of fq_codel sends in its turn.",
            needs="discipline",
        ),
        Option(
            "ecn",
            ("queue", "ecn"),
            "flag",
            "",
            "Mark packets that allow it (ECN) instead of dropping them.",
            needs="discipline",
        ),
    ),
    causes=(
        Cause("queue_dropped", "queue", "queue full"),
        Cause("aqm_dropped", "aqm", "by AQM"),
    ),
    counters=("marked",),
    features=(
        Feature(
            "queue_bytes",
            "integer",
            "byte",
            _bytes,
            along="narrowest",
            addition="Limit in bytes: packets count 1500 bytes, times count at the link's rate.",
        ),
        Feature(
            "queue_discipline",
            "string",
            "",
            lambda queue, _: queue.discipline,
            along="narrowest",
            addition="`droptail`, `codel`, `fq_codel` or `pie`.",
        ),
        Feature(
            "queue_ecn",
            "boolean",
            "",
            lambda queue, _: queue.ecn,
            addition="Whether ECN-capable packets are marked instead of dropped (RFC 3168).",
        ),
    ),
)
