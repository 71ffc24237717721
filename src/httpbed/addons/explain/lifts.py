"""Limits that can be taken away: what in a scenario may remove a cause.

A lift changes a trial's document and nothing else. The program's recipe says whether it has the
knob; a lift that would make an impossible scenario is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from httpbed.addons.explain import windows
from httpbed.addons.explain.explanation import Explained, Unexplained
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.registry import ALL
from httpbed.experiment.roles import FIXED, TCP_BUFFERS, Role
from httpbed.experiment.scenario import Scenario
from httpbed.programs import role_checks
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.report.phrasing import brief_duration

Document = dict[str, Any]

LONGER_QUEUE = {"discipline": "droptail", "limit": "100000 packets"}
LOSSES = tuple(impairment.field for impairment in ALL if impairment.loses_packets)
INITIAL_WINDOW = 100
"""Packets of an initial window that delays few page loads: the usual one has 10 (RFC 6928)."""
CONTROLS = ("bbr", "bbr2", "cubic")
"""Congestion controls to try, the one that gives way least to losses first."""
UNPACED = ("cubic", "reno")
"""Congestion controls to try against pacing."""


@dataclass(frozen=True)
class Lift:
    """One limit, taken away."""

    cause: str
    what: str
    """In words, for a reader who wants to do the same."""
    document: Document
    """The scenario without it."""


def lifts(one: Explained, cause: str, document: Document, catalog: Catalog) -> Iterator[Lift]:
    """Yield what may take a cause away, the likeliest first."""
    scene = _Scene(one, cause, document, catalog)
    for maker in _MAKERS.get(cause, ()):
        for lift in maker(scene):
            if scene.is_possible(lift.document):
                yield lift


@dataclass(frozen=True)
class _Scene:
    one: Explained
    cause: str
    document: Document
    catalog: Catalog

    def lift(self, what: str, change: Callable[[Document], object]) -> Lift:
        changed = copy.deepcopy(self.document)
        change(changed)
        return Lift(self.cause, what, changed)

    @property
    def has_losses(self) -> bool:
        """Whether the link dropped a packet of the trial."""
        return bool(self.one.transfer.data.lost.any() or self.one.transfer.answers.lost.any())

    def is_possible(self, document: Document) -> bool:
        """Whether the programs can do it, and it is something else than before."""
        if document == self.document or [*role_checks.role_mistakes(self.catalog, document)]:
            return False
        try:
            Scenario.model_validate(document)
        except ValidationError:
            return False
        return True

    def sender(self) -> tuple[str, Role, Recipe | None]:
        """Return the part that sends the bodies to or from the client, its role and its recipe."""
        scenario = Scenario.model_validate(self.document)
        part = scenario.client_groups[0].sender(scenario.hops()[0])
        role = self.role(part)
        return part, role, self.catalog.recipes.get(role.implementation)

    def role(self, part: str) -> Role:
        """Return a part's role."""
        parts = Scenario.model_validate(self.document).parts()
        return next(role for name, role, _ in parts if name == part)


def _named_window(scene: _Scene) -> Iterator[Lift]:
    """Lift the window that held the transfer."""
    named_window = scene.one.held.of if scene.one.held else None
    if named_window is None or not named_window.window.knob or not named_window.window.lifted:
        return
    knobs = {named_window.window.knob: named_window.window.lifted}
    what = f"{named_window.program}'s {named_window.window.knob} = {named_window.window.lifted}"
    yield scene.lift(what, lambda changed: _set_knobs(changed, named_window.part, knobs))


def _all_windows(scene: _Scene) -> Iterator[Lift]:
    """Lift every window that the receiver's recipe knows: no single one explains the flight."""
    known = windows.candidates(Scenario.model_validate(scene.document), scene.catalog)
    liftable = [
        window
        for window in known
        if window.window.holds == "receiver's window"
        and window.window.knob
        and window.window.lifted != window.value
    ]
    knobs = {
        str(window.window.knob): window.window.lifted for window in liftable if window.window.lifted
    }
    if knobs:
        words = ", ".join(f"{knob} = {value}" for knob, value in knobs.items())
        what = f"{liftable[0].program}'s {words}"
        part = liftable[0].part
        yield scene.lift(what, lambda changed: _set_knobs(changed, part, knobs))


