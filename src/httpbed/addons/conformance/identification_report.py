"""What an identification found: one sentence, the distances, and the windows beside a reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from rich.table import Table
from rich.text import Text

from httpbed.addons.conformance import certificate
from httpbed.addons.conformance.conformance_report import KEY_WIDTH, TEMPLATE, who
from httpbed.addons.conformance.fingerprint import BEGIN_S, STEP_S, Fingerprint, drawn
from httpbed.addons.conformance.flight import Floats
from httpbed.addons.conformance.identification import (
    TITLES,
    UNKNOWN,
    Identification,
    nearest_in,
    references,
)
from httpbed.addons.conformance.windows_report import PANEL_IN
from httpbed.base import units
from httpbed.report import markdown as written
from httpbed.report import svg, templating
from httpbed.report.figures import STYLE, WIDTH_IN, Plot
from httpbed.report.svg import PALETTE, QUIET, VisibleFigure
from httpbed.report.terminal import Console

HEAD = ("algorithm", "distance", *BEGIN_S)
QUESTION = "Which congestion control does {implementation} send with?"


def show(one: Identification, page: Path | None, out: Console) -> None:
    """Print the sentence, then the distances that it rests on."""
    out.print(Text(f"{'sender':<{KEY_WIDTH}}  {_who(one)}"), soft_wrap=True)
    out.print(Text(f"{'answer':<{KEY_WIDTH}}  {sentence(one)}"), soft_wrap=True)
    out.print()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for name in HEAD:
        table.add_column(name, justify="left" if name == HEAD[0] else "right")
    for row in rows(one):
        table.add_row(*row)
    if one.naming.distances:
        out.print(table)
        out.print()
    for note in notes(one):
        out.print(Text(f"{'note':<{KEY_WIDTH}}  {note}"), soft_wrap=True)
    if page is not None:
        out.print(Text(f"{'page':<{KEY_WIDTH}}  {page}"), soft_wrap=True)


def sentence(one: Identification) -> str:
    """Return the answer in a sentence: the name, how sure it is, and the runner-up."""
    naming = one.naming
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
    return f"{TITLES[first]}, confidence {one.naming.confidence:.2f}: {sure}, {beyond}"


def rows(one: Identification) -> list[tuple[str, ...]]:
    """Return a row for each reference: its distance, and that in each part."""
    known = {reference.name: reference.fingerprint for reference in references()}

    def alone(name: str, network: str) -> float:
        return Fingerprint({network: one.seen.networks[network]}).distance(known[name])

    return [
        (TITLES[name], f"{far:.2f}", *(f"{alone(name, network):.2f}" for network in BEGIN_S))
        for name, far in one.naming.distances.items()
    ]


def notes(one: Identification) -> Iterator[str]:
    """Yield what qualifies the answer."""
    if one.held_bytes is not None:
        held = units.format_size(round(one.held_bytes))
        yield (
            f"something else than congestion control holds the window at {held}: raise that limit"
            " (a knob of the recipe), and ask again"
        )
    if missing := [name for name in BEGIN_S if name not in one.seen.networks]:
        yield f"not seen: {', '.join(missing)}; a transfer must last until the network ends"
    nearest = {network: nearest_in(one.seen, network) for network in one.seen.networks}
    others = [f"{TITLES[name]} in {where}" for where, name in nearest.items() if name != _best(one)]
    if one.naming.distances and others:
        yield f"by single networks, the nearest would be {', '.join(others)}"
    if any(transfer.strained for transfer in one.evidence.transfers.every):
        yield "the machine was too busy, which may change windows: use --clock virtual"
    yield from (f"not read: {reason}" for reason in one.evidence.unreadable)


def _best(one: Identification) -> str:
    return next(iter(one.naming.distances), UNKNOWN)


def _who(one: Identification) -> str:
    return who(one, f"said to be {one.key.congestion_control}")


def plot(one: Identification) -> Iterator[Plot]:
    """Draw the sender's window in each network beside that of the nearest reference."""
    seen = dict(drawn(one.evidence.transfers.every))
    titles = {network.name: network.title for network in one.evidence.transfers.planned}
    curves = {name: seen[name] for name in titles if name in seen}
    if not curves:
        return
    nearest = next((other for other in references() if other.name == _best(one)), None)
    with mpl.rc_context(STYLE):
        size = (WIDTH_IN, 0.5 + PANEL_IN * len(curves))
        drawing = VisibleFigure(figsize=size, layout="constrained")
        panels = drawing.subplots(len(curves), 1, squeeze=False)[:, 0]
        for axes, (name, curve) in zip(panels, curves.items(), strict=True):
            if nearest is not None:
                label, style = f"reference, {TITLES[nearest.name]}", {"linewidth": 3, "alpha": 0.5}
                _draw(axes, nearest.curves[name], label, QUIET, **style)
            _draw(axes, curve, one.key.implementation, PALETTE[1])
            axes.set_title(f"{name}: {titles[name]}", loc="left", fontsize=9, fontweight="bold")
            axes.set_ylabel("full packets")
            axes.set_ylim(bottom=0)
            axes.spines[["top", "right"]].set_visible(False)
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


def render(one: Identification) -> str:
    """Render the page."""
    table = [
        {"cells": list(zip(HEAD, row, strict=True)), "mark": "", "tone": ""} for row in rows(one)
    ]
    return templating.render(
        TEMPLATE,
        __package__,
        sender=_who(one),
        question=QUESTION.format(implementation=one.key.implementation),
        columns=[*HEAD, ""],
        right=frozenset(HEAD[1:]),
        outcome=sentence(one),
        caption="The distance from each reference, in factors of two: in all networks, and in each",
        rows=table,
        delivered="",
        notes=list(notes(one)),
        plots=[
            {"caption": drawing.caption, "name": drawing.name, "svg": svg.inline(drawing)}
            for drawing in plot(one)
        ],
        **certificate.shown(one.evidence),
    )


def markdown(one: Identification) -> str:
    """Write the page as Markdown, without its plot."""
    answer = sentence(one)
    table = (tuple(map(written.escaped, row)) for row in rows(one))
    lines = [
        f"# {written.escaped(QUESTION.format(implementation=one.key.implementation))}",
        "",
        f"{written.escaped(_who(one))}. {written.escaped(answer[:1].upper() + answer[1:])}.",
        "",
        *written.table(HEAD, [name != HEAD[0] for name in HEAD], table),
        "",
        *(f"- {written.escaped(note)}" for note in notes(one)),
        "",
        *certificate.markdown(one.evidence),
    ]
    return "\n".join(lines) + "\n"
