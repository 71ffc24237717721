"""What an identification found: one sentence, the distances, and the windows beside a reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from httpbed.addons.conformance import certificate
from httpbed.addons.conformance.conformance_figures import time_panels
from httpbed.addons.conformance.conformance_report import who
from httpbed.addons.conformance.fingerprint import BEGIN_S, STEP_S, drawn
from httpbed.addons.conformance.flight import Floats
from httpbed.addons.conformance.identification import (
    TITLES,
    UNKNOWN,
    Identification,
    question,
    references,
)
from httpbed.base import units
from httpbed.report.document import Column, RowName, Table
from httpbed.report.sections import Document
from httpbed.report.svg import PALETTE, QUIET, STYLE, Plot


def document(identified: Identification, *, draws: bool) -> Document:
    """Return what an identification found, a row for each reference; with figures if it draws."""
    by_name = identified.naming.distances
    titles = [TITLES[name] for name in by_name]
    rows = tuple(RowName("", title) for title in titles)
    distances = {network: identified.distances_in(network) for network in BEGIN_S}
    columns = (
        Column.of("algorithm", titles, is_name=True),
        *(
            Column.of(header, (f"{far[name]:.2f}" for name in by_name), right=True)
            for header, far in {"distance": by_name, **distances}.items()
        ),
    )
    caption = "The distance from each reference, in factors of two: in all networks, and in each"
    return certificate.document(
        who(identified, f"said to be {identified.key.congestion_control}"),
        question(identified.sender),
        sentence(identified),
        Table("Distances", caption, columns, rows, "algorithm"),
        identified.evidence,
        notes=[*notes(identified)],
        plots=plot(identified) if draws else (),
    )


def sentence(identified: Identification) -> str:
    """Return the answer in a sentence: the name, how sure it is, and the runner-up."""
    naming = identified.naming
    if not naming.distances:
        return f"{UNKNOWN}: too little was seen"
    (first, second), far = naming.nearest, naming.distances
    within = f"bound {naming.bound:.2f}"
    if naming.name == UNKNOWN:
        nearest = f"{TITLES[first]}, is {far[first]:.2f} away"
        return (
            f"{UNKNOWN}: the nearest, {nearest} ({within}), then {TITLES[second]} {far[second]:.2f}"
        )
    sure = f"{far[first]:.2f} from its reference ({within})"
    beyond = f"runner-up {TITLES[second]} at {far[second]:.2f}"
    return f"{TITLES[first]}, confidence {identified.naming.confidence:.2f}: {sure}, {beyond}"


def notes(identified: Identification) -> Iterator[str]:
    """Yield what qualifies the answer."""
    if identified.held_bytes is not None:
        held = units.format_size(round(identified.held_bytes))
        yield (
            f"something else than congestion control holds the window at {held}: raise that limit"
            " (a knob of the recipe), and ask again"
        )
    if missing := [name for name in BEGIN_S if name not in identified.seen.networks]:
        yield f"not seen: {', '.join(missing)}; a transfer must last until the network ends"
    if nearest := identified.naming.nearest:
        by_network = identified.nearest_by_network().items()
        others = [f"{TITLES[name]} in {where}" for where, name in by_network if name != nearest[0]]
        if others:
            yield f"by single networks, the nearest would be {', '.join(others)}"
    if any(transfer.strained for transfer in identified.evidence.transfers.every):
        yield "the machine was too busy, which may change windows: use --clock virtual"
    yield from (f"not read: {reason}" for reason in identified.evidence.unreadable)


def plot(identified: Identification) -> Iterator[Plot]:
    """Draw the sender's window in each network beside that of the nearest reference."""
    seen = dict(drawn(identified.evidence.transfers.every))
    titles = {network.name: network.title for network in identified.evidence.transfers.planned}
    curves = {name: seen[name] for name in titles if name in seen}
    if not curves:
        return
    nearest = [known for known in references() if known.name in identified.naming.nearest[:1]]
    with mpl.rc_context(STYLE):
        drawing, panels = time_panels({name: titles[name] for name in curves})
        for name, curve in curves.items():
            for known in nearest:
                label, style = f"reference, {TITLES[known.name]}", {"linewidth": 3, "alpha": 0.5}
                _draw(panels[name], known.curves[name], label, QUIET, **style)
            _draw(panels[name], curve, identified.key.implementation, PALETTE[1])
            panels[name].set_ylim(bottom=0)
        next(iter(panels.values())).legend(fontsize=8)
        yield Plot(
            name="windows",
            caption="The window in each network beside that of the nearest reference. Its losses"
            " come at other times, so compare the shapes and not the times.",
            alternative="Packets in flight over time in each network, beside a reference.",
            figure=drawing,
        )


def _draw(axes: Axes, curve: Floats, label: str, colour: str, **style: Any) -> None:
    times = np.arange(len(curve)) * STEP_S
    axes.step(times, curve, where="post", color=colour, label=label, **style)
