"""The cells of other impairments than those of the grid."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from httpbed.addons.calibration import arithmetic
from httpbed.addons.calibration.cell import DOWN, UP, Cell, Flow, Train
from httpbed.addons.calibration.grid import (
    DEEP,
    FULL_PACKET,
    SMALL_PACKET,
    Extent,
    counted_cell,
    far_cell,
)
from httpbed.addons.calibration.packets import (
    BucketAdmission,
    Bursts,
    Complete,
    Corruption,
    Duplication,
    ListedLosses,
    Loss,
    Policed,
    QueueAdmission,
    Reordered,
)
from httpbed.addons.calibration.timing import (
    Delay,
    Departures,
    Jitter,
    JitterTable,
    Opportunities,
    Rate,
)
from httpbed.base import units

BURST_PACKETS = 60
"""Packets of a burst into a queue: fewer than the smallest receive buffer holds (about 180)."""
QUEUE_BIT_S = 10**5
"""A rate so low that the burst ends before its first packet leaves (120 ms of 1500 bytes)."""
BUCKET_BIT_S, BUCKET_BYTES = 500_000, 32 * 2**10
"""Zhang and Song's published token bucket: 0.5 Mbit/s with a burst of 32 KiB."""
BUCKET_LIMIT_BYTES = 37_143
"""Limit of its queue: 70 ms at the rate plus the burst, as tc converts a latency."""
TRACE_MS = (3, 4, 4, 9, 15, 16, 30, 31, 33, 52, 52, 52, 60, 71, 83, 84, 97)
"""Irregular times, so that only one phase fits."""
CHANCE = 0.05
GAP_S = 1e-3


