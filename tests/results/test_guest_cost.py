"""What a trial in virtual time costs: it rises with packets, and not with waiting."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from httpbed.addons.virtual.guest_cost import COST, cpu_s
from httpbed.experiment.scenario import Scenario


def scenario(
    version: str = "2", size: str = "1 MB", rate: str = "10 Mbit/s", delay: str = "0 ms",
    proxy: str | None = None,
) -> Scenario:  # fmt: skip
    """Describe a download, perhaps through a proxy."""
    hosts = ["client", *(["proxy"] if proxy else []), "server"]
    links = [{"between": pair, "rate": rate, "delay": delay} for pair in pairwise(hosts)]
    roles: dict[str, Any] = {
        "client": {"implementation": "any", "http_version": version},
        "server": {"implementation": "any"},
    }
    if proxy:
        roles["proxies"] = [{"implementation": "any", "http_version": proxy}]
    workload = {"kind": "download", "size": size}
    return Scenario.model_validate(
        {"topology": {"hosts": hosts, "links": links}, "roles": roles, "workload": workload}
    )


def test_a_short_trial_costs_its_boot() -> None:
    """One packet is nothing beside it."""
    assert cpu_s(scenario(size="1 kB")) == pytest.approx(COST.boot_s, rel=0.01)


def test_rate_and_delay_cost_nothing() -> None:
    """The clock jumps over them."""
    slow = scenario(rate="100 kbit/s", delay="300 ms")
    assert cpu_s(slow) == cpu_s(scenario(rate="1 Gbit/s"))


def test_each_packet_costs_and_those_of_quic_cost_more() -> None:
    """QUIC encrypts and acknowledges in programs."""
    one, ten = (cpu_s(scenario(size=size)) - COST.boot_s for size in ("1 MB", "10 MB"))
    assert ten == pytest.approx(10 * one)
    assert cpu_s(scenario(version="3")) > cpu_s(scenario())


def test_a_browser_lays_out_what_it_downloads() -> None:
    """A long text costs it more than the packets."""
    small, large = (cpu_s(scenario(size=one), in_browser=True) for one in ("1 kB", "10 MB"))
    assert small == pytest.approx(COST.boot_s + COST.visit_s, rel=0.01)
    packets_s = cpu_s(scenario(size="10 MB")) - COST.boot_s
    assert large - small == pytest.approx(packets_s + 10e6 * COST.text_s, rel=0.01)


def test_a_proxy_passes_every_packet_again() -> None:
    """On a second hop, of its own version."""
    direct, through = cpu_s(scenario()), cpu_s(scenario(proxy="1.1"))
    assert through - COST.proxy_s == pytest.approx(2 * direct - COST.boot_s)
    assert cpu_s(scenario(proxy="3")) > through


def test_a_transfer_that_its_time_limit_stops_has_fewer_packets() -> None:
    """Half of the transfer costs half of its packets."""
    whole, half = (cpu_s(scenario(size="10 MB"), share) - COST.boot_s for share in (1.0, 0.5))
    assert whole == pytest.approx(2 * half)
