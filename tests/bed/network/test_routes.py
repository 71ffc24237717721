"""Routing tables, followed hop by hop: whoever can be reached is, and by the shortest way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.bed.network import network_plan, routes
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.network.routes import End, Entry
from httpbed.experiment.topology import Topology

NAMES = [f"h{number}" for number in range(6)]


@st.composite
def networks(draw: st.DrawFn) -> NetworkPlan:
    """Plan any network of up to six hosts, some of which forward."""
    pairs = [(name, other) for name in NAMES for other in NAMES if name < other]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9, unique=True))
    links = [{"between": draw(st.permutations(pair))} for pair in chosen]
    forwarding = draw(st.frozensets(st.sampled_from(NAMES)))
    version = draw(st.sampled_from(["4", "6"]))
    said = {"hosts": NAMES, "links": links, "ip_version": version}
    return network_plan.plan(Topology.model_validate(said), {}, 1, 1, forwarding=forwarding)


def tables(planned: NetworkPlan) -> dict[str, list[Entry]]:
    """Return every host's routing table."""
    ends, forwarding = planned.ends, planned.forwarding
    return {host: list(routes.of_host(ends, host, forwarding)) for host in planned.topology.hosts}


def followed(
    planned: NetworkPlan, tabled: dict[str, list[Entry]], start: str, goal: str
) -> list[str]:
    """Return the hosts that a packet comes to, each looking up the next in its own table."""
    (target,) = {end for end in _all_ends(planned) if end.address == planned.address(goal, start)}
    owners = {end.address: end.host for end in _all_ends(planned)}
    passed = [start]
    while passed[-1] != target.host:
        entry = next(one for one in tabled[passed[-1]] if one.network == target.network)
        passed.append(owners[entry.via.address] if entry.via else target.host)
        assert len(passed) <= len(NAMES), "a loop"
    return passed


def _all_ends(planned: NetworkPlan) -> list[End]:
    return [end for pair in planned.ends for end in pair]


@given(networks())
def test_every_packet_takes_the_way_that_is_planned(planned: NetworkPlan) -> None:
    """It passes only hosts that forward, and the answer comes back by the same links."""
    tabled = tables(planned)
    for start in NAMES:
        for goal in NAMES:
            way = planned.route(start, goal)
            if not way:
                continue
            hosts = followed(planned, tabled, start, goal)
            assert len(hosts) - 1 == len(way)
            assert set(hosts[1:-1]) <= planned.forwarding
            assert planned.route(goal, start) == tuple((link, 1 - side) for link, side in way[::-1])


@given(networks())
def test_whoever_is_joined_through_forwarders_has_a_way(planned: NetworkPlan) -> None:
    """Found here by spreading out from a host, link by link."""
    for start in NAMES:
        reached, edge = {start}, {start}
        while edge:
            ways = [link.between for link in planned.topology.links]
            near = {b if a == host else a for host in edge for a, b in ways if host in {a, b}}
            edge = (near - reached) & planned.forwarding
            reached |= near
        assert {goal for goal in NAMES if planned.route(start, goal)} == reached - {start}


@given(networks())
def test_a_host_sends_from_the_end_by_which_it_is_reached(planned: NetworkPlan) -> None:
    """So that answers find it, and no filter of the kernel takes them for strangers."""
    for start, table in tables(planned).items():
        assert len({entry.network for entry in table}) == len(table)
        for goal in NAMES:
            if planned.route(start, goal):
                used = planned.address(goal, start)
                (entry,) = (one for one in table if _has(planned, one.network, used))
                assert entry.own.address == planned.address(start, goal)


def _has(planned: NetworkPlan, wanted: str, address: str) -> bool:
    return any(end.network == wanted and end.address == address for end in _all_ends(planned))


def test_a_network_behind_hosts_that_take_part_is_unknown() -> None:
    """Its own two reach it; from elsewhere nothing could pass."""
    links = [{"between": pair} for pair in (["a", "b"], ["b", "c"], ["c", "d"])]
    said = {"hosts": list("abcd"), "links": links}
    planned = network_plan.plan(Topology.model_validate(said), {}, 1, 1, forwarding={"b"})
    known = {host: [entry.network for entry in table] for host, table in tables(planned).items()}
    first, second, third = (pair[0].network for pair in planned.ends)
    assert known == {
        "a": [first, second],
        "b": [first, second],
        "c": [second, third, first],
        "d": [third],
    }


def test_a_network_has_as_many_links_as_addresses() -> None:
    """The number of a link is one byte; links that are nested in others have the later ones."""
    topology = Topology.model_validate({"hosts": ["a", "b"], "links": [{"between": ["a", "b"]}]})
    one, other = routes.link_ends(topology, 0, routes.MAX_LINKS - 1)
    assert (one.address, other.network) == ("10.77.255.1", "10.77.255.0/24")
    six = topology.model_copy(update={"ip_version": "6"})
    assert routes.link_ends(six, 0, 255)[1].address_in_network == "fd77:0:0:ff::2/64"
    with pytest.raises(ValueError, match="256"):
        routes.link_ends(topology, 0, routes.MAX_LINKS)
