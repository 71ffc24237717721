"""What a certificate covers: what was measured on this machine, and what the emulator computes.

Measured is what a machine can spoil. A value (rate, delay, loss) is covered if the nearest cells on
both sides passed; a unit of the queue's limit if all its cells passed. Whatever else a link does is
the emulator's arithmetic, which its own tests compute for whole flows: ``crates/link-model/tests``,
foremost ``arithmetic.rs``; for events and NAT, ``crates/httpbed-link/src/emulator/tests`` and
``tests/namespaces/test_nat.py``. A certificate is of one emulator, so it covers that, too, but for
what no test computes: changes at a handshake, PIE's marks, a queue without a limit, and any
impairment that is not in :data:`COMPUTED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from httpbed.addons.calibration.cell import Value
from httpbed.base import units
from httpbed.experiment.impairments.registry import ALL
from httpbed.experiment.roles import TRIGGER

if TYPE_CHECKING:  # it imports numpy, which only judging needs
    from httpbed.addons.calibration.session import Verdict

RANGES: Mapping[str, Callable[[float], str]] = {
    "rate_bit_s": units.format_rate,
    "delay_s": units.format_duration,
    "loss": units.format_share,
}
"""Quantities that are covered in ranges, with the formatting of their values."""
NAMES = {"rate_bit_s": "rate", "delay_s": "delay", "loss": "loss"}
MEASURED = frozenset({"rate", "delay", "loss", "queue"})
"""Impairments that cells measure."""
COMPUTED = frozenset(impairment.field for impairment in ALL if impairment.is_computed)
"""Impairments that the emulator's tests compute, and no cell measures."""
MARKS_LATE = "pie"
"""The queue discipline that drops where it should mark, above a probability of 10 %."""
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


def outside(covered: Mapping[str, Any], demands: Iterable[Demand]) -> list[str]:
    """Return the reasons why demands are not covered."""
    reasons = (_reason(covered, demand) for demand in sorted(demands))
    return list(dict.fromkeys(filter(None, reasons)))


def _reason(covered: Mapping[str, Any], demand: Demand) -> str:
    if demand.quantity not in RANGES:
        known = demand.value in covered.get(demand.quantity, ())
        return "" if known else f"{demand.quantity} {demand.value}: no cell that passed covers it"
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
    for entry in (*link["schedule"], *link["triggers"]):
        yield from _of_change(entry["change"] or {})
    for trigger in link["triggers"]:
        changes = trigger["change"] or trigger["name"] == TRIGGER  # others are only reported
        if changes and "handshake" in trigger["when"]:
            yield Demand("event", "handshake")


def _of_direction(direction: Mapping[str, Any]) -> Iterator[Demand]:
    yield Demand("delay_s", direction["delay_ns"] / 1e9)
    rate, loss = direction["rate"] or {}, direction.get("loss") or {}
    for name in ("bit_s", MEAN):
        if rate.get(name):
            yield Demand("rate_bit_s", rate[name])
    if "probability" in loss:
        yield Demand("loss", loss["probability"])
    if rate:  # else nothing waits
        yield from _of_queue(direction.get("queue") or {})
    for impairment in ALL:
        is_known = impairment.field in MEASURED | COMPUTED
        if not is_known and direction.get(impairment.key):
            yield Demand("impairment", impairment.field)


def _of_queue(queue: Mapping[str, Any]) -> Iterator[Demand]:
    for unit in queue.get("limit") or ("unlimited",):
        yield Demand("queue limit", {"ns": "time"}.get(unit, unit))
    if queue.get("discipline") == MARKS_LATE and queue.get("ecn"):
        yield Demand("marking by", MARKS_LATE)


def _of_change(change: Mapping[str, Any]) -> Iterator[Demand]:
    if "rate_bit_s" in change:
        yield Demand("rate_bit_s", change["rate_bit_s"])
    if "delay_ns" in change:
        yield Demand("delay_s", change["delay_ns"] / 1e9)
    if "loss" in change:
        yield Demand("loss", change["loss"])
