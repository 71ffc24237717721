"""The kernel's own link: what it can do, and the commands that make it.

::

    client                     the sandbox's own network                    server
    eth0 ── veth ── l0a (qdisc: to the client) ── l0, a bridge ── (qdisc: to the server) l0b ── eth0

The queueing disciplines are at the egress of the bridge's ports, on a separate hop. At an endpoint
the kernel would report a dropped packet to its sender, and a sender would wait for its packets in
the queue (TCP small queues) instead of losing them. ``httpbed-link`` only observes.

Pitfalls of these disciplines, and their remedies:

* Both see super-packets if GSO is on: the hosts' offloads are off, as with the emulator.
* Both count the Ethernet header. A size table (``stab``) subtracts it from ``tbf``'s packets or
  adds the bytes on a wire; ``netem`` has an overhead parameter.
* If its timer is late, ``tbf`` loses the tokens of that time beyond its burst: see :data:`LATE_S`.
* ``netem``'s limit holds the packets that are under way as well as those that wait, so a long fat
  link would drop packets: the limit has room for both, :data:`MAX_PACKETS` without a rate.
* ``netem``'s jitter reorders packets unless there is a rate; so jitter is refused without one.
* ``netem`` acts before the client's start, too: pings meet loss and jitter.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

from httpbed.base import seeds
from httpbed.bed.network.routes import End
from httpbed.experiment.impairments.delay import Distributed
from httpbed.experiment.impairments.loss import GilbertElliott
from httpbed.experiment.impairments.rate import MTU_BYTES, TokenBucket
from httpbed.experiment.impairments.registry import ALL, CHANCES
from httpbed.experiment.topology import Direction, Link

Kind = Literal["tbf", "netem"]
KINDS: Final = get_args(Kind)

ETHERNET_BYTES = 14
"""Bytes that the kernel counts beyond the IP packet."""
LATE_S = 100e-6
"""Lateness of a timer that costs no rate: the bucket holds this time's bytes and one packet."""
MAX_BIT_S = 10_000_000_000
MAX_BYTES = 2**32 - 1
"""The kernel keeps limit and burst in 32 bits."""
MAX_PACKETS = 1_000_000

READINGS = ("before-start", "after-start", "before-stop", "after-stop")
"""When the counters are read: before and after the emulator's orders to start and to stop."""

Side = Literal["up", "down"]
SIDES: tuple[Side, Side] = ("up", "down")
Reasons = Iterator[tuple[str, str, str]]
"""Key, reason and remedy."""

_TBF = frozenset({"rate", "counted", "queue"})
_NETEM = _TBF | {"delay", "jitter", "reordering", "loss"}
_NETEM |= {impairment.field for impairment, chance in CHANCES if chance.netem}
"""Impairments that each kind of discipline can do, with the limits that ``_unable`` finds."""
DEFAULT = "leave it out, or run without --link-backend"


@dataclass(frozen=True)
class UnsupportedKey:
    """A part of a link that a kind of discipline cannot do."""

    side: Side | None
    """The direction; None if it concerns both."""
    key: tuple[str | int, ...]
    """Its keys in the link's description."""
    reason: str
    remedy: str = DEFAULT


@dataclass(frozen=True)
class LinkDisciplines:
    """The disciplines of one link, and the lines that make them."""

    kind: Kind
    seeds: tuple[int, int] | None
    """Seeds of netem's random numbers for each direction; None if the kernel takes none."""
    lines: tuple[str, ...]
    """Lines for ``tc -batch``."""


def bridge(ends: tuple[End, End]) -> list[str]:
    """Write lines for ``ip -batch`` that make the kernel carry packets between both ports.

    The bridge itself sends nothing: no spanning tree, no snooping (and IPv6 is off).
    """
    name = ends[0].emulator_interface[:-1]
    ports = [f"link set dev {end.emulator_interface} master {name}" for end in ends]
    addition = f"link add name {name} type bridge stp_state 0 mcast_snooping 0"
    return [addition, *ports, f"link set dev {name} up"]


def shaped(
    kind: Kind, link: Link, ends: tuple[End, End], keys: tuple[int, int] | None
) -> LinkDisciplines:
    """Plan the disciplines of a link for which :func:`unable` yields nothing.

    ``keys`` are netem's seeds; None if the kernel takes none.
    """
    towards = (ends[1].emulator_interface, ends[0].emulator_interface)
    lines: list[str] = []
    for index, (way, port) in enumerate(zip(link.directions(), towards, strict=True)):
        if kind == "tbf":
            lines += _tbf(port, way, link.rtt_s())
        else:
            lines.append(_netem(port, way, link.rtt_s(), keys[index] if keys else None))
    return LinkDisciplines(kind, keys, tuple(lines))


def netem_seeds(link: Link, seed: int, block: int) -> tuple[int, int]:
    """Return the seeds of netem's random numbers for each direction: one stream for all draws.

    Linux 6.6 and iproute2 6.5 are the first that take seeds.
    """
    first, second = link.between
    up, down = (
        seeds.stream_key(seed, block, link.name, name, "netem")
        for name in (f"{first}->{second}", f"{second}->{first}")
    )
    return up, down


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


def _netem(port: str, way: Direction, rtt_s: float, seed: int | None) -> str:
    words = [f"limit {netem_limit(way, rtt_s)}", *_netem_delay(way)]
    if isinstance(way.loss, GilbertElliott):
        loss = way.loss
        shares = (loss.to_bad, loss.to_good, loss.bad, loss.good)
        words.append(f"loss gemodel {' '.join(map(_percent, shares))}")
    elif way.loss:
        words.append(f"loss random {_percent(float(way.loss))}")  # type: ignore[arg-type]
    for impairment, chance in CHANCES:
        if chance.netem and (share := getattr(way, impairment.field)):
            words.append(f"{chance.netem} {_percent(share)}")
    if way.rate is not None:
        words.append(f"rate {_bit_s(way)}bit {way.overhead_bytes() - ETHERNET_BYTES}")
    if seed is not None:
        words.append(f"seed {seed}")
    return f"qdisc add dev {port} root handle 1: netem {' '.join(words)}"


