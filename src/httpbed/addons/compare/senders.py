"""Which congestion controls each combination of programs runs with, and which are skipped.

The sender of a download is the proxy next to the client, or else the server. Over TCP the kernel
provides the algorithms; over QUIC each program has its own, some only one. A sender without a
choice runs once, as ``fixed``; an algorithm that a sender lacks is skipped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.addons.compare.options import (
    NONE,
    ComparisonOptions,
    VersionedClient,
    program,
    proxy,
)
from httpbed.base.errors import Mistake
from httpbed.experiment.roles import FIXED, TCP_CONTROLS, Transport, transport_below
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe

Cell = tuple[str, str, str]
"""Levels of client, proxy and server."""
Box = tuple[tuple[str, ...], ...]
"""Levels of client, proxy and server; all their combinations run."""


@dataclass(frozen=True)
class Offer:
    """The congestion controls with which a combination runs, of those that were named."""

    sender: str
    transport: Transport
    runs: tuple[str, ...]
    skipped: tuple[str, ...]

    def why(self) -> str:
        """Return why some are skipped."""
        over = "TCP" if self.transport == "tcp" else "QUIC"
        if self.runs == (FIXED,):
            return f"the congestion control of {self.sender} over {over} is fixed by the program"
        return f"{self.sender} does not offer {' or '.join(self.skipped)} over {over}"


def offers(options: ComparisonOptions, catalog: Catalog) -> dict[Cell, Offer]:
    """Return what each combination runs with; nothing if no congestion control was named."""
    if "cc" not in options.values:
        return {}
    cells = itertools.product(options.clients, options.values["proxy"], options.values["server"])
    return {
        (client.level, level, server): _offer(client, level, server, options.values["cc"], catalog)
        for client, level, server in cells
    }


def mistakes(
    offered: Mapping[Cell, Offer], options: ComparisonOptions, catalog: Catalog
) -> Iterator[Mistake]:
    """Yield algorithms that no sender offers, and combinations for which none is left."""
    senders = [(catalog.recipes.get(one.sender), one.transport) for one in offered.values()]
    own = [one for recipe, over in senders if recipe for one in _allowed(recipe, over)]
    known = [one for one in dict.fromkeys([*TCP_CONTROLS, *own]) if one != FIXED]
    strange = [one for one in options.values.get("cc", ()) if one not in known]
    for one in strange:
        yield Mistake("--cc", f"no sender offers {one!r}; known: {', '.join(known)}")
    for cell, offer in offered.items():
        recipe = catalog.recipes.get(offer.sender)
        if recipe and not offer.runs and not strange:
            can = ", ".join(_allowed(recipe, offer.transport))
            reason = f"leaves nothing for {named(cell)}: {offer.sender} offers"
            yield Mistake("--cc", f"{reason} {can}", "add one of these")


def boxes(offered: Mapping[Cell, Offer]) -> dict[tuple[str, ...], list[Box]]:
    """Group the combinations by their algorithms, each group as a few boxes of levels."""
    runs = dict.fromkeys(offer.runs for offer in offered.values())
    return {
        same: rectangles([cell for cell, offer in offered.items() if offer.runs == same])
        for same in runs
    }


def rectangles(cells: Sequence[tuple[str, ...]]) -> list[Box]:
    """Cover exactly these cells by boxes without overlap."""
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
    """Write a combination, as ``curl:h3 through envoy from nginx``."""
    client, through, server = cell
    path = "" if through == NONE else f" through {through}"
    return f"{client}{path} from {server}"


def skipped(offered: Mapping[Cell, Offer]) -> list[str]:
    """Return a line for each combination that does not run, with the reason."""
    return [
        f"{named(cell)} with {' and '.join(offer.skipped)}, because {offer.why()}"
        for cell, offer in offered.items()
        if offer.skipped
    ]


def _offer(
    client: VersionedClient,
    level: str,
    server: str,
    wanted: Sequence[str],
    catalog: Catalog,
) -> Offer:
    sender = program(server, catalog) if level == NONE else proxy(level, catalog)[0]
    transport = transport_below(client.http_version)
    recipe = catalog.recipes.get(sender)
    if recipe is None:  # loading the experiment reports it
        return Offer(sender, transport, tuple(wanted), ())
    control = recipe.congestion_control
    if control.is_fixed(transport):
        return Offer(sender, transport, (FIXED,), tuple(one for one in wanted if one != FIXED))
    allowed = control.allowed(transport)
    runs = tuple(one for one in wanted if one in allowed)
    return Offer(sender, transport, runs, tuple(one for one in wanted if one not in allowed))


def _allowed(recipe: Recipe, transport: Transport) -> tuple[str, ...]:
    return recipe.congestion_control.allowed(transport)
