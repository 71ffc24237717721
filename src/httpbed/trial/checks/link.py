"""Checks of what the link did to packets, against what its seed and its schedule say.

The emulator reports the number of every packet that was lost, copied or damaged; here the same
draws are made again. Whatever else may have happened to a packet before is allowed for exactly:
one that a NAT turns away, that arrives at a link that is down, or is lost, is neither copied nor
damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scipy import special

from httpbed.experiment.impairments.registry import CAUSES, CHANCES
from httpbed.experiment.trial import Check
from httpbed.network import fates

CONFIDENCE = 0.95
RAISED_NS = 1_000_000
"""A direction makes a scheduled change in its own time: at the very ns, and never before. Only what
it had settled already (a packet's arrival or departure, another change) can raise that, as where an
event or the start itself becomes known later than its time. That is less than what a reading of the
sockets takes; a change that is later was not made by the schedule."""
END_NS = 50_000_000
"""A change so shortly before the client's end may have come after the emulator's."""
OUT = ("delivered", *(cause.counter for cause in CAUSES), "in_flight")
"""Counters that add up to the packets that came in and their copies."""

Table = Mapping[str, Any]


def checks(planned: Table, result: Table, lasted_s: float) -> Iterator[Check]:
    """Check an emulator's result by its configuration, after ``lasted_s`` seconds of the client."""
    yield _conservation(result)
    for index, link in enumerate(planned["links"]):
        where = f", on {link['name']}" if len(planned["links"]) > 1 else ""
        seen = [
            {**way, "over": _over(link, planned["links"])}
            for way in result["directions"][2 * index : 2 * index + 2]
        ]
        yield from _of_link(link, seen, _made(result, link), lasted_s, where)


def _over(link: Table, links: Sequence[Table]) -> str:
    """Say which link it is, where others join the same hosts."""
    alike = [one for one in links if set(one["hosts"]) == set(link["hosts"])]
    return f" over {link['name']}" if len(alike) > 1 else ""


def _of_link(
    link: Table, seen: Sequence[Table], made: Sequence[Table], lasted_s: float, where: str
) -> Iterator[Check]:
    """Check one link by what each direction has seen and by the changes that were made of it."""
    for side, told in enumerate(seen):
        yield from _of_direction(link["directions"][side], _loss_changes(made, side), told)
    if link["schedule"] or any(change["by"] == "schedule" for change in made):
        yield _schedule(link["schedule"], made, lasted_s, where)
    by_events = any("trigger:" in change["by"] for change in made)
    if by_events or any(trigger["change"] for trigger in link["triggers"]):
        yield _events(link["triggers"], made, where)


def _of_direction(
    way: Table, loss_changes: list[tuple[int, float]], seen: Table
) -> Iterator[Check]:
    yield _losses(way["loss"], loss_changes, seen)
    for impairment, chance in CHANCES:
        if configured := way[impairment.key]:
            drawn = fates.chosen(configured, seen["packets"]["in"], chance.draws)
            yield _as_drawn(chance.noun, drawn, seen[f"{chance.counter}_numbers"], seen)


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


def _made(result: Table, link: Table) -> list[Table]:
    """Every change that was made of a link, one entry for each direction."""
    return [change for change in result.get("changes", ()) if change["link"] == link["name"]]


def _loss_changes(made: Iterable[Table], side: int) -> list[tuple[int, float]]:
    """Probabilities that loss was set to, each with the first packet that met it.

    Before a direction's first packet has a number, the change holds from the first on.
    """
    return [
        (change.get("next_number") or 0, change["change"]["loss"])
        for change in made
        if "loss" in change["change"] and change["direction"] == side
    ]


def _losses(model: Table | None, changes: list[tuple[int, float]], seen: Table) -> Check:
    count, found = seen["packets"]["in"], seen["lost_numbers"]
    undrawn = _dropped_undrawn(seen)
    drawn = [number for number in fates.lost(model, count, changes) if number not in undrawn]
    since = [f"at {share:.4g} from packet {first} on" for first, share in changes]
    return _check(
        f"losses as drawn, {seen['from']}->{seen['to']}{seen['over']}",
        passed=drawn == found,
        figure=_share(len(found), count),
        limit=", ".join([f"the {len(drawn)} {_words(model)}", *since]),
    )


def _dropped_undrawn(seen: Table) -> set[int]:
    """Packets for which no draw was looked at: the link was down, or a NAT knew nobody for them.

    Those that were inside when the link went down are among them, though theirs were.
    """
    causes = (cause for cause in CAUSES if not cause.draws_later)
    return {number for cause in causes for number in seen.get(cause.numbers, ())}


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
    """Compare with the draws; of packets dropped without a draw, either is right."""
    possible = set(drawn) - set(seen["lost_numbers"])
    certain = possible - _dropped_undrawn(seen)
    return _check(
        f"{what} as drawn, {seen['from']}->{seen['to']}{seen['over']}",
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


def _schedule(entries: list[Table], changes: Sequence[Table], lasted_s: float, where: str) -> Check:
    """Check that what was due before the end was made, each at its time, and nothing else."""
    made = [change for change in changes if change["by"] == "schedule"]
    asked = [{**entry, "direction": way} for entry in entries for way in _ways(entry)]
    due = [entry for entry in asked if entry["at_ns"] < lasted_s * 1e9 - END_NS]
    missing = [entry for entry in due if not any(_is_of(change, entry) for change in made)]
    strange = [change for change in made if not any(_is_of(change, entry) for entry in asked)]
    figure = f"{len(made)} changes made"
    for words, amiss in (("not made", missing), ("not asked for", strange)):
        if amiss:
            figure = f"{words} at {_told(amiss[0])}; {figure}"
    return _check(
        f"scheduled changes{where}",
        passed=not missing and not strange,
        figure=figure,
        limit=f"{len(due)} of {len(asked)} were due, each at its time",
    )


def _ways(entry: Table) -> tuple[int, ...]:
    return (0, 1) if entry["direction"] is None else (entry["direction"],)


def _is_of(change: Table, entry: Table) -> bool:
    """Whether a change is the one that an entry of one direction asks for, made at its time."""
    same = all(change[name] == entry[name] for name in ("direction", "change"))
    return same and 0 <= change["at_ns"] - entry["at_ns"] <= RAISED_NS


def _told(change: Table) -> str:
    way = ("up", "down")[change["direction"]]
    return f"{change['at_ns'] / 1e9:g} s: {_said(change['change'])} {way}"


def _events(triggers: list[Table], changes: Sequence[Table], where: str) -> Check:
    """Tell which changes events have caused; what does not happen is no fault of the bed."""
    made = [change for change in changes if "trigger:" in change["by"]]
    told = [
        f"{change['by'].removeprefix('trigger:')}: {_said(change['change'])}"
        f" at {change['at_ns'] / 1e9:.3f} s"
        for change in made
    ]
    known = {f"trigger:{trigger['name']}" for trigger in triggers}
    strangers = {change["by"] for change in made} - known
    names = ", ".join(trigger["name"] for trigger in triggers)
    return _check(
        f"changes by events{where}",
        passed=not strangers,
        figure="; ".join(told) or "none came to pass",
        limit=f"only by {names}",
    )


def _said(change: Table) -> str:
    """Say a change in words."""
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
