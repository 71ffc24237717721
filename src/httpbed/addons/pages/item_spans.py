"""From when to when each file, resource or client of a treatment's trials was active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.addons.figures.placed import Levels, PlacedFigure
from httpbed.addons.pages.item_samples import named_items
from httpbed.experiment.treatment import treatment_key
from httpbed.store.results import Results


@dataclass(frozen=True)
class ItemSpan:
    """An item's medians over the trials that have it."""

    name: str
    start: float
    end: float
    trials: int


def item_spans(
    placed: PlacedFigure, results: Results
) -> dict[tuple[Levels, Levels], list[ItemSpan]]:
    """Return the spans of a figure by panel and series, those that start first in front.

    Panels and series without any item are left out.
    """
    starts, lengths = (
        named_items(results, str(name)) for name in (placed.stated.metric, placed.stated.length)
    )
    found = {}
    for cell in placed.cells:
        key = treatment_key(cell.treatment)
        if own := _spans(starts.get(key, {}), lengths.get(key, {})):
            found[cell.panel, cell.series] = own
    return found


ByBlock = Mapping[int, Mapping[str, float]]


def _spans(starts: ByBlock, lengths: ByBlock) -> list[ItemSpan]:
    ends: dict[str, list[tuple[float, float]]] = {}
    for block in starts.keys() & lengths.keys():
        for name in starts[block].keys() & lengths[block].keys():
            start = starts[block][name]
            ends.setdefault(name, []).append((start, start + lengths[block][name]))
    spans = [ItemSpan(name, *_middle(own), len(own)) for name, own in ends.items()]
    return sorted(spans, key=lambda one: (one.start, one.end, one.name))


def _middle(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    start, end = np.median(ends, axis=0).tolist()
    return start, end
