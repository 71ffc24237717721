"""What a calibration covers: ranges between neighbouring cells that passed, and kinds that passed.

A value is covered when the nearest cells on both sides passed; a kind (a jitter's distribution, a
unit of the queue's limit) when every cell of it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.calibration.cell import Value
from httpbed.calibration.judge import Verdict
from httpbed.model import phrase

RANGES: Mapping[str, Callable[[float], str]] = {
    "rate_bit_s": phrase.rate,
    "delay_s": phrase.duration,
    "loss": phrase.share,
}
"""Quantities of which a range is covered, and how their values are written."""
NAMES = {"rate_bit_s": "rate", "delay_s": "delay", "loss": "loss"}
DISCIPLINE = "droptail"
"""The one queue discipline whose drops arithmetic tells."""


@dataclass(frozen=True, order=True)
class Demand:
    """Something that a condition needs the link to do."""

    quantity: str
    value: Value


def envelope(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Sum up what was found: intervals of each quantity, and the kinds that passed."""
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
    found: list[list[float]] = []
    adjoining = False
    for value in sorted(map(float, values)):
        if not values[value]:
            adjoining = False
        elif adjoining:
            found[-1][1] = value
        else:
            found.append([value, value])
            adjoining = True
    return found


def _kinds(values: Mapping[Value, bool]) -> list[str]:
    return sorted(str(value) for value, passed in values.items() if passed)


def outside(covered: Mapping[str, Any], demands: Iterable[Demand]) -> list[str]:
    """Say of each demand that is not covered why not."""
    return list(dict.fromkeys(filter(None, (_reason(covered, one) for one in sorted(demands)))))


def _reason(covered: Mapping[str, Any], demand: Demand) -> str:
    if demand.quantity not in RANGES:
        known = demand.value in covered.get(demand.quantity, ())
        return "" if known else f"{demand.quantity} {demand.value}: no cell of it has passed"
    value, write = float(demand.value), RANGES[demand.quantity]
    intervals = covered.get(demand.quantity, [])
    if any(low <= value <= high for low, high in intervals):
        return ""
    said = ", ".join(f"{write(low)} to {write(high)}" for low, high in intervals) or "nothing"
    return f"{NAMES[demand.quantity]} {write(value)}: {said} is covered"


def demands(config: Mapping[str, Any]) -> set[Demand]:
    """List what an emulator's configuration needs; any version of it."""
    return {demand for link in config["links"] for demand in _of_link(link)}


def _of_link(link: Mapping[str, Any]) -> Iterator[Demand]:
    for direction in link["directions"]:
        yield from _of_direction(direction)
    changes = (*link.get("schedule", ()), *link.get("triggers", ()))
    for change in (entry["change"] or {} for entry in changes):
        if "rate_bit_s" in change:
            yield Demand("rate_bit_s", change["rate_bit_s"])
        if "delay_ns" in change:
            yield Demand("delay_s", change["delay_ns"] / 1e9)
        if "loss" in change:
            yield Demand("loss", change["loss"])


def _of_direction(said: Mapping[str, Any]) -> Iterator[Demand]:
    yield Demand("delay_s", said["delay_ns"] / 1e9)
    yield from _of_rate(said.get("rate") or {"bit_s": said.get("rate_bit_s")})
    yield from _of_loss(said.get("loss") or {})
    if said.get("rate") or said.get("rate_bit_s"):  # without one nothing waits
        yield from _of_queue(said.get("queue") or {})
    if jitter := said.get("jitter"):
        yield Demand("jitter", jitter["distribution"])
    for impairment in ("duplication", "corruption", "reordering"):
        if said.get(impairment):
            yield Demand("impairment", impairment)


def _of_rate(rate: Mapping[str, Any]) -> Iterator[Demand]:
    if rate.get("bit_s"):
        yield Demand("rate_bit_s", rate["bit_s"])
    if rate.get("model", "constant") != "constant":
        yield Demand("rate model", rate["model"])


def _of_loss(loss: Mapping[str, Any]) -> Iterator[Demand]:
    if "probability" in loss:
        yield Demand("loss", loss["probability"])
    elif loss:
        yield Demand("loss model", loss["model"])


def _of_queue(queue: Mapping[str, Any]) -> Iterator[Demand]:
    limit = queue.get("limit", queue) or {}
    for unit in {"packets", "bytes", "ns"} & set(limit):
        yield Demand("queue limit", {"ns": "time"}.get(unit, unit))
    if (discipline := queue.get("discipline", DISCIPLINE)) != DISCIPLINE:
        yield Demand("queue discipline", discipline)
