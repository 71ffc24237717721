"""What was delivered to the client, over which of its links, and when; from the emulator's log.

Kept are the bytes of each millisecond, which is how exact everything is that is told of them. What
arrives at an interface that has lost its address is no delivery: the kernel drops it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from httpbed.network.files import PACKET_LOG
from httpbed.process import left
from httpbed.trial import packet_log

DELIVERIES = "deliveries.tsv"
COLUMNS = ("bin", "link", "bytes")
ORIGIN = "# origin_ms: "
BIN_NS = 10**6
STALLED_BYTES = 4000
"""Less than that is no progress of a transfer: path validation (two datagrams of 1200 bytes, RFC
9000 section 8.2), tickets and handshakes of every protocol take less."""
LONGEST_BYTES = 2**28

Bins = Mapping[int, int]
"""IP bytes of each :data:`BIN_NS` in which there were any."""
Absences = Mapping[str, Sequence[tuple[int, int]]]


def reduce(artifacts: Path, towards: Mapping[int, str], absences: Absences, origin_ns: int) -> None:
    """Make :data:`DELIVERIES` of the emulator's log, if there is one.

    ``towards`` has the directions that lead to the client, with their links' names; ``absences``
    when a link had no address. ``origin_ns`` is when the client's first packet came, which is told
    in a line before the others.
    """
    log = artifacts / PACKET_LOG
    if not log.exists():
        return
    with log.open(encoding="ascii") as lines:
        found = delivered(lines, towards, absences)
    rows = (f"{bin_}\t{link}\t{size}\n" for (bin_, link), size in sorted(found.items()))
    head = f"{ORIGIN}{origin_ns / BIN_NS}\n" + "\t".join(COLUMNS) + "\n"
    left.write(artifacts, DELIVERIES, head + "".join(rows))


def delivered(
    lines: Iterable[str], towards: Mapping[int, str], absences: Absences
) -> Counter[tuple[int, str]]:
    """Count the bytes of each millisecond and link from a log."""
    found: Counter[tuple[int, str]] = Counter()
    for packet in packet_log.delivered(lines):
        link = towards.get(packet.direction)
        if link is not None and not _is_absent(packet.at_ns, absences.get(link, ())):
            found[packet.at_ns // BIN_NS, link] += packet.ip_bytes
    return found


def _is_absent(at_ns: int, absences: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(absences, at_ns, key=lambda one: one[0]) - 1
    return index >= 0 and at_ns < absences[index][1]


def read(artifacts: Path) -> dict[str, dict[int, int]]:
    """Read what :func:`reduce` left: the bins of each link; empty where there is nothing."""
    try:
        text = left.text(artifacts / DELIVERIES, most=LONGEST_BYTES)
    except FileNotFoundError:
        return {}
    found: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for line in text.splitlines()[2:]:
        bin_, link, size = line.split("\t")
        found[link][int(bin_)] = int(size)
    return dict(found)


def together(links: Iterable[Bins]) -> dict[int, int]:
    """Add up what was delivered over several links."""
    total: Counter[int] = Counter()
    for bins in links:
        total.update(bins)
    return dict(total)


def longest_below(least_bytes: int, bins: Bins, times: Sequence[int], begin: int, end: int) -> int:
    """Return the longest time, in bins, in which less than so many bytes were delivered.

    ``times`` are those of ``bins``, ascending. It lies between ``begin`` and ``end``, and begins
    and ends there or with a delivery that is no part of it. With ``least_bytes`` 1 it is the
    longest silence.
    """
    inside = times[bisect_right(times, begin) : bisect_left(times, end)]
    edges = [begin, *inside, end]
    longest, size, last = 0, 0, 1
    for first in range(len(edges) - 1):
        if last <= first:
            last, size = first + 1, 0
        # ``size`` is what was delivered strictly between the two edges.
        while last < len(edges) - 1 and size + bins[edges[last]] < least_bytes:
            size += bins[edges[last]]
            last += 1
        longest = max(longest, edges[last] - edges[first])
        if last > first + 1:
            size -= bins[edges[first + 1]]
    return longest
