"""Token buckets on the response path, and the bytes that pass each of them.

A bucket is full at first, so its first burst passes at line rate (RFC 2215 section 4.2). If the
bucket is larger than the whole transfer, its rate never limits anything.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from httpbed.base import units
from httpbed.experiment.impairments.rate import TokenBucket
from httpbed.experiment.scenario import Scenario


@dataclass(frozen=True)
class BucketLoad:
    """A token bucket, and the bytes of all bodies that pass it."""

    link: str
    source: str
    """The host at the link's end that sends the responses."""
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
    """Return every bucket on the response path of a client, in the order of the links."""
    sizes = Counter[tuple[int, int]]()
    for group in scenario.client_groups:
        for hop in group.hops():
            for index, direction in scenario.route(hop.client, hop.server):
                sizes[index, 1 - direction] += group.workload.body_bytes()
    loads = []
    for (index, direction), size in sorted(sizes.items()):
        link = scenario.topology.links[index]
        rate = link.directions()[direction].rate
        if isinstance(rate, TokenBucket):
            source = link.between[direction]
            loads.append(BucketLoad(link.name, source, rate.bucket, rate.burst, size))
    return tuple(loads)