def queues() -> Iterator[Cell]:
    """Bursts into full queues: the admitted packets are counted, not estimated."""
    mixed = tuple(Train(1, size) for _ in range(BURST_PACKETS // 3) for size in (200, 1500, 700))
    plain = (Train(BURST_PACKETS, SMALL_PACKET),)
    yield _queue("10 packets", 10, "packets", plain)
    yield _queue("7 packets", 7, "packets", mixed)
    yield _queue("16000 B", 16_000, "bytes", mixed)
    yield _queue("500 ms", 0.5, "s", plain)


def _queue(limit: str, amount: float, unit: str, trains: tuple[Train, ...]) -> Cell:
    flow = Flow(UP, trains)
    bit_s = QUEUE_BIT_S
    numbers = arithmetic.admitted(flow.sizes(), amount, unit, bit_s)
    drains = sum(flow.sizes()[number] for number in numbers) * 8 / bit_s
    return Cell(
        name=f"queue of {limit}",
        link={"rate": units.format_rate(bit_s), "queue": {"limit": limit}},
        flows=(flow,),
        claims=(QueueAdmission(UP, numbers),),
        settle_s=0.2 + drains,
        covers={"queue limit": "time" if unit == "s" else unit},
    )


def bursts(extent: Extent) -> Iterator[Cell]:
    """Burst loss by a Gilbert-Elliott channel that loses all packets in its bad state."""
    to_bad, to_good = 0.02, 0.3
    loss = {"to_bad": "2 %", "to_good": "30 %", "bad": "100 %", "good": "0 %"}
    yield Cell(
        name="burst loss, mean run 3.3",
        link={"loss": loss},
        flows=(_steady(UP, 2 * extent.loss_packets), _steady(DOWN, 2 * extent.loss_packets)),
        claims=tuple(Bursts(way, to_bad, to_good) for way in (UP, DOWN)),
        covers={"loss model": "gilbert_elliott"},
    )
    numbers = (0, 3, 17, 18, 99)
    yield Cell(
        name="loss of listed packets",
        link={"loss": {"packets": list(numbers)}},
        flows=(_steady(UP, 200), _steady(DOWN, 200)),
        claims=tuple(ListedLosses(way, numbers) for way in (UP, DOWN)),
        covers={"loss model": "listed"},
    )


def _steady(way: int, packets: int) -> Flow:
    return Flow(way, (Train(packets, SMALL_PACKET, 250e-6),), ports=4, spin_s=0.0)


def jitters(extent: Extent) -> Iterator[Cell]:
    """Jitter of each distribution; packets are so far apart that keeping order changes no delay."""
    delay_s, spread_s = 15e-3, 2e-3
    for distribution in ("uniform", "normal", "pareto"):
        jitter = {"distribution": distribution, "spread": f"{spread_s * 1e3:g} ms"}
        yield Cell(
            name=f"jitter, {distribution}",
            link={"delay": f"{delay_s * 1e3:g} ms", "jitter": jitter},
            flows=(Flow(DOWN, (Train(extent.samples, SMALL_PACKET, 5 * spread_s),)),),
            claims=(Jitter(DOWN, delay_s, spread_s, distribution),),
            covers={"jitter": distribution},
        )
    yield jitter_table()


def jitter_table() -> Cell:
    """Jitter by a table of samples: the seed determines the sample of each packet."""
    delay_s, samples_s = 10e-3, (-3e-3, 0.0, 1e-3, 4e-3)
    return Cell(
        name="jitter, table",
        link={
            "delay": f"{delay_s * 1e3:g} ms",
            "jitter": {"samples": [f"{sample * 1e3:g} ms" for sample in samples_s]},
        },
        flows=(Flow(UP, (Train(80, SMALL_PACKET, 8e-3),)),),
        claims=(JitterTable(UP, delay_s, samples_s),),
        covers={"jitter": "table"},
    )


def counted() -> Iterator[Cell]:
    """Bytes beyond the IP packet: 0.9 and 2.5 % of a full one."""
    for name in ("ethernet", "wire"):
        yield counted_cell(name, 10**7, 0.5)


def together() -> Iterator[Cell]:
    """Conditions that other cells try one at a time, combined."""
    yield far_cell(10**8, 100, 1.0)
    delay_s, hold_s, bit_s, loss = 25e-3, 10e-3, 10**7, 0.02
    yield Cell(
        name="several impairments at once",
        link={
            "rate": units.format_rate(bit_s),
            "delay": f"{delay_s * 1e3:g} ms",
            "loss": f"{loss * 100:g} %",
            "duplication": f"{CHANCE * 100:g} %",
            "reordering": {"share": f"{CHANCE * 100:g} %", "hold": f"{hold_s * 1e3:g} ms"},
        },
        flows=(Flow(UP, (Train(1000, SMALL_PACKET, GAP_S),)),),
        claims=(
            Loss(UP, loss),
            Duplication(UP, CHANCE, loss),
            Reordered(UP, CHANCE, delay_s, hold_s, loss),
            Delay(UP, delay_s + SMALL_PACKET * 8 / bit_s),
        ),
        covers={"together": "several impairments"},
    )


def buckets() -> Iterator[Cell]:
    """A token bucket: its burst at once, then its rate."""
    size = FULL_PACKET
    burst = BUCKET_BYTES // size
    count = burst + 60
    rate = {"bucket": units.format_rate(BUCKET_BIT_S), "burst": f"{BUCKET_BYTES} B"}
    yield Cell(
        name=f"token bucket {units.format_rate(BUCKET_BIT_S)}, 32 KiB",
        link={"rate": rate, "queue": DEEP},
        flows=(Flow(DOWN, (Train(count, size),)),),
        claims=(
            Departures(DOWN, BUCKET_BIT_S, BUCKET_BYTES),
            Rate(DOWN, BUCKET_BIT_S, 0.005, skip=burst + 1),
            Complete(DOWN),
        ),
        settle_s=0.3 + (count * size - BUCKET_BYTES) * 8 / BUCKET_BIT_S,
        covers={"rate model": "token_bucket"},
    )
    yield bucket_queue()


def bucket_queue() -> Cell:
    """Zhang and Song's published link under a burst: what the bucket and its queue admit.

    Twenty-two of the packets empty the bucket but for 10 bytes, so the next leaves 24 ms later.
    """
    flow = Flow(DOWN, (Train(BURST_PACKETS, 1475),))
    drains = BUCKET_LIMIT_BYTES * 8 / BUCKET_BIT_S
    return Cell(
        name="token bucket's queue, counted as Ethernet",
        link={"profile": "zhang2023-500k", "up": {"rate": "1 Gbit/s"}},
        flows=(flow,),
        claims=(BucketAdmission(DOWN, BUCKET_BIT_S, BUCKET_BYTES, BUCKET_LIMIT_BYTES, 14),),
        settle_s=0.3 + drains,
        covers={"rate model": "token_bucket", "queue limit": "bytes", "counted": "ethernet"},
    )


def policers() -> Iterator[Cell]:
    """A policer: a burst that empties the bucket, then packets at 4/3 of its rate.

    No packet comes within half a millisecond of the tokens that it needs.
    """
    size = 1475
    trains = (Train(BURST_PACKETS, size), Train(40, size, 0.75 * size * 8 / BUCKET_BIT_S))
    yield Cell(
        name=f"policer {units.format_rate(BUCKET_BIT_S)}, 32 KiB",
        link={
            "policing": {"rate": units.format_rate(BUCKET_BIT_S), "burst": f"{BUCKET_BYTES} B"},
        },
        flows=(Flow(DOWN, trains),),
        claims=(Policed(DOWN, BUCKET_BIT_S, BUCKET_BYTES),),
        covers={"impairment": "policing"},
    )


def traces() -> Iterator[Cell]:
    """A packet-delivery trace, looped: a full queue drains at its opportunities."""
    packets = 6 * len(TRACE_MS)
    text = "".join(f"{time}\n" for time in TRACE_MS)
    digest = hashlib.sha256(text.encode()).hexdigest()
    yield Cell(
        name="packet-delivery trace",
        link={"rate": {"trace": "calibration.trace", "sha256": digest}, "queue": DEEP},
        flows=(Flow(DOWN, (Train(packets, FULL_PACKET),)),),
        claims=(Opportunities(DOWN, TRACE_MS), Complete(DOWN)),
        settle_s=0.3 + 7 * TRACE_MS[-1] / 1e3,
        covers={"rate model": "trace"},
        files={digest: text},
    )


def strays(extent: Extent) -> Iterator[Cell]:
    """Duplication, corruption and reordering, each from its own stream."""
    chance = f"{CHANCE * 100:g} %"
    train = (Train(2 * extent.samples, 1000, GAP_S),)
    yield Cell(
        name=f"duplication {chance}",
        link={"duplication": chance},
        flows=(Flow(UP, train),),
        claims=(Duplication(UP, CHANCE),),
        covers={"impairment": "duplication"},
    )
    yield Cell(
        name=f"corruption {chance}",
        link={"corruption": chance},
        flows=(Flow(UP, train, checksum=False),),
        claims=(Corruption(UP, CHANCE),),
        covers={"impairment": "corruption"},
    )
    delay_s, hold_s = 10e-3, 10 * GAP_S
    yield Cell(
        name=f"reordering {chance}",
        link={"delay": "10 ms", "reordering": {"share": chance, "hold": f"{hold_s * 1e3:g} ms"}},
        flows=(Flow(UP, train),),
        claims=(Reordered(UP, CHANCE, delay_s, hold_s),),
        covers={"impairment": "reordering"},
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
