"""The task of each part: its server, addresses and files."""

from __future__ import annotations

from typing import Any

from httpbed.bed.network import network_plan
from httpbed.experiment.scenario import Scenario
from httpbed.programs.part import Upstream
from httpbed.trial import hops, plan
from httpbed.trial.attempt_plan import BODIES
from recorded import CATALOG

BELL: dict[str, Any] = {
    "topology": {
        "hosts": ["client", "rival", "left", "proxy", "server", "server2", "rivalserver"],
        "links": [
            {"between": pair, "rate": "10 Mbit/s"}
            for pair in (
                ("client", "left"),
                ("rival", "left"),
                ("left", "proxy"),
                ("proxy", "server"),
                ("proxy", "server2"),
                ("left", "rivalserver"),
            )
        ],
    },
    "roles": {
        "client": {"implementation": "curl", "http_version": "3"},
        "proxies": [{"implementation": "envoy", "http_version": "2"}],
        "server": {"implementation": "nginx", "also_on": ["server2"]},
    },
    "workload": {"kind": "download", "size": "10 kB", "files": 2},
    "competitors": [
        {
            "client": {"implementation": "curl", "http_version": "2", "host": "rival"},
            "server": {"implementation": "nginx", "host": "rivalserver"},
            "workload": {"kind": "download", "size": "1 kB"},
        }
    ],
}
SCENARIO = Scenario.model_validate(BELL)
NET = network_plan.plan(SCENARIO.topology, SCENARIO.senders(), 1, 1, forwarding=SCENARIO.routers)
PARTS = plan.plan_parts(SCENARIO, CATALOG, NET, 60.0)


def test_each_part_asks_the_next_one() -> None:
    """By an address that it can reach; the proxy has both servers."""
    assert PARTS["client"].server_address == NET.address("proxy", "client") == "10.77.2.2"
    assert PARTS["proxy"].upstreams == (Upstream("10.77.3.2", 443), Upstream("10.77.4.2", 443))
    assert PARTS["competitor-1-client"].server_address == "10.77.5.2"


def test_each_part_uses_the_http_versions_of_its_hops() -> None:
    """The proxy answers in one version and asks in another."""
    told = {name: (part.role, part.http_version) for name, part in PARTS.items()}
    assert told == {
        "client": ("client", "3"),
        "proxy": ("proxy", "3"),
        "server": ("server", "2"),
        "server-2": ("server", "2"),
        "competitor-1-client": ("client", "2"),
        "competitor-1-server": ("server", "2"),
    }
    assert PARTS["proxy"].upstream_http_version == "2"


def test_bodies_are_named_like_their_urls() -> None:
    """Each client has its own folder."""
    fetches = [(fetch.path, fetch.body) for fetch in PARTS["client"].fetches]
    assert fetches == [
        (f"/10000-{number}.txt", f"{BODIES}/client/10000-{number}.txt") for number in (1, 2)
    ]
    (fetch,) = PARTS["competitor-1-client"].fetches
    assert fetch.body == f"{BODIES}/competitor-1-client/1000.txt"


def test_clients_and_proxies_have_the_server_name_in_their_hosts_file() -> None:
    """A server needs none."""
    client = plan.part_process(PARTS["client"], CATALOG["curl"], "client")
    assert "10.77.2.2 server.httpbed.test\n" in client.shown["/etc/hosts"]
    proxy = plan.part_process(PARTS["proxy"], CATALOG["envoy"], "proxy").shown["/etc/hosts"]
    assert "10.77.3.2 server.httpbed.test\n10.77.4.2 server.httpbed.test\n" in proxy
    assert not plan.part_process(PARTS["server"], CATALOG["nginx"], "server").shown


def test_connections_are_found_by_hop_and_link() -> None:
    """Each side looks at its own link."""
    first, *_ = hops.locate(SCENARIO, NET)
    told = {"client": "10.77.0.1:5000", "server": "10.77.2.2:443"}
    seen = [{**told, "link": name} for name in ("client-left", "left-proxy")]
    others = [{**seen[0], "client": "10.77.1.1:5000", "link": "rival-left"}]
    assert first.near([*seen, *others]) == seen[:1]
    assert first.far([*seen, *others]) == seen[1:]
    assert first.downstream == 1


def test_of_equal_links_the_narrowest_carries_most_senders() -> None:
    """All links have one rate."""
    pairs = ("client left", "rival left", "left right", "right server", "right rivalserver")
    links = [{"between": tuple(pair.split()), "rate": "10 Mbit/s"} for pair in pairs]
    hosts = list(dict.fromkeys(" ".join(pairs).split()))
    roles = {key: role for key, role in BELL["roles"].items() if key != "proxies"}
    roles["server"] = {"implementation": "nginx"}
    said = {**BELL, "topology": {"hosts": hosts, "links": links}, "roles": roles}
    assert Scenario.model_validate(said).bottleneck() == (2, 1)
    assert Scenario.model_validate({**said, "competitors": []}).bottleneck() == (0, 1)
    assert SCENARIO.ceiling_bit_s() == {10_000_000}
