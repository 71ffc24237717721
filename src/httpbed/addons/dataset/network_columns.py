"""Columns of the network: each direction of each link, and the client's path to the server.

Links count from the client: first those on the path of its requests, then all others in the order
of the experiment file. ``to_server`` is the direction of the requests, ``to_client`` that of the
responses. On a link off the path, ``to_server`` is ``up`` of the experiment file.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from httpbed.addons.dataset.dataset_column import Cell, Cells, DatasetColumn, described, place
from httpbed.experiment.impairments.descriptor import Along, Feature, FeatureKind, LinkFigures
from httpbed.experiment.impairments.rate import mean_bit_s
from httpbed.experiment.impairments.registry import ALL, Impaired
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.topology import Direction, Link, Route, Topology

TO_SERVER, TO_CLIENT = "to_server", "to_client"
SOURCE = "experiment file"
LinkWays = Sequence[tuple[Link, Direction]]
"""Directions of links along a path, the client's own link first."""
CHANGES = "Number of changes and events that the experiment file declares on this link."

_ALONG: Mapping[Along, str] = {
    "sum": "Sum over all links of the path.",
    "smallest": "Smallest of all links of the path.",
    "any": "Probability on at least one link of the path.",
    "narrowest": "Of the path's link with the lowest rate, of equal ones the client's nearest.",
}


def cells(scenario: Scenario) -> Cells:
    """Return the network of a scenario."""
    return {**_path(scenario), **_links(scenario), **_others(scenario)}


def _path(scenario: Scenario) -> Cells:
    route = path(scenario)
    links = scenario.topology.links
    cells: Cells = {}
    for name, flip in ((TO_CLIENT, 1), (TO_SERVER, 0)):
        hops = [(links[index], links[index].directions()[way ^ flip]) for index, way in route]
        for impairment in ALL:
            for feature in impairment.features:
                if feature.along:
                    column = _path_column(name, impairment.field, feature)
                    cells[column] = _along(feature, impairment.field, hops)
    rtt = DatasetColumn(
        "path_rtt_s",
        "number",
        "Sum of all delays of the path in both directions, without transmission and queueing.",
        SOURCE,
        "s",
        place("path"),
    )
    return {rtt: scenario.rtt_s(route), **cells}


def path(scenario: Scenario) -> Route:
    """Return the links that a request to the first server passes, each with its direction."""
    group = scenario.client_groups[0]
    route: Route = ()
    for hop in group.hops():
        route = (*route, *scenario.route(hop.client, hop.server))
        if hop.server == "server":
            break
    return route


@functools.cache
def _path_column(way: str, field: str, feature: Feature) -> DatasetColumn:
    along = _ALONG[feature.along] if feature.along else ""
    words = f"{described(Impaired, field)} {feature.addition}".strip()
    return DatasetColumn(
        f"path_{way}_{feature.name}",
        feature.kind,
        f"{_direction_words(way)}: {words} {along}",
        SOURCE,
        feature.unit,
        place("path"),
    )


def _direction_words(way: str) -> str:
    return "Towards the client" if way == TO_CLIENT else "Towards the server"


def _along(feature: Feature, field: str, hops: LinkWays) -> Cell:
    values = [_value(feature, field, *hop) for hop in hops]
    if feature.along == "narrowest":
        return values[_narrowest(hops)]
    numbers = [one for one in values if isinstance(one, (int, float))]
    if feature.along == "smallest":
        return min(numbers, default=None)
    if len(numbers) < len(values) or not feature.along:
        return None
    return _COMBINED[feature.along](numbers)


def _narrowest(hops: LinkWays) -> int:
    return min(
        range(len(hops)), key=lambda index: mean_bit_s(hops[index][1].rate) or math.inf, default=0
    )


def _any(probabilities: Sequence[float]) -> float:
    if sum(one > 0 for one in probabilities) <= 1:
        return max(probabilities, default=0.0)  # without the rounding of 1 - (1 - p)
    return 1 - math.prod(1 - one for one in probabilities)


_COMBINED: Mapping[str, Callable[[Sequence[float]], float]] = {"sum": math.fsum, "any": _any}


def _value(feature: Feature, field: str, link: Link, way: Direction) -> Cell:
    figures = LinkFigures(way.first_bit_s() or 0, link.rtt_s())
    return feature.read(getattr(way, field), figures)


def _links(scenario: Scenario) -> Cells:
    found: Cells = {}
    for number, (link, travel) in enumerate(_numbered(scenario), start=1):
        found |= _of_link(number, link, travel)
    return found


def _numbered(scenario: Scenario) -> Iterator[tuple[Link, int]]:
    """Yield every link with the direction that leads to the server, those of the path first."""
    ways = dict(reversed(path(scenario)))  # where a link is passed twice, the first time counts
    order = [*dict.fromkeys(index for index, _ in path(scenario))]
    order += [index for index in range(len(scenario.topology.links)) if index not in ways]
    for index in order:
        yield scenario.topology.links[index], ways.get(index, 0)


def _of_link(number: int, link: Link, travel: int) -> Cells:
    cells: Cells = {_link_column(number, "name", "string", described(Link, "name")): link.name}
    directions = link.directions()
    for name, way in ((TO_CLIENT, directions[1 - travel]), (TO_SERVER, directions[travel])):
        for impairment in ALL:
            for feature in impairment.features:
                column = _impairment_column(number, name, impairment.field, feature)
                cells[column] = _value(feature, impairment.field, link, way)
    changes = _link_column(number, "changes", "integer", CHANGES, "1")
    cells[changes] = len(link.schedule) + len(link.events)
    return cells


def _link_column(
    number: int, name: str, kind: FeatureKind, description: str, unit: str = ""
) -> DatasetColumn:
    return DatasetColumn(
        f"link_{number}_{name}",
        kind,
        f"Link {number} from the client: {description}",
        SOURCE,
        unit,
        place("links", number),
    )


@functools.cache
def _impairment_column(number: int, way: str, field: str, feature: Feature) -> DatasetColumn:
    words = f"{described(Impaired, field)} {feature.addition}".strip()
    return DatasetColumn(
        f"link_{number}_{way}_{feature.name}",
        feature.kind,
        f"Link {number} from the client, {_direction_words(way).lower()}: {words}",
        SOURCE,
        feature.unit,
        place("links", number),
    )


def _others(scenario: Scenario) -> Cells:
    network = scenario.topology
    return {
        DatasetColumn(
            "ip_version",
            "string",
            described(Topology, "ip_version"),
            SOURCE,
            place=place("path"),
        ): network.ip_version,
        DatasetColumn(
            "links", "integer", "Number of links of the network.", SOURCE, "1", place("path")
        ): len(network.links),
    }
