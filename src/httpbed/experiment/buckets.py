"""Token buckets that answers pass on their way, beside what passes them; pure.

A bucket is full at first and passes so many bytes at line speed (Shenker and Wroclawski, RFC 2215,
section 4.2). One that holds a whole transfer never puts its rate in force.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from httpbed.experiment import units
from httpbed.experiment.impairments.rate import TokenBucket
from httpbed.experiment.scenario import Scenario


@dataclass(frozen=True)
class Passed:
    """One bucket, and the bytes of all bodies that pass it."""

    link: str
    source: str
    """Host from which the answers come."""
    rate_bit_s: int
    burst_bytes: int
    size: int

    @property
    def holds_all(self) -> bool:
        """Whether everything that passes does so at line speed."""
        return 0 < self.size <= self.burst_bytes

    def told(self) -> str:
        """Say that the rate is never in force, and what to do."""
        burst, size = units.format_size(self.burst_bytes), units.format_size(self.size)
        return (
            f"{self.link} from {self.source}: the bucket of {burst} holds the whole transfer of"
            f" {size}, so the rate of {units.format_rate(self.rate_bit_s)} is never in force; lower"
            f" burst to far less than {size}"
        )


def passed(scenario: Scenario) -> tuple[Passed, ...]:
    """List every bucket on the way of answers to a client, in the order of the links."""
    sizes = Counter[tuple[int, int]]()
    workloads = scenario.workloads()
    for hop in scenario.hops():
        number = _number(hop.client, hop.server)
        for place, way in scenario.route(hop.client, hop.server):
            sizes[place, 1 - way] += workloads[number].body_bytes()
    found = []
    for (place, way), size in sorted(sizes.items()):
        link = scenario.topology.links[place]
        rate = link.directions()[way].rate
        if isinstance(rate, TokenBucket):
            found.append(Passed(link.name, link.between[way], rate.bucket, rate.burst, size))
    return tuple(found)


def _number(asks: str, answers: str) -> int:
    """Number the client for whom a hop is: 0 is the measured one, then its competitors."""
    of_competitor = next((name for name in (asks, answers) if name.startswith("competitor-")), "")
    return int(of_competitor.split("-")[1]) if of_competitor else 0
