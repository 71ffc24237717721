"""A client's access links: what each leads to, followed hop by hop, and what is executed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from httpbed.bed.network import network_plan, routes
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.network.routes import AccessRoutes, Entry
from httpbed.experiment.topology import Topology

NAMES = ["client", *(f"h{number}" for number in range(4))]
TWO_ROUTERS: list[dict[str, Any]] = [
    {"name": "wifi", "between": ["client", "near"], "delay": "5 ms"},
    {"name": "cellular", "between": ["far", "client"], "delay": "20 ms"},
    {"between": ["near", "server"]},
    {"between": ["far", "server"]},
]


def planned(
    links: Sequence[Mapping[str, Any]],
    access: Sequence[int],
    forwarding: Iterable[str],
    version: str = "4",
    **more: Any,
) -> NetworkPlan:
    """Plan a network of these links, whose client goes from one to the next."""
    hosts = list(dict.fromkeys(host for link in links for host in link["between"]))
    said = {"hosts": hosts, "links": links, "ip_version": version}
    topology = Topology.model_validate(said)
    forwards = frozenset(forwarding)
    return network_plan.plan(topology, {}, 1, 1, forwarding=forwards, access=access, **more)


@st.composite
def networks(draw: st.DrawFn) -> NetworkPlan:
    """Plan any network whose client has two links or more, all or some of them for access."""
    far = draw(st.lists(st.sampled_from(NAMES[1:]), min_size=2, max_size=4))
    pairs = [(name, other) for name in NAMES[1:] for other in NAMES[1:] if name < other]
    others = draw(st.lists(st.sampled_from(pairs), max_size=7, unique=True))
    own = [("client", host) for host in far]
    links = [
        {"name": f"link{number}", "between": draw(st.permutations(pair))}
        for number, pair in enumerate(own + others)
    ]
    access = draw(st.permutations(range(len(own))))[: draw(st.integers(2, len(own)))]
    forwarding = draw(st.frozensets(st.sampled_from(NAMES[1:]), min_size=1))
    return planned(links, access, forwarding, draw(st.sampled_from(["4", "6"])))


def ways_of(plan: NetworkPlan) -> AccessRoutes:
    access = [one.link for one in plan.access]
    return AccessRoutes(plan.ends, "client", access, plan.forwarding)


def followed(
    plan: NetworkPlan, first: Sequence[Entry], start: str, address: str
) -> list[tuple[str, str]]:
    """Follow a packet from table to table; return each hop by its address here and there."""
    ends = [end for pair in plan.ends for end in pair]
    (target,) = (end.host for end in ends if end.address == address)
    owners = {end.address: end.host for end in ends}
    far = {one.address: two.address for pair in plan.ends for one, two in (pair, pair[::-1])}
    at, table, passed = start, first, list[tuple[str, str]]()
    while at != target:
        own = longest(table, address).own
        passed.append((own.address, far[own.address]))
        at = owners[far[own.address]]
        ways = ways_of(plan)
        table = [*routes.of_host(plan.ends, at, plan.forwarding), *ways.on(at)]
        assert len(passed) <= len(NAMES), "a loop"
    return passed


def longest(table: Sequence[Entry], address: str) -> Entry:
    """Look an address up, as the kernel does."""
    fit = [entry for entry in table if ip_address(address) in ip_network(entry.network)]
    return max(fit, key=lambda entry: ip_network(entry.network).prefixlen)


def hops(plan: NetworkPlan, start: str, goal: str, over: int) -> list[tuple[str, str]]:
    """Return the way that is planned, each hop by its addresses."""
    way = plan.route(start, goal, over)
    return [
        (plan.ends[link][side].address, plan.ends[link][1 - side].address) for link, side in way
    ]


@example(planned(TWO_ROUTERS, (0, 1), {"near", "far"}))
@given(networks())
def test_over_every_link_packets_take_its_way(plan: NetworkPlan) -> None:
    """To the one address by which the host is known; the answer comes back by the same links."""
    ways = ways_of(plan)
    for goal in set(plan.topology.hosts) - plan.forwarding - {"client"}:
        known = plan.route("client", goal)
        if not known or known[0][0] != plan.access[0].link:
            continue
        address = plan.address(goal, towards="client")
        for number, one in enumerate(plan.access):
            expected = hops(plan, "client", goal, one.link)
            if not expected:
                continue
            assert followed(plan, ways.over(number), "client", address) == expected
            back = list(routes.of_host(plan.ends, goal, plan.forwarding))
            returned = followed(plan, back, goal, one.end.address)
            assert returned == [(far, near) for near, far in expected[::-1]]


@given(networks())
def test_a_table_leads_over_its_link_alone(plan: NetworkPlan) -> None:
    """In the main table, routes of an earlier link have lower metrics."""
    for number, one in enumerate(plan.access):
        lines = (one.attach.input or "").splitlines()
        ways = [line.split() for line in lines if line.startswith("route ")]
        assert {way[way.index("dev") + 1] for way in ways} == {one.end.interface}
        assert {way[way.index("src") + 1] for way in ways} == {one.end.address}
        assert {tuple(way[-4:-2]) for way in ways} == {
            ("table", str(101 + number)),
            ("metric", str(100 * (number + 1))),
        }
        assert all(way[-2:] == ["congctl", "cubic"] for way in ways)
        prefixes = [entry.network for entry in ways_of(plan).over(number)]
        assert len(set(prefixes)) == len(prefixes)


def test_a_host_is_known_by_one_address_over_all_links() -> None:
    """A second link may reach it from another side; the router there gets a route."""
    plan = planned(TWO_ROUTERS, (0, 1), {"near", "far"})
    assert plan.address("server", towards="client") == "10.77.2.2"
    assert plan.address("server", towards="client", over=1) == "10.77.3.2"
    assert [access.end.address for access in plan.access] == ["10.77.0.1", "10.77.1.2"]
    (told,) = ways_of(plan).on("far")
    assert (told.network, told.via and told.via.address) == ("10.77.2.2/32", "10.77.3.2")
    assert ways_of(plan).on("near") == []
    networks = {entry.network for entry in ways_of(plan).over(1)}
    assert networks == {"10.77.1.0/24", "10.77.3.0/24", "10.77.2.2/32"}


def test_an_idle_echo_takes_the_links_time() -> None:
    """Of the link over which it is asked for; without a word, of the first."""
    plan = planned(TWO_ROUTERS, (1, 0), {"near", "far"})
    assert network_plan.delays_s(plan, "client", "server") == pytest.approx(0.040)
    assert network_plan.idle_round_trip_s(plan, "client", "server", 0) == pytest.approx(
        (0.010, 0.010)
    )
    assert network_plan.idle_round_trip_s(plan, "client", "server", 1) == pytest.approx(
        (0.040, 0.040)
    )


def test_a_client_that_stays_where_it_is_has_none() -> None:
    """However many links it has."""
    plan = planned(TWO_ROUTERS, (), {"near", "far"})
    assert (plan.access, plan.monitor) == ((), None)
    inputs = [spec.input for spec in plan.processes.specs() if spec.input]
    assert any("route" in text for text in inputs)
    assert not any("rule" in text for text in inputs)


def test_access_links_are_the_clients() -> None:
    """Whatever its name is."""
    with pytest.raises(ValueError, match="near-server is not a link of 'client'"):
        planned(TWO_ROUTERS, (0, 2), {"near", "far"})
    plan = planned(TWO_ROUTERS, (0, 2), {"client", "far"}, client="near")
    assert plan.monitor
    assert {plan.monitor.host, *(spec.host for spec in plan.access[1].specs())} == {"near"}


def test_another_link_of_the_clients_keeps_its_routes() -> None:
    """It is not one between which the client goes; what it leads to has no metric."""
    links = [*TWO_ROUTERS, {"between": ["client", "store"]}]
    plan = planned(links, (0, 1), {"near", "far"})
    (made,) = (
        spec for spec in plan.processes.hosts if spec.host == "client" and spec.argv[0] == "ip"
    )
    lines = (made.input or "").splitlines()
    assert "route replace 10.77.4.0/24 dev eth4 src 10.77.4.1 congctl cubic" in lines
    assert plan.route("client", "store") == ((4, 0),)
    assert plan.route("client", "store", over=0) == ()
