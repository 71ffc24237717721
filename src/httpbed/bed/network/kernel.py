"""The kernel's own link: what it can do, and the commands that make it.

::

    client                     the sandbox's own network                    server
    eth0 ── veth ── l0a (tbf: to the client) ── l0, a bridge ── (tbf: to the server) l0b ── eth0

The queueing disciplines are at the egress of the bridge's ports, on a separate hop. At an endpoint
the kernel would report a dropped packet to its sender, and a sender would wait for its packets in
the queue (TCP small queues) instead of losing them. ``httpbed-link`` only observes.

Pitfalls of ``tbf``, and their remedies:

* It sees super-packets if GSO is on: the hosts' offloads are off, as with the emulator.
* It counts the Ethernet header. A size table (``stab``) subtracts it from packets or adds the bytes
  on a wire.
* If its timer is late, it loses the tokens of that time beyond its burst: see :data:`LATE_S`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from httpbed.bed.network.routes import End
from httpbed.experiment.impairments.rate import MTU_BYTES, TokenBucket
from httpbed.experiment.impairments.registry import ALL
from httpbed.experiment.topology import Direction, Link

ETHERNET_BYTES = 14
"""Bytes that the kernel counts beyond the IP packet."""
LATE_S = 100e-6
"""Lateness of a timer that costs no rate: the bucket holds this time's bytes and one packet."""
MAX_BIT_S = 10_000_000_000
MAX_BYTES = 2**32 - 1
"""The kernel keeps limit and burst in 32 bits."""

READINGS = ("before-start", "after-start", "before-stop", "after-stop")
"""When the counters are read: before and after the emulator's orders to start and to stop."""

Side = Literal["up", "down"]
SIDES: tuple[Side, Side] = ("up", "down")
Reasons = Iterator[tuple[str, str, str]]
"""Key, reason and remedy."""

_ABLE = frozenset({"rate", "counted", "queue"})
"""The fields of a direction that ``tbf`` can do, with the limits that ``_unable`` finds."""
DEFAULT = "leave it out, or run without --link-backend"


@dataclass(frozen=True)
class UnsupportedKey:
    """A part of a link that ``tbf`` cannot do."""

    side: Side | None
    """The direction; None if it concerns both."""
    key: tuple[str | int, ...]
    """Its keys in the link's description."""
    reason: str
    remedy: str = DEFAULT


def bridge(ends: tuple[End, End]) -> list[str]:
    """Write lines for ``ip -batch`` that make the kernel carry packets between both ports.

    The bridge itself sends nothing: no spanning tree, no snooping (and IPv6 is off).
    """
    name = ends[0].emulator_interface[:-1]
    ports = [f"link set dev {end.emulator_interface} master {name}" for end in ends]
    addition = f"link add name {name} type bridge stp_state 0 mcast_snooping 0"
    return [addition, *ports, f"link set dev {name} up"]


def disciplines(link: Link, ends: tuple[End, End]) -> tuple[str, ...]:
    """Write lines for ``tc -batch`` that shape a link for which :func:`unable` yields nothing."""
    towards = (ends[1].emulator_interface, ends[0].emulator_interface)
    ways = zip(towards, link.directions(), strict=True)
    return tuple(line for port, way in ways for line in _tbf(port, way, link.rtt_s()))


def burst_bytes(way: Direction) -> int:
    """Return the bucket in bytes: as given, else one packet and what a late timer loses."""
    if isinstance(way.rate, TokenBucket):
        return way.rate.burst
    return MTU_BYTES + way.overhead_bytes() + math.ceil(_bit_s(way) * LATE_S / 8)


def _bit_s(way: Direction) -> int:
    return way.first_bit_s() or 0


def _tbf(port: str, way: Direction, rtt_s: float) -> list[str]:
    unit, amount = way.queue.limit.resolved(_bit_s(way), rtt_s)
    largest = MTU_BYTES + way.overhead_bytes()
    limits = {
        "bytes": amount,
        "packets": min(amount * largest, MAX_BYTES),
        # The bytes that wait so long at the rate, and the packet in service; the bucket's bytes
        # never wait. (tc's `latency` adds the bucket: such a limit is given in bytes.)
        "ns": math.ceil(_bit_s(way) * amount / 8e9) + largest,
    }
    extra = way.overhead_bytes() - ETHERNET_BYTES
    size = f"stab overhead {extra} linklayer ethernet " if extra else ""
    bucket = f"rate {_bit_s(way)}bit burst {burst_bytes(way)} limit {limits[unit]}"
    lines = [f"qdisc add dev {port} {size}root handle 1: tbf {bucket}"]
    if unit == "packets":
        lines.append(f"qdisc add dev {port} parent 1: handle 10: pfifo limit {amount}")
    return lines


def unable(link: Link) -> Iterator[UnsupportedKey]:
    """Yield everything in a link that ``tbf`` cannot do."""
    for side, way in zip(SIDES, link.directions(), strict=True):
        for key, reason, remedy in _unable(way):
            yield UnsupportedKey(side, (key,), reason, remedy)
    live = "tbf is not changed while it runs"
    if link.schedule:
        yield UnsupportedKey(None, ("schedule",), live)
    for index, event in enumerate(link.events):
        if event.changed_fields():
            yield UnsupportedKey(
                None, ("events", index), live, "let it only tell, or run without it"
            )


def _unable(way: Direction) -> Reasons:
    for impairment in ALL:
        if impairment.field not in _ABLE and getattr(way, impairment.field):
            reason = f"tbf limits the rate, and does no {impairment.field}"
            yield impairment.field, reason, DEFAULT
    if way.queue.discipline != "droptail":
        yield "queue", f"tbf has a drop-tail queue, not {way.queue.discipline}", DEFAULT
    if way.rate is None:
        yield "rate", "tbf needs a rate in each direction", 'give it one, such as "1 Gbit/s"'
    elif not isinstance(way.rate, (int, TokenBucket)):
        yield "rate", "tbf has no rate that changes, by steps or by a trace", DEFAULT
    elif _bit_s(way) > MAX_BIT_S:
        yield "rate", "tbf keeps no rate above 10 Gbit/s", "choose a lower one"
    unit, amount = way.queue.limit.resolved(_bit_s(way), 0.0)
    waits = {"bytes": amount, "ns": _bit_s(way) * amount / 8e9, "packets": amount}[unit]
    if waits + MTU_BYTES > MAX_BYTES:
        yield "queue", "tbf's queue holds at most 4 GiB, or as many packets", "make it shorter"
