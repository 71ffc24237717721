"""Checks of each link: packets lost, copied and damaged by seed; changes by schedule and event.

The emulator reports the number of every packet that it lost, copied or damaged. Python makes the
same draws again. A packet that a NAT rejects, that meets a link that is down, or that is lost, is
neither copied nor damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from httpbed.base.units import format_share
from httpbed.experiment.check import (
    AS_DRAWN,
    CHANGES_BY_EVENTS,
    CONSERVATION,
    SCHEDULED_CHANGES,
)
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.registry import CAUSES, CHANCES
from httpbed.experiment.trial import Check

CONFIDENCE = 0.95
RAISED_NS = 1_000_000
"""A direction makes a scheduled change at the exact ns, unless it has already settled a later
packet or change: an event, or the start itself, becomes known later than its time. That delay is
shorter than one reading of the sockets. A later change did not come from the schedule."""
END_NS = 50_000_000
"""A change this shortly before the client's end may be due after the emulator's end."""
OUT = ("delivered", *(cause.counter for cause in CAUSES), "in_flight")
"""Counters that add up to the packets that came in and their copies."""

Table = Mapping[str, Any]


def checks(planned: Table, result: Table, lasted_s: float) -> Iterator[Check]:
    """Compare an emulator's result with its configuration; the client ran for ``lasted_s``."""
    yield _conservation(result)
    for index, link in enumerate(planned["links"]):
        where = f"on {link['name']}" if len(planned["links"]) > 1 else ""
        directions = [
            {**direction, "over": _over(link, planned["links"])}
            for direction in result["directions"][2 * index : 2 * index + 2]
        ]
        yield from _of_link(link, directions, _made(result, link), lasted_s, where)


def _over(link: Table, links: Sequence[Table]) -> str:
    """Name the link, where another one joins the same hosts."""
    alike = [one for one in links if set(one["hosts"]) == set(link["hosts"])]
    return f" over {link['name']}" if len(alike) > 1 else ""


def _of_link(
    link: Table, directions: Sequence[Table], changes: Sequence[Table], lasted_s: float, where: str
) -> Iterator[Check]:
    """Check one link by the results of its directions and the changes that were made."""
    for side, result in enumerate(directions):
        yield from _of_direction(link["directions"][side], _loss_changes(changes, side), result)
    if link["schedule"] or any(change["by"] == "schedule" for change in changes):
        yield _schedule(link["schedule"], changes, lasted_s, where)
    by_events = any(change["by"] == "trigger" for change in changes)
    if by_events or any(trigger["change"] for trigger in link["triggers"]):
        yield _events(link["triggers"], changes, where)


def _of_direction(
    configured: Table, loss_changes: list[tuple[int, float]], result: Table
) -> Iterator[Check]:
    from httpbed.bed.network import fates  # noqa: PLC0415 - numpy: a run begins without it

    yield _losses(configured["loss"], loss_changes, result)
    for impairment, chance in CHANCES:
        if probability := configured[impairment.key]:
            drawn = fates.chosen(probability, result["packets"]["in"], chance.draws)
            yield _as_drawn(chance.noun, drawn, result[f"{chance.counter}_numbers"], result)


def _conservation(result: Table) -> Check:
    packets = [direction["packets"] for direction in result["directions"]]
    balanced = [
        counts["in"] + counts.get("duplicated", 0) == sum(counts.get(name, 0) for name in OUT)
        for counts in packets
    ]
    copies = sum(counts.get("duplicated", 0) for counts in packets)
    figure = f"{' + '.join(str(counts['in']) for counts in packets)} packets in"
    figure += f" and {copies} copies, each accounted for" if copies else ", each accounted for"
    if not all(balanced):
        figure = f"packets in and out differ: {packets}"
    came = sum(counts["in"] for counts in packets)
    return CONSERVATION.result(passed=all(balanced), figure=figure, measured=came)


def _made(result: Table, link: Table) -> list[Table]:
    """Return every change that was made to a link, one entry per direction."""
    return [change for change in result["changes"] if change["link"] == link["name"]]


def _loss_changes(changes: Iterable[Table], side: int) -> list[tuple[int, float]]:
    """Return the probabilities that loss was set to, each with the first packet it applied to.

    A change before a direction's first packet applies from packet 0 on.
    """
    return [
        (change.get("next_number") or 0, change["change"]["loss"])
        for change in changes
        if "loss" in change["change"] and change["direction"] == side
    ]


def _losses(model: Table | None, changes: list[tuple[int, float]], result: Table) -> Check:
    from httpbed.bed.network import fates  # noqa: PLC0415 - numpy: a run begins without it

    count, lost = result["packets"]["in"], result["lost_numbers"]
    undrawn = _dropped_undrawn(result)
    drawn = [number for number in fates.lost(model, count, changes) if number not in undrawn]
    since = [f"at {share:.4g} from packet {first} on" for first, share in changes]
    return AS_DRAWN.result(
        item="losses",
        where=_title(result),
        passed=drawn == lost,
        figure=_share(len(lost), count),
        limit=", ".join([f"the {len(drawn)} {_words(model)}", *since]),
        measured=len(lost),
    )


