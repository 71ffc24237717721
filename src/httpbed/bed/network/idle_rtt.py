"""The time that an echo takes over an idle network."""

from __future__ import annotations

from httpbed.bed.network.plan import NetworkPlan
from httpbed.experiment.impairments.rate import Steps
from httpbed.experiment.topology import Direction

PING_IP_BYTES = {"4": 84, "6": 104}
"""Bytes of a ping: 20 or 40 of IP, 8 of ICMP and 56 of data."""


def round_trip_s(
    net: NetworkPlan, start: str, goal: str, over: int | None = None
) -> tuple[float, float]:
    """Return the least and the most seconds that ping may measure between two hosts.

    ``over`` is the access link that the client pings by; by default its first.

    The time has both delays and both transmissions of every link between the hosts. Packets before
    the start meet no random draw, so jitter does not count. An echo may have to wait for the
    opportunities of a trace. The kernel's tbf is a bucket, which is full at first.
    """
    crossed = [link for link, _ in net.route(start, goal, over)]
    least = delays_s(net, start, goal, over)
    if net.backend != "tbf":
        size = PING_IP_BYTES[net.topology.ip_version]
        least += sum(
            _transmission_s(way, size)
            for link in crossed
            for way in net.topology.links[link].directions()
        )
    return least, least + sum(net.waits_s[link] for link in crossed)


def delays_s(net: NetworkPlan, start: str, goal: str, over: int | None = None) -> float:
    """Return the sum of all one-way delays between two hosts, there and back, in seconds."""
    return sum(net.topology.links[link].rtt_s() for link, _ in net.route(start, goal, over))


def _transmission_s(way: Direction, ip_bytes: int) -> float:
    """Return the transmission time of an echo in seconds; 0 for a bucket, full at first."""
    rate = way.rate.first_bit_s if isinstance(way.rate, Steps) else way.rate
    return (ip_bytes + way.overhead_bytes()) * 8 / rate if isinstance(rate, int) else 0.0