def _netem_delay(way: Direction) -> list[str]:
    if way.reordering and way.reordering.share:
        # netem's reordering sends some packets at once and holds back all others.
        at_once = _percent(1 - way.reordering.share)
        return [f"delay {_ns(way.reordering.hold)} reorder {at_once} gap 1"]
    spread = jitter_s(way)
    if not spread:
        return [f"delay {_ns(way.delay)}"] if way.delay else []
    shape = isinstance(way.jitter, Distributed) and way.jitter.distribution == "normal"
    return [f"delay {_ns(way.delay)} {_ns(spread)}{' distribution normal' if shape else ''}"]


def netem_limit(way: Direction, rtt_s: float) -> int:
    """Return the packets that netem may hold: the queue's, and those under way."""
    if way.rate is None:
        return MAX_PACKETS
    _, queued = way.queue.limit.resolved(_bit_s(way), rtt_s)
    # 4: its table of the normal distribution ends at four standard deviations.
    longest_s = way.delay + 4 * jitter_s(way)
    largest = MTU_BYTES + way.overhead_bytes()
    return min(queued + math.ceil(_bit_s(way) * longest_s / 8 / largest), MAX_BYTES)


def jitter_s(way: Direction) -> float:
    """Return the spread of a direction's jitter in seconds; 0 without jitter."""
    if isinstance(way.jitter, Distributed):
        return way.jitter.spread
    return way.jitter if isinstance(way.jitter, float) else 0.0


def _percent(share: float) -> str:
    return f"{share * 100:.10g}%"


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"


def unable(kind: Kind, link: Link) -> Iterator[UnsupportedKey]:
    """Yield everything in a link that this kind of discipline cannot do."""
    find = _tbf_unable if kind == "tbf" else _netem_unable
    for side, way in zip(SIDES, link.directions(), strict=True):
        for key, reason, remedy in (*_both_unable(kind, way), *find(way)):
            yield UnsupportedKey(side, (key,), reason, remedy)
    live = f"{kind} is not changed while it runs"
    if link.schedule:
        yield UnsupportedKey(None, ("schedule",), live)
    for index, event in enumerate(link.events):
        if event.changed_fields():
            yield UnsupportedKey(
                None, ("events", index), live, "let it only tell, or run without it"
            )


def _both_unable(kind: Kind, way: Direction) -> Reasons:
    if way.queue.discipline != "droptail":
        yield "queue", f"{kind} has a drop-tail queue, not {way.queue.discipline}", DEFAULT
    if way.rate is not None and not isinstance(way.rate, (int, TokenBucket)):
        yield "rate", f"{kind} has no rate that changes, by steps or by a trace", DEFAULT
    elif _bit_s(way) > MAX_BIT_S:
        yield "rate", f"{kind} keeps no rate above 10 Gbit/s", "choose a lower one"


def _tbf_unable(way: Direction) -> Reasons:
    for field in _set_beyond(way, _TBF):
        yield field, f"tbf limits the rate, and does no {field}", DEFAULT
    if way.rate is None:
        yield "rate", "tbf needs a rate in each direction", 'give it one, such as "1 Gbit/s"'
    unit, amount = way.queue.limit.resolved(_bit_s(way), 0.0)
    waits = {"bytes": amount, "ns": _bit_s(way) * amount / 8e9, "packets": amount}[unit]
    if waits + MTU_BYTES > MAX_BYTES:
        yield "queue", "tbf's queue holds at most 4 GiB, or as many packets", "make it shorter"


def _set_beyond(way: Direction, able: Collection[str]) -> Iterator[str]:
    """Name the impairments that a direction has and that are not in ``able``."""
    fields = (impairment.field for impairment in ALL)
    return (field for field in fields if field not in able and getattr(way, field))


def _netem_unable(way: Direction) -> Reasons:
    for field in _set_beyond(way, _NETEM):
        yield field, f"netem does no {field}", DEFAULT
    if isinstance(way.rate, TokenBucket):
        yield "rate", "netem has no token bucket", "give a constant rate, or run with tbf"
    if way.loss and not isinstance(way.loss, (float, GilbertElliott)):
        yield "loss", "netem draws losses, it takes no list of packets", DEFAULT
    if way.rate is not None and way.queue.limit.unit in {"bytes", "s"}:
        reason = "netem's limit is in packets"
        yield "queue", reason, 'say it so, such as limit = "1000 packets"'
    yield from _netem_delay_unable(way)


def _netem_delay_unable(way: Direction) -> Reasons:
    if way.jitter and jitter_s(way) == 0:
        yield "jitter", "netem takes no samples", 'give a spread, such as jitter = "5 ms"'
    if isinstance(way.jitter, Distributed) and way.jitter.distribution == "pareto":
        yield "jitter", "netem's Pareto table has another spread than it says", "use normal"
    if jitter_s(way) and way.rate is None:
        yield "jitter", "netem's jitter reorders packets where there is no rate", "give a rate"
    alone = not (way.delay or way.rate is not None or jitter_s(way))
    if way.reordering and way.reordering.share and not alone:
        reason = "netem sends reordered packets at once, past rate, delay and jitter"
        yield "reordering", reason, "ask for reordering alone, or run without --link-backend"
