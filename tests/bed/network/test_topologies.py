"""Networks of several links: what is executed, as reviewed, and what the emulator is told."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import network_plan
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.experiment.topology import Topology

GOLDEN = Path(__file__).parents[2] / "golden"

PROXY = [
    {"between": ["client", "proxy"], "rate": "10 Mbit/s", "delay": "25 ms", "loss": "1 %"},
    {"between": ["proxy", "server"], "delay": "5 ms"},
]
ACCESS = (["client1", "left"], ["client2", "left"], ["right", "server1"], ["right", "server2"])
DUMBBELL = [
    {"between": ["left", "right"], "rate": "10 Mbit/s", "delay": "10 ms"},
    *({"between": pair, "delay": "1 ms"} for pair in ACCESS),
]
CHAIN = [
    {"between": ["client", "router"], "delay": "10 ms"},
    {"between": ["router", "server"], "delay": "20 ms", "rate": "1 Mbit/s"},
]
ACCESS_LINKS: Links = [
    {"name": "wifi", "between": ["client", "router"], "rate": "10 Mbit/s", "delay": "10 ms"},
    {"name": "cellular", "between": ["client", "router"], "rate": "10 Mbit/s", "delay": "25 ms"},
    {"between": ["router", "server"]},
]
Links = Sequence[Mapping[str, Any]]


def planned(
    links: Links,
    *routers: str,
    ip_version: str = "4",
    senders: Mapping[str, str] | None = None,
    backend: Backend = "af_packet",
    access: Sequence[int] = (),
) -> NetworkPlan:
    hosts = list(dict.fromkeys(host for link in links for host in link["between"]))
    said = {"hosts": hosts, "links": list(links), "ip_version": ip_version}
    topology = Topology.model_validate(said)
    forwarding = frozenset(routers)
    return network_plan.plan(
        topology, senders or {}, 1, 1, forwarding=forwarding, backend=backend, access=access
    )


def written(plan: NetworkPlan) -> str:
    """Write settings and commands as text, in order; what the emulator reads is left out."""
    lines = [
        f"[{host}] sysctl --write {name}={value}"
        for host, sysctls in plan.sysctls.items()
        for name, value in sysctls.items()
    ]
    handed_over = (spec.shell() for access in plan.access for spec in access.specs())
    said = [*lines, *(spec.shell() for spec in plan.processes.specs()), *handed_over]
    said += [plan.monitor.shell()] if plan.monitor else []
    return "".join(f"{line}\n" for line in said)


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("proxy", planned(PROXY, senders={"proxy": "bbr", "server": "reno"})),
        ("dumbbell", planned(DUMBBELL, "left", "right")),
        ("ipv6", planned(CHAIN, "router", ip_version="6")),
        ("ipv6-tun", planned(CHAIN, "router", ip_version="6", backend="tun")),
        ("access-links", planned(ACCESS_LINKS, "router", access=(0, 1))),
        ("access-links-ipv6", planned(ACCESS_LINKS, "router", access=(1, 0), ip_version="6")),
    ],
)
def test_the_plan_of_a_network_is_as_reviewed(name: str, plan: NetworkPlan) -> None:
    """Any change of what is executed shows up as a change of these files.

    After a change that is meant, write the file again from ``written``.
    """
    assert written(plan) == (GOLDEN / f"network-{name}.txt").read_text()


def test_a_host_is_called_by_the_address_that_faces_the_caller() -> None:
    """A proxy has one on either link, and nobody passes through it."""
    plan = planned(PROXY)
    assert plan.address("proxy", towards="client") == "10.77.0.2"
    assert plan.address("proxy", towards="server") == "10.77.1.1"
    assert plan.route("client", "server") == ()
    with pytest.raises(ValueError, match="no way"):
        plan.address("server", towards="client")
    assert [plan.end_of(host).interface for host in ("client", "server")] == ["eth0", "eth0"]
    assert [pair[0].interface for pair in plan.ends] == ["eth0", "eth1"]


def test_only_routers_forward() -> None:
    """They forward only the IP version of the topology; the other version is off."""
    plan = planned(CHAIN, "router", ip_version="6")
    assert [
        host for host, said in plan.sysctls.items() if any("forward" in key for key in said)
    ] == ["router"]
    inputs = [spec.input for spec in plan.processes.specs() if spec.input]
    assert any(plan.address("server", towards="client") in text for text in inputs)
    assert not any("10.77." in text for text in inputs)


def test_one_emulator_has_all_links() -> None:
    """Each with interfaces and streams of its own."""
    links = [{"between": pair, "loss": "1 %"} for pair in ACCESS]
    told = planned(links, "left", "right").emulator_config["links"]
    assert [link["name"] for link in told] == ["-".join(pair) for pair in ACCESS]
    assert [link["interfaces"] for link in told] == [[f"l{n}a", f"l{n}b"] for n in range(4)]
    keys = {way["loss"]["key"] for link in told for way in link["directions"]}
    assert len(keys) == 8


def test_cellular_links_have_a_trace_each() -> None:
    """By the link's name, so that none overwrites another's."""
    rate = {"cellular": {"mean": "1 Mbit/s", "duration": "3 s"}}
    plan = planned([{**link, "rate": rate} for link in CHAIN], "router")
    names = sorted(name for name in plan.processes.emulator.files if name.endswith(".trace"))
    assert names == [
        f"cellular-{link}-{way}.trace"
        for link in ("client-router", "router-server")
        for way in ("down", "up")
    ]
    assert len(set(map(plan.processes.emulator.files.get, names))) == 4
    assert sum(plan.waits_s) > max(plan.waits_s) > 0


def test_an_idle_echo_takes_every_links_time() -> None:
    """Delay and transmission of each, by the size that the version of IP gives it."""
    for version, ip_bytes in (("4", 84), ("6", 104)):
        plan = planned(CHAIN, "router", ip_version=version)
        expected = 2 * (0.010 + 0.020) + 2 * ip_bytes * 8 / 1e6
        assert network_plan.idle_round_trip_s(plan, "client", "server") == pytest.approx(
            (expected, expected)
        )
        assert network_plan.delays_s(plan, "client", "router") == pytest.approx(0.020)


PAGE = Path(__file__).parents[3] / "docs/concepts/topologies.md"


def test_the_networks_of_the_manual_can_be_planned() -> None:
    """Each as it is printed there."""
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    documents = [document for document in map(tomllib.loads, blocks) if "topology" in document]
    assert len(documents) == 3
    for document in documents:
        topology = Topology.model_validate(document["topology"])
        names = [link.name for link in topology.links]
        access = [names.index(name) for name in document.get("handover", {}).get("links", ())]
        routers = {"left", "right", "router"}
        plan = network_plan.plan(topology, {}, 1, 1, forwarding=routers, access=access)
        assert plan.address("server", towards=topology.links[-1].between[0])
        assert [one.name for one in plan.access] == [names[index] for index in access]
