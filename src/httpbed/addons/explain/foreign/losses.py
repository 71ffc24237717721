"""Which packets of TCP were lost, by the numbers that one side saw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from httpbed.addons.explain.foreign.seen import Half, Seen
from httpbed.addons.explain.transfer import Flags, Numbers

REORDERED_SHARE = 0.25
"""Part of the round trip within which a hole is filled by a packet that was reordered."""
NEEDLESS_SHARE = 0.8
"""Part of the round trip before which an acknowledgement is not that of a packet sent again."""


def with_lost(seen: Seen, round_trip: int) -> tuple[Half, Flags]:
    """Return the data with a packet for each part of a hole that a later packet filled."""
    data = seen.data
    none = np.zeros(len(data), dtype=bool)
    if seen.protocol != "tcp" or not len(data):
        return data, none
    ends = data.first + data.payload
    highest = np.maximum.accumulate(np.concatenate([data.first[:1], ends[:-1]]))
    holes = np.flatnonzero((data.payload > 0) & (data.first > highest))
    fills = np.flatnonzero((data.payload > 0) & (data.first < highest))
    rows, before = list[int](), list[int]()
    for fill in fills.tolist():
        opened = holes[(data.first[holes] > data.first[fill]) & (holes < fill)]
        opened = opened[highest[opened] <= data.first[fill]]
        if not len(opened):
            continue
        waited = int(data.at[fill] - data.at[opened[-1]])
        if waited > REORDERED_SHARE * round_trip:
            rows.append(fill)
            before.append(int(opened[-1]))
    if not rows:
        return data, none
    order = np.argsort(
        np.concatenate([np.arange(len(data)), np.array(before) - 0.5]), kind="stable"
    )
    picked = np.concatenate([np.arange(len(data)), np.array(rows)])[order]
    lost = np.concatenate([none, np.ones(len(rows), dtype=bool)])[order]
    completed = data.where(picked)
    at = completed.at.copy()
    for place in np.flatnonzero(lost)[::-1].tolist():
        at[place] = at[place + 1]
    return replace(completed, at=at), lost


def at_server(seen: Seen, covered: Numbers, round_trip: int) -> Flags:
    """Return which packets the server sent again, because they were lost."""
    data, answers = seen.data, seen.answers
    lost = np.zeros(len(data), dtype=bool)
    if seen.protocol != "tcp":
        return lost
    ends = data.first + data.payload
    highest = np.maximum.accumulate(np.concatenate([ends[:1] * 0, ends[:-1]]))
    for again in np.flatnonzero((data.payload > 0) & (data.first < highest)).tolist():
        earlier = np.flatnonzero(
            (data.first[:again] <= data.first[again]) & (ends[:again] > data.first[again])
        )
        if not len(earlier):
            continue
        answer = int(covered[again])
        waited = answers.at[answer] - data.at[again]
        is_needless = answer >= 0 and waited < NEEDLESS_SHARE * round_trip
        lost[earlier[-1]] |= not is_needless
    return lost
