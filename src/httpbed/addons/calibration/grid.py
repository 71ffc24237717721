"""The cells: conditions, their traffic, and what arithmetic expects of each.

Three scales. ``smoke`` tests whether the link works; ``standard`` suits a machine before
measurements; ``full`` tries more values for longer, and covers more. ``scale.ABOUT_S`` has their
durations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.addons.calibration.cell import DIRECTIONS, DOWN, UP, Cell, Claim, Flow, Stream, Train
from httpbed.addons.calibration.packets import Complete, Loss
from httpbed.addons.calibration.scale import Scale
from httpbed.addons.calibration.timing import Delay, Departures, Floor, Goodput, Rate
from httpbed.base import units
from httpbed.experiment.impairments.rate import OVERHEADS

BOTH = (UP, DOWN)
FULL_PACKET, SMALL_PACKET = 1500, 200
SLOW_BIT_S, FAST_BIT_S = 10**6, 3 * 10**8
"""Below, packets are small, so that there are enough; above, directions are tried in turn."""
HEAD_START, HEAD_START_FAST, HEAD_START_S = 20, 96, 10e-3
"""Packets that fill the queue at once, so that the transmitter is never idle; a rootless
emulator's receive buffer holds about 180."""
OFFERED, OFFERED_FAST = 1.25, 1.1
"""Load as a multiple of the rate; a fast link first gets more, in case the sender is delayed."""
OVERHEAD_S = 0.25
"""Seconds for making and ending a cell's network, about."""
DEEP = {"limit": "1000000 packets"}


@dataclass(frozen=True)
class Extent:
    """The conditions that a scale tries."""

    rates: tuple[int, ...]
    rate_s: float
    delays_ms: tuple[float, ...]
    losses: tuple[float, ...]
    loss_packets: int
    samples: int
    """Packets for the test of a distribution."""


EXTENTS: Mapping[Scale, Extent] = {
    "smoke": Extent(
        rates=(50_000, 10**7, 10**9),
        rate_s=1.0,
        delays_ms=(25,),
        losses=(0.02,),
        loss_packets=2000,
        samples=150,
    ),
    "standard": Extent(
        rates=(50_000, 10**6, 10**7, 10**8, 10**9),
        rate_s=3.0,
        delays_ms=(1, 10, 25, 100, 500),
        losses=(0.001, 0.01, 0.05, 0.5),
        loss_packets=10_000,
        samples=400,
    ),
    "full": Extent(
        rates=(50_000, 250_000, 10**6, 5 * 10**6, 10**7, 5 * 10**7, 10**8, 5 * 10**8, 10**9),
        rate_s=10.0,
        delays_ms=(0.5, 1, 2, 5, 10, 25, 50, 100, 200, 350, 500),
        losses=(0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5),
        loss_packets=50_000,
        samples=2000,
    ),
}


def floor() -> Cell:
    """The link without impairments: the machine's own delay, and a complete transfer."""
    claims: list[Claim] = [claim(way) for way in BOTH for claim in (Floor, Complete)]
    return Cell(
        name="no impairment",
        link={},
        flows=_both_ways(Train(250, SMALL_PACKET, 2e-3)),
        claims=tuple(claims),
        covers={"delay_s": 0.0, "loss": 0.0},
    )


def rates(extent: Extent) -> Iterator[Cell]:
    """Cells of constant rates; one direction at a time above what two cores can send."""
    for bit_s in extent.rates:
        ways = [(UP,), (DOWN,)] if bit_s > FAST_BIT_S else [BOTH]
        for way in ways:
            yield rate_cell(bit_s, extent.rate_s, way)


def rate_cell(bit_s: int, seconds: float, ways: tuple[int, ...] = BOTH) -> Cell:
    """Exceed a rate for some seconds: each packet has a computed departure."""
    where = "" if len(ways) > 1 else f", {DIRECTIONS[ways[0]]}"
    return Cell(
        name=f"rate {units.format_rate(bit_s)}{where}",
        link={"rate": units.format_rate(bit_s), "queue": DEEP},
        covers={"rate_bit_s": bit_s},
        **_overload(bit_s, seconds, ways),
    )


def counted_cell(counted: str, bit_s: int, seconds: float) -> Cell:
    """A rate that counts other bytes than the IP packet."""
    return Cell(
        name=f"bytes counted as {counted}",
        link={"rate": units.format_rate(bit_s), "queue": DEEP, "counted": counted},
        covers={"counted": counted},
        **_overload(bit_s, seconds, BOTH, overhead_bytes=OVERHEADS[counted]),
    )