def _title(result: Table) -> str:
    return f"{result['from']}->{result['to']}{result['over']}"


def _dropped_undrawn(result: Table) -> set[int]:
    """Return the packets dropped without a draw: the link was down, or a NAT had no mapping.

    Packets inside the link when it went down are included, although they had a draw.
    """
    causes = (cause for cause in CAUSES if not cause.draws_later)
    return {number for cause in causes for number in result.get(cause.numbers, ())}


def _words(model: Table | None) -> str:
    """Describe where the expected losses come from."""
    if model is None:
        return "that the seed draws at 0"
    if model["model"] == "listed":
        return "that are listed"
    if model["model"] == "bernoulli":
        return f"that the seed draws at {model['probability']:.4g}"
    return "that the seed draws in bursts"


def _as_drawn(what: str, drawn: Iterable[int], numbers: list[int], result: Table) -> Check:
    """Compare with the draws; a packet dropped without a draw may be in either set."""
    possible = set(drawn) - set(result["lost_numbers"])
    certain = possible - _dropped_undrawn(result)
    return AS_DRAWN.result(
        item=what,
        where=_title(result),
        passed=certain <= set(numbers) <= possible,
        figure=f"{len(numbers)} of {result['packets']['in']} packets",
        limit=f"the {len(certain)} that the seed draws",
        measured=len(numbers),
    )


def _share(lost: int, count: int) -> str:
    """Write the share of losses with its interval (Clopper and Pearson 1934), as information."""
    if count == 0:
        return "no packet passed"
    from scipy import special  # noqa: PLC0415 - slow to import, and a run begins without it

    tail = (1 - CONFIDENCE) / 2
    low = special.betaincinv(lost, count - lost + 1, tail) if lost else 0.0
    high = special.betaincinv(lost + 1, count - lost, 1 - tail) if lost < count else 1.0
    share, *ends = (format_share(float(one), 2) for one in (lost / count, low, high))
    return f"{lost} of {count} lost, {share}, 95 % interval {' .. '.join(ends)}"


def _schedule(entries: list[Table], changes: Sequence[Table], lasted_s: float, where: str) -> Check:
    """Check that the changes due before the end, and no others, were made, each at its time."""
    scheduled = [change for change in changes if change["by"] == "schedule"]
    planned = [{**entry, "direction": side} for entry in entries for side in _sides(entry)]
    due = [entry for entry in planned if entry["at_ns"] < lasted_s * 1e9 - END_NS]
    missing = [entry for entry in due if not any(_is_of(change, entry) for change in scheduled)]
    strange = [
        change for change in scheduled if not any(_is_of(change, entry) for entry in planned)
    ]
    figure = f"{len(scheduled)} changes made"
    for words, amiss in (("not made", missing), ("not in the experiment", strange)):
        if amiss:
            figure = f"{words} at {_change_at(amiss[0])}; {figure}"
    return SCHEDULED_CHANGES.result(
        where=where,
        passed=not missing and not strange,
        figure=figure,
        limit=f"{len(due)} of {len(planned)} were due, each at its time",
        measured=len(scheduled),
    )


def _sides(entry: Table) -> tuple[int, ...]:
    return (0, 1) if entry["direction"] is None else (entry["direction"],)


def _is_of(change: Table, entry: Table) -> bool:
    """Whether a change is the one of a schedule's entry, made in its direction at its time."""
    same = all(change[name] == entry[name] for name in ("direction", "change"))
    return same and 0 <= change["at_ns"] - entry["at_ns"] <= RAISED_NS


def _change_at(change: Table) -> str:
    direction = DIRECTIONS[change["direction"]]
    return f"{change['at_ns'] / 1e9:g} s: {_in_words(change['change'])} {direction}"


def _events(triggers: list[Table], changes: Sequence[Table], where: str) -> Check:
    """List the changes that events caused; an event that never happens is no fault."""
    triggered = [change for change in changes if change["by"] == "trigger"]
    caused = [
        f"{change['trigger']}: {_in_words(change['change'])} at {change['at_ns'] / 1e9:.3f} s"
        for change in triggered
    ]
    names = [trigger["name"] for trigger in triggers]
    return CHANGES_BY_EVENTS.result(
        where=where,
        passed={change["trigger"] for change in triggered} <= set(names),
        figure="; ".join(caused) or "none happened",
        limit=f"only by {', '.join(names)}",
    )


def _in_words(change: Table) -> str:
    ((name, value),) = change.items()
    if name == "down":
        return "link down" if value else "link up"
    if name == "rebind":
        return "NAT rebinding"
    words = {
        "rate_bit_s": f"rate {value} bit/s",
        "delay_ns": f"delay {value / 1e6:g} ms",
        "loss": f"loss {value:.4g}",
    }
    return words[name]
