"""What a certificate covers, by measurement on this machine or by the tests of the emulator.

Measured is what a machine can spoil. A value (rate, delay, loss) is covered if the nearest cells on
both sides passed; a kind (a unit of the queue's limit) if all its cells passed. Other
kinds differ from those only in the emulator's arithmetic, which its own tests compute for whole
flows (:data:`COMPUTED`); certificates of before had cells of them. Any other demand is never
covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from httpbed.addons.calibration.cell import Value
from httpbed.base import units
from httpbed.base.spellings import TRIGGER
from httpbed.experiment.impairments.rate import OVERHEADS
from httpbed.experiment.impairments.registry import ALL

if TYPE_CHECKING:  # it imports numpy, which only judging needs
    from httpbed.addons.calibration.session import Verdict

RANGES: Mapping[str, Callable[[float], str]] = {
    "rate_bit_s": units.format_rate,
    "delay_s": units.format_duration,
    "loss": units.format_share,
}
"""Quantities that are covered in ranges, with the formatting of their values."""
NAMES = {"rate_bit_s": "rate", "delay_s": "delay", "loss": "loss"}
COMPUTED: Mapping[str, tuple[str, ...]] = {
    "rate model": ("token_bucket", "trace"),
    "loss model": ("gilbert_elliott", "listed"),
    "jitter": ("uniform", "normal", "pareto", "table"),
    "impairment": ("policing", "duplication", "corruption", "reordering"),
    "counted": ("ethernet", "wire"),
    "change": ("rate", "delay", "loss", "state", "NAT rebinding"),
    "event": ("delivered", "first packet"),
    "together": ("rate and delay", "several impairments"),
    "queue discipline": ("codel", "fq_codel", "pie"),
    "marking by": ("codel", "fq_codel"),
}
"""Kinds that the emulator's tests compute: ``crates/link-model/tests``, foremost ``arithmetic.rs``;
for events and NAT, ``crates/httpbed-link/src/emulator/tests`` and
``tests/namespaces/test_nat.py``."""
DISCIPLINE = "droptail"
"""The queue discipline that needs only a cell of its limit."""
COUNTED = {bytes_: name for name, bytes_ in OVERHEADS.items()}
MEAN = "mean_bit_s"
"""Key for a trace's mean rate, which the caller adds to the emulator's configuration."""
ORDERED = "ordered"
"""Key for the changes that the bed orders while the emulator runs, which the caller adds, too."""


@dataclass(frozen=True, order=True)
class Demand:
    """What a condition needs the link to do."""

    quantity: str
    value: Value


def envelope(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Return the covered intervals of each quantity, and the kinds that passed."""
    tried: dict[str, dict[Value, bool]] = {}
    for verdict in verdicts:
        for quantity, value in verdict.covers.items():
            values = tried.setdefault(quantity, {})
            values[value] = values.get(value, True) and verdict.passed
    return {
        quantity: _intervals(values) if quantity in RANGES else _kinds(values)
        for quantity, values in tried.items()
    }


def _intervals(values: Mapping[Value, bool]) -> list[list[float]]:
    intervals: list[list[float]] = []
    adjoining = False
    for value in sorted(map(float, values)):
        if not values[value]:
            adjoining = False
        elif adjoining:
            intervals[-1][1] = value
        else:
            intervals.append([value, value])
            adjoining = True
    return intervals


def _kinds(values: Mapping[Value, bool]) -> list[str]:
    return sorted(str(value) for value, passed in values.items() if passed)


