"""Where on the network a download is watched over time.

A sender's round trip begins on the link next to it, and what the client receives leaves its own
link. A queue grows on the narrowest link. Where one link joins client and server, all are that one.
"""

from __future__ import annotations

from dataclasses import dataclass

from httpbed.experiment.scenario import Scenario

Place = tuple[int, int]
"""A link's index, and its direction towards the client: 0 from its first host to its second."""


@dataclass(frozen=True)
class VantagePoints:
    """The directions in which the responses to the measured client are watched."""

    receiver: tuple[Place, ...]
    """The client's own links; with a hand-over several."""
    queue: Place
    """The narrowest link."""
    sender: Place
    """The link of the client's server, or of the first proxy."""

    def places(self) -> frozenset[Place]:
        """Return all directions."""
        return frozenset({*self.receiver, self.queue, self.sender})


def of(scenario: Scenario) -> VantagePoints:
    """Return where a scenario's download is watched."""
    towards_client = [(link, 1 - direction) for link, direction in scenario.access()]
    host = scenario.hosts["client"]
    links = scenario.topology.links
    own = [(index, int(links[index].between[0] == host)) for index in scenario.access_links]
    return VantagePoints(
        receiver=tuple(own) or (towards_client[0],),
        queue=scenario.bottleneck(),
        sender=towards_client[-1],
    )