def far_cell(bit_s: int, delay_ms: float, seconds: float) -> Cell:
    """A rate and a delay together: as many packets under way as a window may hold."""
    traffic = _overload(bit_s, seconds, (DOWN,), delay_s=delay_ms / 1e3)
    return Cell(
        name=f"rate {units.format_rate(bit_s)} behind {delay_ms:g} ms",
        link={"rate": units.format_rate(bit_s), "delay": f"{delay_ms:g} ms", "queue": DEEP},
        covers={"together": "rate and delay"},
        **traffic,
    )


def _overload(
    bit_s: int,
    seconds: float,
    ways: tuple[int, ...],
    *,
    overhead_bytes: int = 0,
    delay_s: float = 0.0,
) -> dict[str, Any]:
    """Return the traffic, the claims, and how long the queue drains."""
    size = SMALL_PACKET if bit_s < SLOW_BIT_S else FULL_PACKET
    counted = size + overhead_bytes
    count = max(40, round(seconds * bit_s / 8 / counted))
    offered = OFFERED_FAST if bit_s > FAST_BIT_S else OFFERED
    gap = counted * 8 / bit_s / offered
    claims: list[Claim] = []
    for way in ways:
        claims += [
            Rate(way, bit_s, rate_tolerance(bit_s), overhead_bytes=overhead_bytes),
            Departures(way, bit_s, overhead_bytes=overhead_bytes, delay_s=delay_s),
            Complete(way),
        ]
    flows = tuple(_rate_flow(way, size, count, gap, bit_s) for way in ways)
    drains = count * counted * 8 / bit_s - min(flow.lasts_s() for flow in flows)
    return {"flows": flows, "claims": tuple(claims), "settle_s": 0.3 + drains + delay_s}


def _rate_flow(way: int, size: int, count: int, gap: float, bit_s: int) -> Flow:
    if bit_s > FAST_BIT_S:  # calls for single packets would cost more than a core
        ahead = count // 6
        faster, rest = Train(ahead, size, gap / 1.4), count - ahead - HEAD_START_FAST
        fast = (Train(HEAD_START_FAST, size), faster, Train(rest, size, gap))
        return Flow(way, fast, ports=32, segments=8, spin_s=0.0)
    head = min(HEAD_START_FAST, max(HEAD_START, round(HEAD_START_S * bit_s / 8 / size)))
    trains = (Train(head, size), Train(count - head, size, gap))
    return Flow(way, trains, ports=4, spin_s=0.0)


def rate_tolerance(bit_s: int) -> float:
    """Return the tolerated relative error of a rate."""
    if bit_s < SLOW_BIT_S:
        return 0.005
    return 0.002 if bit_s <= FAST_BIT_S else 0.01


def goodput() -> Cell:
    """TCP through a bottleneck: segmentation offload is a common fault of emulated links."""
    bit_s = 5 * 10**7
    return Cell(
        name=f"TCP at {units.format_rate(bit_s)}",
        link={
            "rate": units.format_rate(bit_s),
            "delay": "5 ms",
            "queue": {"limit": "1000 packets"},
        },
        stream=Stream(DOWN, 2.0),
        claims=(Goodput(DOWN, bit_s, 0.02),),
        covers={"rate_bit_s": bit_s},
    )


def delays(extent: Extent) -> Iterator[Cell]:
    """Cells of one-way delays in both directions, so that a forgotten direction shows."""
    for delay_ms in extent.delays_ms:
        yield delay_cell(delay_ms, extent.samples)


def delay_cell(delay_ms: float, samples: int) -> Cell:
    """Packets far apart from each other, each delayed."""
    claims: list[Claim] = []
    for way in BOTH:
        claims += [Delay(way, delay_ms / 1e3), Complete(way)]
    return Cell(
        name=f"delay {delay_ms:g} ms",
        link={"delay": f"{delay_ms:g} ms"},
        flows=_both_ways(Train(samples, SMALL_PACKET, 2e-3)),
        claims=tuple(claims),
        settle_s=0.2 + delay_ms / 1e3,
        covers={"delay_s": delay_ms / 1e3},
    )


def losses(extent: Extent) -> Iterator[Cell]:
    """Cells of independent loss; each direction has its own stream."""
    for share in extent.losses:
        yield loss_cell(share, extent.loss_packets)


def loss_cell(share: float, packets: int) -> Cell:
    """Many packets; the seed determines which are lost."""
    return Cell(
        name=f"loss {share * 100:g} %",
        link={"loss": f"{share * 100:.6f} %"},
        flows=_both_ways(Train(packets, SMALL_PACKET, 250e-6), ports=4, spin_s=0.0),
        claims=tuple(Loss(way, share) for way in BOTH),
        covers={"loss": share},
    )


def _both_ways(train: Train, *, ports: int = 1, spin_s: float = 60e-6) -> tuple[Flow, ...]:
    return tuple(Flow(way, (train,), ports=ports, spin_s=spin_s) for way in BOTH)
