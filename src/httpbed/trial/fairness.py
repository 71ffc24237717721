"""How clients shared the network while all of them were active; from the emulator's log, pure.

A host with a role forwards nothing, so what a client's own link delivers to it is the client's.
It is active from the first packet that reaches it to the last. Outside of the time that all have in
common somebody was alone, which says nothing about fairness: rates are taken within it, over whole
bins of ten milliseconds. These are all that is kept of the log unless somebody asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.units import NS
from httpbed.host.sandbox import untrusted_files
from httpbed.store import packet_log
from httpbed.store.packet_log import PacketLog

DELIVERED = "delivered.tsv"
"""What is kept of it: the bytes of each direction in each bin."""
BIN_NS = 10**7
SHORTEST_S = 0.1
"""Less in common is no time in which a network could be shared."""


@dataclass(frozen=True)
class FairShares:
    """What each client got."""

    lasted_s: float
    """For how long all were active."""
    rates_bit_s: Mapping[str, float]
    """Bits of IP packets that were delivered to each client in a second of that time."""

    def share(self, client: str) -> float:
        """Return a client's part of what all got."""
        total = sum(self.rates_bit_s.values())
        return self.rates_bit_s[client] / total if total else 0.0


def reduce(artifacts: Path) -> None:
    """Make of the emulator's log, if there is one, a file that does not grow with the packets."""
    log = artifacts / packet_log.FILE
    if not log.exists():
        return
    found = delivered(packet_log.load(log, is_cut_off=True))
    rows = (f"{way}\t{bin_}\t{size}\n" for (way, bin_), size in sorted(found.items()))
    untrusted_files.write(artifacts, DELIVERED, "direction\tbin\tbytes\n" + "".join(rows))


def delivered(log: PacketLog) -> dict[tuple[int, int], int]:
    """Count the bytes that left the emulator, by direction and :data:`BIN_NS`."""
    found: Counter[tuple[int, int]] = Counter()
    own = log.where(log.left)
    bins = own.out_ns // BIN_NS
    for way, bin_, size in zip(own.direction, bins, own.bytes, strict=True):
        found[int(way), int(bin_)] += int(size)
    return found


def read(artifacts: Path, clients: Mapping[str, int]) -> FairShares | None:
    """Read what :func:`reduce` left; ``clients`` are by name, with the direction to each.

    None where there is none, or there was no time in which all were active.
    """
    file = artifacts / DELIVERED
    if not file.exists():
        return None
    rows = (map(int, line.split()) for line in untrusted_files.text(file).splitlines()[1:])
    return shared({(way, bin_): size for way, bin_, size in rows}, clients)


def shared(found: Mapping[tuple[int, int], int], clients: Mapping[str, int]) -> FairShares | None:
    """Measure the whole bins between the last client's first packet and the first one's last."""
    flows = {
        name: {bin_: size for (way, bin_), size in found.items() if way == direction}
        for name, direction in clients.items()
    }
    if not all(flows.values()):
        return None
    within = range(max(map(min, flows.values())) + 1, min(map(max, flows.values())))
    lasted_s = len(within) * BIN_NS / NS
    if lasted_s < SHORTEST_S:
        return None
    rates = {
        name: sum(size for bin_, size in flow.items() if bin_ in within) * 8 / lasted_s
        for name, flow in flows.items()
    }
    return FairShares(lasted_s, rates)