def covered_by(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a certificate covers, measured or computed."""
    covered = dict(certificate["envelope"])
    for quantity, kinds in certificate.get("computed", {}).items():
        covered[quantity] = [*covered.get(quantity, ()), *kinds]
    return covered


def outside(covered: Mapping[str, Any], demands: Iterable[Demand]) -> list[str]:
    """Return the reasons why demands are not covered."""
    reasons = (_reason(covered, demand) for demand in sorted(demands))
    return list(dict.fromkeys(filter(None, reasons)))


def _reason(covered: Mapping[str, Any], demand: Demand) -> str:
    if demand.quantity not in RANGES:
        known = demand.value in covered.get(demand.quantity, ())
        return "" if known else f"{demand.quantity} {demand.value}: no cell of it has passed"
    value, write = float(demand.value), RANGES[demand.quantity]
    intervals = covered.get(demand.quantity, [])
    if any(low <= value <= high for low, high in intervals):
        return ""
    ranges = ", ".join(f"{write(low)} to {write(high)}" for low, high in intervals) or "nothing"
    return f"{NAMES[demand.quantity]} {write(value)}: {ranges} is covered"


def demands(config: Mapping[str, Any]) -> set[Demand]:
    """Return the demands of an emulator's configuration."""
    links = {demand for link in config["links"] for demand in _of_link(link)}
    return links | {demand for change in config.get(ORDERED, ()) for demand in _of_change(change)}


def _of_link(link: Mapping[str, Any]) -> Iterator[Demand]:
    for direction in link["directions"]:
        yield from _of_direction(direction)
    changes = (*link["schedule"], *link["triggers"])
    for change in (entry["change"] or {} for entry in changes):
        yield from _of_change(change)
    for trigger in link["triggers"]:
        if trigger["change"] or trigger["name"] == TRIGGER:  # others are only reported
            yield Demand("event", _event(trigger["when"]))


def _of_change(change: Mapping[str, Any]) -> Iterator[Demand]:
    if "rate_bit_s" in change:
        yield Demand("rate_bit_s", change["rate_bit_s"])
        yield Demand("change", "rate")
    if "delay_ns" in change:
        yield Demand("delay_s", change["delay_ns"] / 1e9)
        yield Demand("change", "delay")
    if "loss" in change:
        yield Demand("loss", change["loss"])
        yield Demand("change", "loss")
    if "down" in change:
        yield Demand("change", "state")
    if "rebind" in change:
        yield Demand("change", "NAT rebinding")


def _event(when: Mapping[str, Any]) -> str:
    if "delivered_bytes" in when:
        return "delivered"
    return "first packet" if "first_packet" in when else "handshake"


def _of_direction(direction: Mapping[str, Any]) -> Iterator[Demand]:
    for impairment in ALL:
        value = direction.get(impairment.key)
        if needs := _DEMANDS.get(impairment.field):
            yield from needs(value, direction)
        elif value:
            yield Demand("impairment", impairment.field)
    yield from _of_combination(direction)


def _of_combination(direction: Mapping[str, Any]) -> Iterator[Demand]:
    if direction["rate"] and direction["delay_ns"]:
        yield Demand("together", "rate and delay")
    if sum(bool(direction.get(impairment.key)) for impairment in ALL if impairment.random) > 1:
        yield Demand("together", "several impairments")


def _of_delay(delay_ns: int, _direction: Mapping[str, Any]) -> Iterator[Demand]:
    yield Demand("delay_s", delay_ns / 1e9)


def _of_rate(rate: Mapping[str, Any] | None, _direction: Mapping[str, Any]) -> Iterator[Demand]:
    if not rate:
        return
    for name in ("bit_s", MEAN):
        if rate.get(name):
            yield Demand("rate_bit_s", rate[name])
    if rate.get("model", "constant") != "constant":
        yield Demand("rate model", rate["model"])


def _of_loss(loss: Mapping[str, Any] | None, _direction: Mapping[str, Any]) -> Iterator[Demand]:
    if loss and "probability" in loss:
        yield Demand("loss", loss["probability"])
    elif loss:
        yield Demand("loss model", loss["model"])


def _of_jitter(jitter: Mapping[str, Any] | None, _direction: Mapping[str, Any]) -> Iterator[Demand]:
    if jitter:
        yield Demand("jitter", jitter["distribution"])


def _of_counting(overhead: int | None, direction: Mapping[str, Any]) -> Iterator[Demand]:
    if overhead and direction["rate"]:  # without a rate no bytes are counted
        yield Demand("counted", COUNTED.get(overhead, f"{overhead} bytes more"))


def _of_queue(queue: Mapping[str, Any] | None, direction: Mapping[str, Any]) -> Iterator[Demand]:
    if not direction["rate"]:  # without a rate nothing waits
        return
    table = queue or {}
    limit = table.get("limit")
    for unit in {"packets", "bytes", "ns"} & set(limit or {}):
        yield Demand("queue limit", {"ns": "time"}.get(unit, unit))
    if not limit:
        yield Demand("queue limit", "unlimited")
    if (discipline := table.get("discipline", DISCIPLINE)) != DISCIPLINE:
        yield Demand("queue discipline", discipline)
        if table.get("ecn"):
            yield Demand("marking by", discipline)


_DEMANDS: Mapping[str, Callable[[Any, Mapping[str, Any]], Iterator[Demand]]] = {
    "delay": _of_delay,
    "rate": _of_rate,
    "loss": _of_loss,
    "jitter": _of_jitter,
    "counted": _of_counting,
    "queue": _of_queue,
}
"""Returns what an impairment's configuration needs; an impairment that is not here needs a cell of
its name."""
