"""The cells: conditions, their traffic, and what arithmetic expects of each.

A machine can spoil rates, delays, losses and queues: these are measured. What else a link does, the
emulator's tests compute packet by packet (``envelope``).

Three scales. ``smoke`` tests whether the link works; ``standard`` suits a machine before
measurements; ``full`` tries more values for longer, and covers more. ``cell.ABOUT_S`` has their
durations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from httpbed.addons.calibration.cell import (
    DOWN,
    UP,
    Cell,
    Claim,
    Flow,
    Scale,
    Stream,
    Train,
)
from httpbed.addons.calibration.claims import (
    Complete,
    Delay,
    Departures,
    Floor,
    Goodput,
    Loss,
    QueueAdmission,
    Rate,
    admitted,
)
from httpbed.base import units
from httpbed.experiment.impairments.descriptor import DIRECTIONS

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
BURST_PACKETS = 60
"""Packets of a burst into a queue: fewer than the smallest receive buffer holds (about 180)."""
QUEUE_BIT_S = 10**5
"""A rate so low that the burst ends before its first packet leaves (120 ms of 1500 bytes)."""


@dataclass(frozen=True)
class Extent:
    """The conditions that a scale tries."""

    rates: tuple[int, ...]
    rate_s: float
    delays_ms: tuple[float, ...]
    losses: tuple[float, ...]
    loss_packets: int
    samples: int
    """Packets for a median delay."""


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


def all_cells(scale: Scale) -> list[Cell]:
    """Return the cells of a scale, first the link without impairments: the others' floor."""
    extent = EXTENTS[scale]
    return [
        floor(),
        *(delay_cell(delay_ms, extent.samples) for delay_ms in extent.delays_ms),
        asymmetry(),
        offloads(),
        *rates(extent),
        goodput(),
        *(loss_cell(share, extent.loss_packets) for share in extent.losses),
        *queues(),
    ]


def floor() -> Cell:
    """The link without impairments: the machine's own delay, and a complete transfer."""
    return Cell(
        name="no impairment",
        link={},
        flows=_both_ways(Train(250, SMALL_PACKET, 2e-3)),
        claims=tuple(claim for way in BOTH for claim in (Floor(way), Complete(way))),
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
    size = SMALL_PACKET if bit_s < SLOW_BIT_S else FULL_PACKET
    count = max(40, round(seconds * bit_s / 8 / size))
    offered = OFFERED_FAST if bit_s > FAST_BIT_S else OFFERED
    gap = size * 8 / bit_s / offered
    claims: list[Claim] = []
    for way in ways:
        claims += [
            Rate(way, bit_s, rate_tolerance(bit_s)),
            Departures(way, bit_s),
            Complete(way),
        ]
    flows = tuple(_rate_flow(way, size, count, gap, bit_s) for way in ways)
    drains = count * size * 8 / bit_s - min(flow.lasts_s() for flow in flows)
    where = "" if len(ways) > 1 else f", {DIRECTIONS[ways[0]]}"
    return Cell(
        name=f"rate {units.format_rate(bit_s)}{where}",
        link={"rate": units.format_rate(bit_s), "queue": DEEP},
        flows=flows,
        claims=tuple(claims),
        settle_s=0.3 + drains,
        covers={"rate_bit_s": bit_s},
    )


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


def delay_cell(delay_ms: float, samples: int) -> Cell:
    """Packets far apart from each other, each delayed."""
    return Cell(
        name=f"delay {delay_ms:g} ms",
        link={"delay": f"{delay_ms:g} ms"},
        flows=_both_ways(Train(samples, SMALL_PACKET, 2e-3)),
        claims=tuple(
            claim for way in BOTH for claim in (Delay(way, delay_ms / 1e3), Complete(way))
        ),
        settle_s=0.2 + delay_ms / 1e3,
        covers={"delay_s": delay_ms / 1e3},
    )


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


def queues() -> Iterator[Cell]:
    """Bursts into full queues: the admitted packets are counted, not estimated."""
    mixed = tuple(Train(1, size) for _ in range(BURST_PACKETS // 3) for size in (200, 1500, 700))
    plain = (Train(BURST_PACKETS, SMALL_PACKET),)
    yield _queue("10 packets", 10, "packets", plain)
    yield _queue("7 packets", 7, "packets", mixed)
    yield _queue("16000 B", 16_000, "bytes", mixed)
    yield _queue("500 ms", 0.5, "s", plain)


def _queue(limit: str, amount: float, unit: str, trains: tuple[Train, ...]) -> Cell:
    flow, bit_s = Flow(UP, trains), QUEUE_BIT_S
    sizes = flow.sizes()
    numbers = admitted(sizes, amount, unit, bit_s)
    drains = sum(sizes[number] for number in numbers) * 8 / bit_s
    return Cell(
        name=f"queue of {limit}",
        link={"rate": units.format_rate(bit_s), "queue": {"limit": limit}},
        flows=(flow,),
        claims=(QueueAdmission(UP, numbers),),
        settle_s=0.2 + drains,
        covers={"queue limit": "time" if unit == "s" else unit},
    )


def offloads() -> Cell:
    """Datagrams sent many at a time must cross the link one by one."""
    return Cell(
        name="segmentation before the link",
        link={"delay": "5 ms"},
        flows=(Flow(UP, (Train(160, FULL_PACKET, 1e-3),), segments=8),),
        claims=(Complete(UP), Delay(UP, 5e-3)),
    )


def asymmetry() -> Cell:
    """Directions with different conditions: neither affects the other."""
    train = Train(60, FULL_PACKET, 5e-3)
    return Cell(
        name="another condition each way",
        link={
            "up": {"delay": "5 ms", "rate": "20 Mbit/s"},
            "down": {"delay": "40 ms", "rate": "8 Mbit/s"},
        },
        flows=(Flow(UP, (train,)), Flow(DOWN, (train,))),
        claims=(
            Delay(UP, 5e-3 + FULL_PACKET * 8 / 20e6),
            Delay(DOWN, 40e-3 + FULL_PACKET * 8 / 8e6),
            Complete(UP),
            Complete(DOWN),
        ),
    )
