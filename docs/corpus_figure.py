"""The corpus as a figure: how much each page weighs and how many resources it has, by type.

After Figure 2 of Liu et al. (2024), which shows both for their 18 sites.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

from httpbed.addons.pages.sites.corpus import CorpusPage
from httpbed.addons.pages.sites.site import KINDS
from httpbed.base import disk
from httpbed.report.svg import INK, PALETTE, ROW_IN, STYLE, VisibleFigure

_WIDTH_IN = 9.0


def write(entries: Mapping[str, CorpusPage], file: Path) -> None:
    """Draw pages, the lightest at the bottom, into a file whose name says its format."""
    names = sorted(entries, key=lambda name: (entries[name].weight, name))
    with mpl.rc_context(STYLE | {"svg.hashsalt": "httpbed"}):
        figure = VisibleFigure(
            figsize=(_WIDTH_IN, ROW_IN * 0.75 * len(names) + 1.2), layout="constrained"
        )
        weights, counts = figure.subplots(1, 2, sharey=True)
        before = dict.fromkeys(names, (0.0, 0.0))
        for kind, colour in zip(KINDS, PALETTE, strict=False):
            kept = [entries[name].by_type.get(kind) for name in names]
            sizes = [share.bytes / 1e6 if share else 0.0 for share in kept]
            requests = [float(share.requests) if share else 0.0 for share in kept]
            starts = [before[name] for name in names]
            weights.barh(names, sizes, left=[one[0] for one in starts], color=colour, label=kind)
            counts.barh(names, requests, left=[one[1] for one in starts], color=colour)
            before = {
                name: (start[0] + size, start[1] + count)
                for name, start, size, count in zip(names, starts, sizes, requests, strict=True)
            }
        weights.set_xlabel("MB of a cold load", color=INK)
        counts.set_xlabel("requests of a cold load", color=INK)
        weights.margins(y=0.01)
        figure.legend(loc="outside upper center", ncols=len(KINDS), frameon=False)
        metadata = {"Date": None} if file.suffix == ".svg" else None
        drawn = io.BytesIO()
        figure.savefig(drawn, format=file.suffix.removeprefix("."), metadata=metadata)
    disk.write_output(file, drawn.getvalue())
