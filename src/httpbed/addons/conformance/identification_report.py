"""What an identification found: one sentence, the distances, and the windows beside a reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from httpbed.addons.conformance import certificate
from httpbed.addons.conformance.conformance_figures import PANEL_IN
from httpbed.addons.conformance.conformance_report import who
from httpbed.addons.conformance.fingerprint import BEGIN_S, STEP_S, Fingerprint, drawn
from httpbed.addons.conformance.flight import Floats
from httpbed.addons.conformance.identification import (
    TITLES,
    UNKNOWN,
    Identification,
    nearest_in,
    question,
    references,
)
from httpbed.base import units
from httpbed.report.document import Column, RowName, Table
from httpbed.report.sections import Document
from httpbed.report.svg import PALETTE, QUIET, STYLE, WIDTH_IN, Plot, VisibleFigure

HEAD = ("algorithm", "distance", *BEGIN_S)


def document(identified: Identification, *, draws: bool) -> Document:
    """Return what an identification found, a row for each reference; with figures if it draws."""
    found = rows(identified)
    names = tuple(RowName("", first) for first, *_ in found)
    every = [*zip(*found, strict=True)] or [()] * len(HEAD)
    columns = (
        Column.of(HEAD[0], every[0], is_name=True),
        *(
            Column.of(header, texts, right=True)
            for header, texts in zip(HEAD[1:], every[1:], strict=True)
        ),
    )
    caption = "The distance from each reference, in factors of two: in all networks, and in each"
    return certificate.document(
        who(identified, f"said to be {identified.key.congestion_control}"),
        question(identified.sender),
        sentence(identified),
        Table("Distances", caption, columns, names, HEAD[0]),
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


def rows(identified: Identification) -> list[tuple[str, ...]]:
    """Return a row for each reference: its distance, and that in each part."""
    known = {reference.name: reference.fingerprint for reference in references()}

    def alone(name: str, network: str) -> float:
        return Fingerprint({network: identified.seen.networks[network]}).distance(known[name])

    return [
        (TITLES[name], f"{far:.2f}", *(f"{alone(name, network):.2f}" for network in BEGIN_S))
        for name, far in identified.naming.distances.items()
    ]


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
    nearest = {
        network: nearest_in(identified.seen, network) for network in identified.seen.networks
    }
    others = [
        f"{TITLES[name]} in {where}" for where, name in nearest.items() if name != _best(identified)
    ]
    if identified.naming.distances and others:
        yield f"by single networks, the nearest would be {', '.join(others)}"
    if any(transfer.strained for transfer in identified.evidence.transfers.every):
        yield "the machine was too busy, which may change windows: use --clock virtual"
    yield from (f"not read: {reason}" for reason in identified.evidence.unreadable)


def _best(identified: Identification) -> str:
    return next(iter(identified.naming.distances), UNKNOWN)


def plot(identified: Identification) -> Iterator[Plot]:
    """Draw the sender's window in each network beside that of the nearest reference."""
    seen = dict(drawn(identified.evidence.transfers.every))
    titles = {network.name: network.title for network in identified.evidence.transfers.planned}
    curves = {name: seen[name] for name in titles if name in seen}
    if not curves:
        return
    nearest = next((other for other in references() if other.name == _best(identified)), None)
    with mpl.rc_context(STYLE):
        size = (WIDTH_IN, 0.5 + PANEL_IN * len(curves))
        drawing = VisibleFigure(figsize=size, layout="constrained")
        panels = drawing.subplots(len(curves), 1, squeeze=False)[:, 0]
        for axes, (name, curve) in zip(panels, curves.items(), strict=True):
            if nearest is not None:
                label, style = f"reference, {TITLES[nearest.name]}", {"linewidth": 3, "alpha": 0.5}
                _draw(axes, nearest.curves[name], label, QUIET, **style)
            _draw(axes, curve, identified.key.implementation, PALETTE[1])
            axes.set_title(f"{name}: {titles[name]}", loc="left", fontsize=9, fontweight="bold")
            axes.set_ylabel("full packets")
            axes.set_ylim(bottom=0)
        panels[0].legend(frameon=False, fontsize=8)
        panels[-1].set_xlabel("time since the sender's first packet (s)")
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
