"""Checks of what the link did to packets, against what its seed and its schedule say.

The emulator reports the number of every packet that was lost, copied or damaged; here the same
draws are made again. Whatever else may have happened to a packet before is allowed for exactly:
one that arrives at a link that is down, or is lost, is neither copied nor damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scipy import special

from httpbed.model.trial import Check
from httpbed.network import fates

CONFIDENCE = 0.95
CHANGE_LATE_NS = 1_000_000
"""Changes take effect in the model's own time, exactly; 1 ms is for a report in other words."""
END_NS = 50_000_000
"""A change so shortly before the client's end may have come after the emulator's."""
OUT = ("delivered", "lost", "queue_dropped", "aqm_dropped", "down_dropped", "in_flight")

Table = Mapping[str, Any]


def checks(planned: Table, result: Table, lasted_s: float) -> Iterator[Check]:
    """Check an emulator's result by its configuration, after ``lasted_s`` seconds of the client."""
    link = planned["links"][0]
    yield _conservation(result)
    for index, seen in enumerate(result["directions"]):
        way, name = link["directions"][index], f"{seen['from']}->{seen['to']}"
        yield _losses(way["loss"], _loss_changes(link, index), seen, name)
        if way["duplication"]:
            drawn = fates.duplicated(way["duplication"], seen["packets"]["in"])
            yield _as_drawn("copies", drawn, seen["duplicated_numbers"], seen)
        if way["corruption"]:
            drawn = fates.corrupted(way["corruption"], seen["packets"]["in"])
            yield _as_drawn("damage", drawn, seen["corrupted_numbers"], seen)
    if link["schedule"]:
        yield _schedule(link["schedule"], result, lasted_s)
    if link["triggers"]:
        yield _events(link["triggers"], result)


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="bed", passed=passed, figure=figure, limit=limit)


def _conservation(result: Table) -> Check:
    ways = [way["packets"] for way in result["directions"]]
    kept = [
        way["in"] + way.get("duplicated", 0) == sum(way.get(name, 0) for name in OUT)
        for way in ways
    ]
    copies = sum(way.get("duplicated", 0) for way in ways)
    figure = f"{' + '.join(str(way['in']) for way in ways)} packets in"
    figure += f" and {copies} copies, each accounted for" if copies else ", each accounted for"
    if not all(kept):
        figure = f"packets in and out differ: {ways}"
    return _check("conservation of packets", passed=all(kept), figure=figure)


def _loss_changes(link: Table, index: int) -> list[float]:
    """Probabilities that loss may be set to while the link runs."""
    entries = [*link["schedule"], *link["triggers"]]
    return [
        entry["change"]["loss"]
        for entry in entries
        if entry["change"] and "loss" in entry["change"] and entry["direction"] in {None, index}
    ]


def _losses(model: Table | None, changes: list[float], seen: Table, name: str) -> Check:
    count, found = seen["packets"]["in"], seen["lost_numbers"]
    down = set(seen.get("down_dropped_numbers", ()))
    figure = _share(len(found), count)
    if model and changes:
        surely, perhaps = fates.lost_at_most(model, changes, count)
        return _check(
            f"losses as drawn, {name}",
            passed=set(surely) - down <= set(found) <= set(perhaps),
            figure=figure,
            limit=f"{len(surely)} to {len(perhaps)} that the seed draws, by when the loss changed",
        )
    drawn = [number for number in fates.lost(model, count) if number not in down]
    return _check(
        f"losses as drawn, {name}",
        passed=drawn == found,
        figure=figure,
        limit=f"the {len(drawn)} {_words(model)}",
    )


def _words(model: Table | None) -> str:
    """Say where the expected losses come from."""
    if model is None:
        return "that the seed draws at 0"
    if model["model"] == "listed":
        return "that are listed"
    if model["model"] == "bernoulli":
        return f"that the seed draws at {model['probability']:.4g}"
    return "that the seed draws in bursts"


def _as_drawn(what: str, drawn: Iterable[int], found: list[int], seen: Table) -> Check:
    """Compare with the draws; of packets dropped by a link that went down, either is right."""
    possible = set(drawn) - set(seen["lost_numbers"])
    certain = possible - set(seen.get("down_dropped_numbers", ()))
    return _check(
        f"{what} as drawn, {seen['from']}->{seen['to']}",
        passed=certain <= set(found) <= possible,
        figure=f"{len(found)} of {seen['packets']['in']} packets",
        limit=f"the {len(certain)} that the seed draws",
    )


def _share(lost: int, count: int) -> str:
    """Realised share with its interval (Clopper and Pearson 1934); it rejects nothing."""
    if count == 0:
        return "no packet passed"
    tail = (1 - CONFIDENCE) / 2
    low = special.betaincinv(lost, count - lost + 1, tail) if lost else 0.0
    high = special.betaincinv(lost + 1, count - lost, 1 - tail) if lost < count else 1.0
    return f"{lost} of {count} lost, {lost / count:.2%}, 95 % interval {low:.2%} .. {high:.2%}"


def _schedule(entries: list[Table], result: Table, lasted_s: float) -> Check:
    """Check that each change that was due before the end was made, and at its time."""
    made = [change for change in result.get("changes", ()) if change["by"] == "schedule"]
    due = [entry for entry in entries if entry["at_ns"] < lasted_s * 1e9 - END_NS]
    missing = [entry for entry in due if not _was_made(entry, made)]
    figure = f"{len(made)} changes made"
    if missing:
        first = missing[0]
        figure = f"not made at {first['at_ns'] / 1e9:g} s: {_said(first['change'])}; {figure}"
    limit = f"{len(due)} of {len(entries)} were due, each at its time"
    return _check("scheduled changes", passed=not missing, figure=figure, limit=limit)


def _was_made(entry: Table, made: list[Table]) -> bool:
    at_time = [
        change["direction"]
        for change in made
        if change["change"] == entry["change"]
        and abs(change["at_ns"] - entry["at_ns"]) <= CHANGE_LATE_NS
    ]
    asked = entry["direction"]
    return asked in at_time or None in at_time or (asked is None and {0, 1} <= set(at_time))


def _events(triggers: list[Table], result: Table) -> Check:
    """Tell which changes events have caused; what does not happen is no fault of the bed."""
    made = [change for change in result.get("changes", ()) if "trigger:" in change["by"]]
    told = [
        f"{change['by'].removeprefix('trigger:')}: {_said(change['change'])}"
        f" at {change['at_ns'] / 1e9:.3f} s"
        for change in made
    ]
    known = {f"trigger:{trigger['name']}" for trigger in triggers}
    strangers = {change["by"] for change in made} - known
    names = ", ".join(trigger["name"] for trigger in triggers)
    return _check(
        "changes by events",
        passed=not strangers,
        figure="; ".join(told) or "none came to pass",
        limit=f"only by {names}",
    )


def _said(change: Table) -> str:
    """Say a change in words."""
    ((name, value),) = change.items()
    if name == "down":
        return "link down" if value else "link up"
    words = {
        "rate_bit_s": f"rate {value} bit/s",
        "delay_ns": f"delay {value / 1e6:g} ms",
        "loss": f"loss {value:.4g}",
    }
    return words[name]
