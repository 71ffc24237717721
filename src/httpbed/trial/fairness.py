"""How clients shared the network while all were active, from the emulator's log.

A host with a role does not forward, so everything that a client's own link delivers is the
client's. Everything that the server's own link delivers belongs to a client that uploads. A client
is active from the first of these packets to the last. Rates are taken over the whole bins of ten
milliseconds in which all clients are active. The bins are all that is kept of the log, unless the
user asks for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from httpbed.base import untrusted_files
from httpbed.base.clock import NS

if TYPE_CHECKING:  # it imports numpy, and a run begins without it
    from httpbed.store.packet_log import PacketLog

THROUGHPUT = "throughput.tsv"
"""The bytes of each direction in each bin."""
BIN_NS = 10**7
SHORTEST_S = 0.1
"""Least common time in seconds that says something about shares."""


@dataclass(frozen=True)
class FairShares:
    """What was delivered of each client's bodies while all were active."""

    lasted_s: float
    """Seconds in which all were active."""
    rates_bit_s: Mapping[str, float]
    """Bits of IP packets per second that each client, or its server, received in that time."""

    def share(self, client: str) -> float:
        """Return a client's share of what all received."""
        total = sum(self.rates_bit_s.values())
        return self.rates_bit_s[client] / total if total else 0.0


def reduce(artifacts: Path, log: PacketLog) -> None:
    """Write :data:`THROUGHPUT` from the emulator's log."""
    sizes = log.delivered_bytes(BIN_NS).items()
    rows = (f"{direction}\t{bin_}\t{size}\n" for (direction, bin_), size in sizes)
    untrusted_files.write(artifacts, THROUGHPUT, "direction\tbin\tbytes\n" + "".join(rows))


def read(artifacts: Path, clients: Mapping[str, int]) -> FairShares | None:
    """Read what :func:`reduce` wrote; ``clients`` maps names to the direction of their bodies.

    None: there is no file, or the clients were never active together.
    """
    file = artifacts / THROUGHPUT
    if not file.exists():
        return None
    rows = (map(int, line.split()) for line in untrusted_files.text(file).splitlines()[1:])
    return shared({(direction, bin_): size for direction, bin_, size in rows}, clients)


def shared(sizes: Mapping[tuple[int, int], int], clients: Mapping[str, int]) -> FairShares | None:
    """Return the shares over the whole bins in which all clients were active.

    ``sizes`` are the bytes delivered, by direction and bin of :data:`BIN_NS`.
    """
    flows = {
        name: {bin_: size for (index, bin_), size in sizes.items() if index == direction}
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


def jain(rates: Collection[float]) -> float:
    """Return Jain's fairness index: 1 for equal rates, 1/n when one of n rates is not zero.

    Source: Jain, Chiu, Hawe, A quantitative measure of fairness and discrimination, DEC TR-301,
    1984.
    """
    squares = sum(rate * rate for rate in rates)
    return float(sum(rates) ** 2 / (len(rates) * squares)) if squares else 1.0
