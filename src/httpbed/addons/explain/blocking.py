"""Head-of-line blocking: for how long bytes that had arrived waited for earlier ones.

TCP gives its reader bytes in order, so a hole holds back all later bytes, whichever stream of
HTTP/2 they are of (RFC 9114, section 2). Numbers and drops show it. The time of a whole transfer is
the same with and without it, so it is no cause but a reading beside the division: it delays what
depends on single streams. QUIC holds back the streams of a lost packet alone, and hides which.
"""

from __future__ import annotations

import heapq

import numpy as np

from httpbed.addons.explain.transfer import Transfer


def held_back_ns(transfer: Transfer) -> int | None:
    """Return for how many ns the client had data behind a hole; None where nothing shows it."""
    if transfer.protocol != "tcp":
        return None
    data = transfer.content
    came = np.flatnonzero(~data.lost)
    order = came[np.argsort(data.arrived[came], kind="stable")]
    rows = np.stack([data.first, data.end, data.arrived], axis=1)[order].tolist()
    expected = min((first for first, _, _ in rows), default=0)
    behind, since, total = list[tuple[int, int]](), 0, 0
    for first, end, at in rows:
        if first > expected:
            since = since if behind else at
            heapq.heappush(behind, (first, end))
            continue
        expected = max(expected, end)
        while behind and behind[0][0] <= expected:
            expected = max(expected, heapq.heappop(behind)[1])
            if not behind:
                total += at - since
    return total + (max(0, transfer.ended - since) if behind else 0)
