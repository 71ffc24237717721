"""How long an echo takes over an idle network; pure."""

from __future__ import annotations

from collections.abc import Sequence

from httpbed.model.impairments.rate import Steps
from httpbed.model.topology import Direction
from httpbed.network.plan import NetworkPlan

PING_IP_BYTES = {"4": 84, "6": 104}
"""20 or 40 of IP, 8 of ICMP and ping's own 56."""


def round_trip_s(net: NetworkPlan, start: str, goal: str) -> tuple[float, float]:
    """Seconds that ping must see between two hosts, at least and at most; see :func:`over_s`."""
    return over_s(net, [link for link, _ in net.route(start, goal)])


def over_s(net: NetworkPlan, links: Sequence[int]) -> tuple[float, float]:
    """Seconds that ping must see over these links, at least and at most.

    Both delays and both transmissions of every link between them; of the packets before the start
    none meets a draw, so jitter does not count. An echo may have to wait for the opportunities of
    a trace. The kernel's tbf is a bucket, which is full at first.
    """
    least = delays_over_s(net, links)
    if net.backend != "tbf":
        size = PING_IP_BYTES[net.topology.ip_version]
        least += sum(
            _transmission_s(way, size)
            for link in links
            for way in net.topology.links[link].directions()
        )
    return least, least + sum(net.waits_s[link] for link in links)


def delays_s(net: NetworkPlan, start: str, goal: str) -> float:
    """Seconds of all one-way delays between two hosts, there and back."""
    return delays_over_s(net, [link for link, _ in net.route(start, goal)])


def delays_over_s(net: NetworkPlan, links: Sequence[int]) -> float:
    """Seconds of all one-way delays of these links, there and back."""
    return sum(net.topology.links[link].rtt_s() for link in links)


def _transmission_s(way: Direction, ip_bytes: int) -> float:
    """Seconds that an echo takes to be sent; a bucket is full at first, and sends it at once."""
    rate = way.rate.first_bit_s if isinstance(way.rate, Steps) else way.rate
    return (ip_bytes + way.overhead_bytes()) * 8 / rate if isinstance(rate, int) else 0.0
