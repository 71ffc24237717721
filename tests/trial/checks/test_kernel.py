"""Compares the kernel's counters with the emulator's observations and catches every deviation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from httpbed.bed.network import network_plan
from httpbed.bed.network.kernel import READINGS
from httpbed.experiment.check import KERNEL_CONSERVATION, KERNEL_LINK
from httpbed.experiment.topology import Topology
from httpbed.experiment.trial import Check
from httpbed.trial.checks import link as kernel

PROBES, CAME, DROPPED = 3, 100, 7
Qdiscs = dict[str, list[dict[str, Any]]]


def counted(kind: str, sent: int, dropped: int) -> list[dict[str, Any]]:
    """Return the output of tc for both ports."""
    count = {"packets": sent, "drops": dropped, "qlen": 0}
    child = {"kind": "pfifo", "parent": "1:", "packets": 0, "drops": dropped, "qlen": 0}
    ports = ("l0a", "l0b")
    roots = [{"kind": kind, "dev": port, "root": True, **count} for port in ports]
    return [*roots, *({**child, "dev": port} for port in ports), {"kind": "noqueue", "dev": "lo"}]


def happened(kind: str) -> Qdiscs:
    """Return the counters of a link that sent and dropped packets between the orders."""
    after = counted(kind, PROBES + CAME - DROPPED, DROPPED)
    before = counted(kind, PROBES, 0)
    return dict(zip(READINGS, (before, before, after, after), strict=True))


def observed(came: int = CAME, left: int = CAME - DROPPED) -> dict[str, Any]:
    """Return an observer's result."""
    packets = {"in": came, "delivered": left, "not_seen_leaving": came - left}
    ways = [("client", "server"), ("server", "client")]
    return {"directions": [{"from": a, "to": b, "packets": packets} for a, b in ways]}


def judged(
    *,
    qdiscs: Qdiscs | None = None,
    result: dict[str, Any] | None = None,
) -> dict[str, Check]:
    said = {"between": ["client", "server"], "rate": "10 Mbit/s"}
    topology = Topology.model_validate({"hosts": ["client", "server"], "links": [said]})
    planned = network_plan.plan(topology, {}, 1, 1, backend="tbf")
    readings = happened("tbf") if qdiscs is None else qdiscs
    found = kernel.kernel_checks(planned, result or observed(), readings)
    return {check.name: check for check in found}


def test_observations_within_the_kernels_counters_pass() -> None:
    """Pings before the start are not counted."""
    checks = judged()
    assert len(checks) == 3
    assert all(check.passed for check in checks.values())
    conserved = checks["conservation by the kernel's counters, client->server"]
    assert conserved.figure == "100 came, 93 were seen leaving"
    assert conserved.limit == "sent 93, dropped 7, 0 waiting at the end"


def test_packets_between_two_readings_are_allowed() -> None:
    """The outer readings bound what the observer counts."""
    qdiscs = happened("tbf")
    qdiscs["before-stop"] = counted("tbf", PROBES + CAME - DROPPED - 2, DROPPED)
    qdiscs["after-stop"] = counted("tbf", PROBES + CAME - DROPPED + 1, DROPPED)
    assert all(check.passed for check in judged(qdiscs=qdiscs).values())


def _unseen(qdiscs: Qdiscs) -> Qdiscs:
    for when in READINGS[2:]:
        qdiscs[when] = counted("tbf", PROBES + CAME - DROPPED + 1, DROPPED)
    return qdiscs


def _around(qdiscs: Qdiscs) -> Qdiscs:
    for when in READINGS[2:]:
        qdiscs[when] = counted("tbf", PROBES, 0)
    return qdiscs


def _unread(qdiscs: Qdiscs) -> Qdiscs:
    del qdiscs["after-start"]
    return qdiscs


def _unshaped(qdiscs: Qdiscs) -> Qdiscs:
    return {when: counted("noqueue", 0, 0) for when in qdiscs}


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        (_unseen, {KERNEL_CONSERVATION.id}),
        (_around, {KERNEL_CONSERVATION.id}),
        (_unread, {KERNEL_CONSERVATION.id}),
        (_unshaped, {KERNEL_CONSERVATION.id, KERNEL_LINK.id}),
    ],
)
def test_each_deviation_from_the_counters_is_caught(
    fault: Callable[[Qdiscs], Qdiscs], broken: set[str]
) -> None:
    """An unseen packet, a packet past the qdisc, a missing reading and a missing shaper."""
    checks = judged(qdiscs=fault(copy.deepcopy(happened("tbf"))))
    assert {check.check for check in checks.values() if check.passed is False} == broken


def test_more_arrivals_than_the_kernel_counts_are_caught() -> None:
    """Such packets were dropped before the qdisc."""
    checks = judged(result=observed(came=CAME + 1))
    assert not checks["conservation by the kernel's counters, client->server"].passed


def test_every_link_is_checked_by_its_own_counters() -> None:
    """A port without its discipline is reported with its link's name."""
    links = [{"between": pair, "rate": "10 Mbit/s"} for pair in (["a", "b"], ["b", "c"])]
    topology = Topology.model_validate({"hosts": list("abc"), "links": links})
    planned = network_plan.plan(topology, {}, 1, 1, backend="tbf")
    one = happened("tbf")
    both = {
        when: [*ports, *({**port, "dev": port["dev"].replace("l0", "l1")} for port in ports)]
        for when, ports in one.items()
    }
    packets = observed()["directions"][0]["packets"]
    ways = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    result = {"directions": [{"from": a, "to": b, "packets": packets} for a, b in ways]}
    checks = list(kernel.kernel_checks(planned, result, both))
    assert all(check.passed for check in checks)
    assert len({check.name for check in checks}) == len(checks) == 6
    unshaped = kernel.kernel_checks(planned, result, one)
    broken = [check.name for check in unshaped if check.passed is False]
    assert broken == [
        "kernel's link, on b-c",
        "conservation by the kernel's counters, b->c",
        "conservation by the kernel's counters, c->b",
    ]