def _adapted_buffers(scene: _Scene) -> Iterator[Lift]:
    """Leave a stated buffer of TCP sockets to the kernel, which adapts it."""
    hop = Scenario.model_validate(scene.document).hops()[0]
    for part in (hop.client, hop.server):
        if stated := [key for key in TCP_BUFFERS if key in role_table(scene.document, part)]:
            what = f"no {' and '.join(stated)} of the {part}"
            yield scene.lift(what, partial(_delete, part=part, keys=stated))


def _larger_initial_window(scene: _Scene) -> Iterator[Lift]:
    """Let the part whose window it is send more packets of TCP at first; then both ends.

    Requests and responses may wait in the same round trip: then either window alone saves nothing.
    """
    sender = scene.sender()[0]
    part = "client" if scene.cause == "client's congestion window" else sender

    def change(changed: Document, parts: Iterable[str]) -> None:
        for one in parts:
            role_table(changed, one)["tcp_initial_window"] = INITIAL_WINDOW

    for parts in ((part,), ("client", sender)):
        if any((scene.role(one).tcp_initial_window or 0) >= INITIAL_WINDOW for one in parts):
            continue
        what = f"an initial window of {INITIAL_WINDOW} packets of the {' and the '.join(parts)}"
        yield scene.lift(what, partial(change, parts=parts))


def _no_losses(scene: _Scene) -> Iterator[Lift]:
    if not scene.has_losses:
        return

    def change(changed: Document) -> None:
        for table in _tables(changed):
            for key in LOSSES:
                table.pop(key, None)

    yield scene.lift("no losses by chance", change)


def _longer_queue(scene: _Scene) -> Iterator[Lift]:
    if not scene.has_losses:
        return

    def change(changed: Document) -> None:
        for table in _tables(changed):
            if "queue" in table or "rate" in table:
                table["queue"] = LONGER_QUEUE

    yield scene.lift("a queue without an end", change)


def _other_control(scene: _Scene) -> Iterator[Lift]:
    """Choose another congestion control of the part that sends the bodies."""
    part, role, recipe = scene.sender()
    if recipe is None:
        return
    transport = Scenario.model_validate(scene.document).hops()[0].transport
    control, stated = recipe.congestion_control, role.congestion_control
    if control.is_fixed(transport):
        return
    now = control.resolved(transport, stated)
    wanted = UNPACED if scene.cause == "pacing" else CONTROLS
    choices = {*control.allowed(transport)} - {FIXED, now}
    other = next((one for one in wanted if one in choices), None)
    if other is None or (now in wanted and wanted.index(now) < wanted.index(other)):
        return

    def change(changed: Document) -> None:
        role_table(changed, part)["congestion_control"] = other

    yield scene.lift(f"{other} as the congestion control of {recipe.name}", change)


def _faster_way_back(scene: _Scene) -> Iterator[Lift]:
    """Give the way of the acknowledgements the rate of the way of the data."""

    def change(changed: Document) -> None:
        scenario = Scenario.model_validate(scene.document)
        for place, forward in scenario.bodies_route(scenario.hops()[0], scenario.workload):
            way = changed["topology"]["links"][place].get(DIRECTIONS[1 - forward])
            if isinstance(way, dict):
                way.pop("rate", None)

    yield scene.lift("no lower rate on the way back", change)


def _no_proxy(scene: _Scene) -> Iterator[Lift]:
    """Let the client ask the server itself; the proxies' hosts forward its packets."""
    if scene.document["roles"].get("proxies"):
        yield scene.lift("no proxy", lambda changed: changed["roles"].pop("proxies"))


