"""Where on the network the bodies of the measured client are watched over time.

What their receiver gets leaves its own link: the client's in a download, the server's in an upload.
A queue grows on the narrowest link: the links beyond it get no more than it lets through. So the
time from a packet's leaving of the narrowest link until its answer comes back is that of the
delays, and the round trip can be seen at that link.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from httpbed.base import units
from httpbed.experiment.impairments.rate import TokenBucket
from httpbed.experiment.scenario import Scenario

Place = tuple[int, int]
"""A link's index, and its direction towards the receiver: 0 from its first host to its second."""


@dataclass(frozen=True)
class VantagePoints:
    """The directions in which the measured client's bodies are watched."""

    receiver: tuple[Place, ...]
    """The receiver's own links; several for a client with a hand-over."""
    narrow: tuple[Place, ...]
    """The narrowest link; several where it is the client's own and the client changes it."""
    beyond_s: float
    """Sum of the delays between the narrowest link and the receiver, in both directions."""
    before_s: float
    """Sum of the delays between the sender and the narrowest link, in both directions."""

    def records(self) -> dict[Place, float]:
        """Map each watched direction to the round trip beyond its link, in seconds."""
        return dict.fromkeys(self.receiver, 0.0) | dict.fromkeys(self.narrow, self.beyond_s)


def vantage_points(scenario: Scenario) -> VantagePoints:
    """Return where a scenario's bodies are watched; of equal links the sender's is the narrow one.

    The ends are the client, and its server or the first proxy.
    """
    links = scenario.topology.links
    route = list(scenario.bodies_route(scenario.hops()[0], scenario.workload))
    if scenario.workload.sender == "client":
        route.reverse()  # from the receiver on
    rates = [links[link].directions()[way].mean_bit_s() or math.inf for link, way in route]
    place = max(index for index, rate in enumerate(rates) if rate == min(rates))
    host = scenario.hosts["client"]
    own = [(link, int(links[link].between[0] == host)) for link in scenario.access_links]
    receiver = tuple(own) or (route[0],)
    return VantagePoints(
        receiver=receiver,
        narrow=receiver if place == 0 else (route[place],),
        beyond_s=sum(links[link].rtt_s() for link, _ in route[:place]),
        before_s=sum(links[link].rtt_s() for link, _ in route[place + 1 :]),
    )


def unused_controls(scenario: Scenario) -> Iterator[str]:
    """Yield each server of an upload that states a congestion control when its client has none."""
    for group in scenario.client_groups:
        client, server = group.roles.client, group.roles.server
        stated = server.congestion_control and not client.congestion_control
        if stated and group.workload.sender == "client":
            yield (
                f"the congestion control of the {group.prefix}server, {server.congestion_control},"
                " decides no upload, because the client sends the bodies; set congestion_control"
                f" of the {group.prefix}client"
            )


# Token buckets on the path of bodies, and the bytes that pass each of them.
#
# A bucket is full at first, so its first burst passes at line rate (RFC 2215 section 4.2). If the
# bucket is larger than the whole transfer, its rate never limits anything.


@dataclass(frozen=True)
class BucketLoad:
    """A token bucket, and the bytes of all bodies that pass it."""

    link: str
    source: str
    """The host at the link's end that sends the bodies."""
    rate_bit_s: int
    burst_bytes: int
    size: int

    @property
    def holds_all(self) -> bool:
        """Whether the whole transfer passes at line rate."""
        return 0 < self.size <= self.burst_bytes

    def warning(self) -> str:
        """Return a message that the rate never limits the transfer, with the remedy."""
        burst, size = units.format_size(self.burst_bytes), units.format_size(self.size)
        return (
            f"{self.link} from {self.source}: the bucket of {burst} holds the whole transfer of"
            f" {size}, so the rate of {units.format_rate(self.rate_bit_s)} never limits it; set"
            f" burst to far less than {size}"
        )


def bucket_loads(scenario: Scenario) -> tuple[BucketLoad, ...]:
    """Return every bucket that bodies of a client pass, in the order of the links."""
    sizes = Counter[tuple[int, int]]()
    for group in scenario.client_groups:
        for hop in group.hops():
            for place in scenario.bodies_route(hop, group.workload):
                sizes[place] += group.workload.body_bytes()
    loads = []
    for (index, direction), size in sorted(sizes.items()):
        link = scenario.topology.links[index]
        rate = link.directions()[direction].rate
        if isinstance(rate, TokenBucket):
            source = link.between[direction]
            loads.append(BucketLoad(link.name, source, rate.bucket, rate.burst, size))
    return tuple(loads)
