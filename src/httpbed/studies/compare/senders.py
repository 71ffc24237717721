"""Which congestion control each combination of programs runs with, and which are skipped.

What counts for a download is what is sent to the client: by the proxy, or else by the server. Over
TCP the kernel lends every program its algorithms; over QUIC each program has its own, some only
one. A sender without a choice runs once, as ``fixed``; one that lacks an algorithm goes without it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.experiment.errors import Mistake
from httpbed.experiment.roles import FIXED, TCP_CONTROLS
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import Transport
from httpbed.studies.compare.options import BY_NAME, NONE, Client, Wish, program, proxy

Cell = tuple[str, str, str]
"""Levels of client, proxy and server."""
Box = tuple[tuple[str, ...], ...]
"""Levels of each that are crossed."""


@dataclass(frozen=True)
class Offer:
    """Which of the algorithms that are asked for a combination runs with."""

    sender: str
    """Name of the program that sends to the client."""
    transport: Transport
    runs: tuple[str, ...]
    skipped: tuple[str, ...]

    def why(self) -> str:
        """Say why some are skipped."""
        over = "TCP" if self.transport == "tcp" else "QUIC"
        if self.runs == (FIXED,):
            return f"{self.sender} offers no choice over {over}: fixed by the program"
        return f"{self.sender} does not offer it over {over}"


def offers(wish: Wish, catalog: Catalog) -> dict[Cell, Offer]:
    """Say what each combination runs with; nothing where no congestion control is asked for."""
    if "cc" not in wish.said:
        return {}
    cells = itertools.product(wish.clients, wish.said["proxy"], wish.said["server"])
    return {
        (client.level, way, server): _offer(client, way, server, wish.said["cc"], catalog)
        for client, way, server in cells
    }


def mistakes(offered: Mapping[Cell, Offer], wish: Wish, catalog: Catalog) -> Iterator[Mistake]:
    """Find algorithms that nobody knows, and combinations for which none is left."""
    flag = BY_NAME["cc"].flag
    senders = [(catalog.recipes.get(one.sender), one.transport) for one in offered.values()]
    own = [one for recipe, way in senders if recipe for one in _allowed(recipe, way)]
    known = [one for one in dict.fromkeys([*TCP_CONTROLS, *own]) if one != FIXED]
    strange = [one for one in wish.said.get("cc", ()) if one not in known]
    for one in strange:
        yield Mistake(flag, f"nobody here offers {one!r}; known: {', '.join(known)}")
    for (client, way, server), offer in offered.items():
        recipe = catalog.recipes.get(offer.sender)
        if recipe and not offer.runs and not strange:
            can = ", ".join(_allowed(recipe, offer.transport))
            reason = f"leaves nothing for {named((client, way, server))}: {offer.sender} offers"
            yield Mistake(flag, f"{reason} {can}", "add one of these")


def boxes(offered: Mapping[Cell, Offer]) -> dict[tuple[str, ...], list[Box]]:
    """Gather the combinations that run with the same algorithms, as few crossings as is easy."""
    runs = dict.fromkeys(offer.runs for offer in offered.values())
    return {
        same: rectangles([cell for cell, offer in offered.items() if offer.runs == same])
        for same in runs
    }


def rectangles(cells: Sequence[tuple[str, ...]]) -> list[Box]:
    """Cover these cells, and no others, by crossings without overlap."""
    if not cells or not cells[0]:
        return [()] if cells else []
    rest: dict[str, list[tuple[str, ...]]] = {}
    for cell in cells:
        rest.setdefault(cell[0], []).append(cell[1:])
    alike: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for first, remaining in rest.items():
        alike.setdefault(tuple(remaining), []).append(first)
    return [
        (tuple(firsts), *box)
        for remaining, firsts in alike.items()
        for box in rectangles(remaining)
    ]


def named(cell: Cell) -> str:
    """Say a combination: ``curl:h3 through envoy from nginx``."""
    client, way, server = cell
    return f"{client} from {server}" if way == NONE else f"{client} through {way} from {server}"


def skipped(offered: Mapping[Cell, Offer]) -> list[str]:
    """Tell every combination that is not run, with the reason."""
    return [
        f"{named(cell)}, {' and '.join(offer.skipped)}: {offer.why()}"
        for cell, offer in offered.items()
        if offer.skipped
    ]


def _offer(client: Client, way: str, server: str, asked: Sequence[str], catalog: Catalog) -> Offer:
    sender = program(server, catalog) if way == NONE else proxy(way, catalog)[0]
    transport: Transport = "quic" if client.http_version == "3" else "tcp"
    recipe = catalog.recipes.get(sender)
    if recipe is None:  # which is told when it is looked for
        return Offer(sender, transport, tuple(asked), ())
    control = recipe.congestion_control
    if control.is_fixed(transport):
        return Offer(sender, transport, (FIXED,), tuple(one for one in asked if one != FIXED))
    allowed = control.allowed(transport)
    runs = tuple(one for one in asked if one in allowed)
    return Offer(sender, transport, runs, tuple(one for one in asked if one not in allowed))


def _allowed(recipe: Recipe, transport: Transport) -> tuple[str, ...]:
    return recipe.congestion_control.allowed(transport)