def _no_competitors(scene: _Scene) -> Iterator[Lift]:
    if scene.document.get("competitors"):
        yield scene.lift("no competitors", lambda changed: changed.update(competitors=[]))


_Maker = Callable[[_Scene], Iterator[Lift]]
_AFTER_LOSS: tuple[_Maker, ...] = (_no_losses, _longer_queue, _other_control)
_MAKERS: Mapping[str, tuple[_Maker, ...]] = {
    "fixed window": (_named_window, _adapted_buffers, _all_windows),
    "receiver's window": (_named_window, _adapted_buffers, _all_windows),
    "slow start": (_larger_initial_window,),
    "client's congestion window": (_larger_initial_window,),
    "recovery": _AFTER_LOSS,
    "timeout": _AFTER_LOSS,
    "congestion window": _AFTER_LOSS,
    "repeated bytes": _AFTER_LOSS,
    "late acknowledgements": (_faster_way_back,),
    "pacing": (_other_control,),
    "server": (_no_proxy,),
    "others on the link": (_no_competitors,),
}
"""By cause, the likeliest first."""


def _delete(document: Document, part: str, keys: Iterable[str]) -> None:
    table = role_table(document, part)
    for key in keys:
        del table[key]


def _set_knobs(document: Document, part: str, knobs: Mapping[str, str]) -> None:
    table = role_table(document, part)
    table["knobs"] = {**table.get("knobs", {}), **knobs}


def role_table(document: Document, part: str) -> Document:
    """Return the table of a part's role; of several proxies the first, which is the client's."""
    roles = document["roles"]
    found: Document = roles[part] if part in {"client", "server"} else roles["proxies"][0]
    return found


def _tables(document: Mapping[str, Any]) -> Iterator[Document]:
    """Yield the tables of each link that may have impairments."""
    for link in document["topology"]["links"]:
        yield link
        yield from (link[way] for way in DIRECTIONS if isinstance(link.get(way), dict))


REMOVED = 0.2
"""Share of its cost that a cause may keep if lifting its limit removed it."""


@dataclass(frozen=True)
class Rung:
    """What a lift did."""

    lift: Lift
    before: Explained
    after: Explained | Unexplained

    @property
    def saved_s(self) -> float | None:
        """Seconds that the trial took less; None if it cannot be divided."""
        if isinstance(self.after, Unexplained):
            return None
        return self.before.seconds - self.after.seconds

    @property
    def is_kept(self) -> bool:
        """Whether the next rung keeps what this one lifts: it saved something."""
        return (
            isinstance(self.after, Explained)
            and self.after.outcome == "completed"
            and self.after.division.whole < self.before.division.whole
        )

    @property
    def confirmed(self) -> bool:
        """Whether the cause went away, and the time that it took with it."""
        if not self.is_kept or isinstance(self.after, Unexplained):
            return False
        cost = self.after.division.costs()[self.lift.cause]
        return cost <= REMOVED * self.before.division.costs()[self.lift.cause]

    def sentence(self) -> str:
        """Say what was lifted and what came of it, without the full stop."""
        if isinstance(self.after, Unexplained):
            return f"With {self.lift.what}, the trial cannot be divided: {self.after.reason}"
        took = brief_duration(self.after.seconds)
        saved = self.saved_s or 0.0
        size = brief_duration(abs(saved))
        change = f"{size} {'less' if saved >= 0 else 'more'}"
        verdict = "is confirmed" if self.confirmed else f"is not confirmed{self._doubt()}"
        return f"With {self.lift.what} it takes {took}, {change}: {self.lift.cause} {verdict}"

    def _doubt(self) -> str:
        return ": it is still there" if self.is_kept else ", and the lift is not kept"

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        after = None if isinstance(self.after, Unexplained) else self.after.values()
        return {
            "cause": self.lift.cause,
            "lifted": self.lift.what,
            "confirmed": self.confirmed,
            "kept": self.is_kept,
            "saved_s": self.saved_s,
            "after": after,
        }
