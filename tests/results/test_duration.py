"""The time that a design takes: roughly right, and rising with what makes it longer.

What a trial in virtual time costs: it rises with packets, and not with waiting.
The formulae against the figures that their sources print.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf
from typing import Any

import pytest

from httpbed.addons.virtual.clock import COST, cpu_s
from httpbed.experiment.scenario import Scenario
from httpbed.results import throughput_models as models
from httpbed.results.duration import BED_S, expected_s

CHANGED = {
    "links": ["a", "b"],
    "kind": "address deleted",
    "when": {"delivered": "5 MB"},
    "sockets": "destroyed",
}


def seconds(
    control: str = "reno",
    version: str = "2",
    *,
    retry: str = "none",
    handover: Mapping[str, object] | None = None,
    notices_s: float = inf,
    **text: str,
) -> float:
    """Expect 10 MB over 10 Mbit/s with changes of the link, the workload or the address.

    When nobody tells the client that its address is gone, it ``notices`` after so long.
    """
    link = {"rate": "10 Mbit/s", "delay": "0 ms", "loss": "0 %"}
    link |= {name: value for name, value in text.items() if name in link}
    scenario = Scenario.model_validate(
        {
            "topology": {
                "hosts": ["client", "router", "server"],
                "links": [
                    {"name": "a", "between": ["client", "router"], **link},
                    {"name": "b", "between": ["client", "router"], **link},
                    {"between": ["router", "server"]},
                ],
            },
            "handover": handover,
            "roles": {
                "client": {"implementation": "any", "http_version": version, "retry": retry},
                "server": {"implementation": "any", "congestion_control": control},
            },
            "workload": {"kind": "download", "size": text.get("size", "10 MB")},
        }
    )
    return expected_s(scenario, lambda _name, _quic, text: str(text), lambda *_: notices_s)


def test_a_clean_link_is_filled() -> None:
    """8.28 s are what full packets take."""
    assert 8.2 < seconds() - BED_S < 9.5


def test_loss_and_delay_slow_what_answers_to_loss() -> None:
    """By the models: at 4 % and 100 ms Reno needs minutes for 10 MB, BBR next to nothing more."""
    assert 60 < seconds(loss="4 %", delay="50 ms") < 240
    assert seconds("bbr", loss="4 %", delay="50 ms") < 10
    assert seconds("bbr", "3", loss="4 %", delay="50 ms") < 10
    assert 60 < seconds(version="3", loss="4 %", delay="50 ms") < 240
    assert seconds("cubic", loss="4 %", delay="50 ms") <= seconds(loss="4 %", delay="50 ms")


@pytest.mark.parametrize("change", [{"size": "20 MB"}, {"delay": "5 s"}, {"rate": "1 Mbit/s"}])
def test_more_takes_longer(change: dict[str, str]) -> None:
    """Bytes, round trips and slower links."""
    assert seconds(handover=None, notices_s=inf, **change) > seconds() + 5


def test_who_starts_again_fetches_twice_what_it_had() -> None:
    """Half of the file came before the address went; who asks for the rest fetches none twice."""
    again = seconds(retry="restart", handover=CHANGED)
    assert again - BED_S == pytest.approx(1.5 * (seconds() - BED_S), rel=0.01)
    assert seconds(retry="resume", handover=CHANGED) == pytest.approx(seconds())
    often = CHANGED | {"when": {"every": "1 s"}}
    assert seconds(retry="restart", handover=often) == inf
    assert seconds(retry="resume", handover=often) == pytest.approx(seconds())
    late = CHANGED | {"when": {"every": "60 s"}}
    assert seconds(retry="restart", handover=late) == pytest.approx(seconds())


@pytest.mark.parametrize(
    ("kind", "tcp_s", "quic_s"),
    [
        ("address deleted", 20, 20),
        ("blackhole", inf, inf),
        ("route", 0, 0),
        ("NAT rebinding", 0, 0),
    ],
)
def test_whom_nobody_tells_waits(kind: str, tcp_s: float, quic_s: float) -> None:
    """Until it notices; on a link that drops everything, for ever."""
    untold = CHANGED | {"kind": kind, "sockets": "kept"}
    for version, added_s in [("2", tcp_s), ("3", quic_s)]:
        found = seconds(version=version, retry="resume", handover=untold, notices_s=20)
        assert found == pytest.approx(seconds(version=version) + added_s)


def test_a_link_that_works_again_holds_nobody_for_ever() -> None:
    """Of two that take turns."""
    turns = {"links": ["a", "b"], "kind": "blackhole", "when": {"every": "1 s"}}
    assert seconds(handover=turns) < inf


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


def test_a_browser_draws_what_it_downloads() -> None:
    """Drawing a large file costs it more than the packets."""
    small, large = (cpu_s(scenario(size=one), in_browser=True) for one in ("1 kB", "10 MB"))
    assert small == pytest.approx(COST.boot_s + COST.visit_s + COST.request_s, rel=0.01)
    packets_s = cpu_s(scenario(size="10 MB")) - COST.boot_s
    assert large - small == pytest.approx(packets_s + 10e6 * COST.byte_s, rel=0.01)


def test_a_proxy_passes_every_packet_again() -> None:
    """On a second hop, of its own version."""
    direct, through = cpu_s(scenario()), cpu_s(scenario(proxy="1.1"))
    assert through - COST.proxy_s == pytest.approx(2 * direct - COST.boot_s)
    assert cpu_s(scenario(proxy="3")) > through


def test_a_transfer_that_its_time_limit_stops_has_fewer_packets() -> None:
    """Half of the transfer costs half of its packets."""
    whole, half = (cpu_s(scenario(size="10 MB"), share) - COST.boot_s for share in (1.0, 0.5))
    assert whole == pytest.approx(2 * half)


@pytest.mark.parametrize(("loss", "window"), [(1e-2, 12), (1e-3, 38), (1e-4, 120), (1e-5, 387)])
def test_mathis(loss: float, window: float) -> None:
    """Average windows of Reno."""
    assert models.mathis(loss, 0.1) * 0.1 == pytest.approx(window, rel=0.025)


@pytest.mark.parametrize(("loss", "window"), [(1e-4, 187), (1e-5, 1054), (1e-6, 5926)])
def test_cubic_response(loss: float, window: float) -> None:
    """RFC 8312, table 1: RTT 0.1 s, C = 0.4; there time-outs do not matter."""
    assert models.cubic(loss, 0.1) * 0.1 == pytest.approx(window, rel=0.01)


def test_cubic_is_reno_where_reno_is_faster() -> None:
    """At short round trips and high loss: the Reno-friendly region."""
    assert models.cubic(0.01, 0.02) == models.pftk(0.01, 0.02)


@pytest.mark.parametrize("loss", [0.001, 0.01, 0.04, 0.1])
def test_timeouts_only_slow_down(loss: float) -> None:
    """PFTK is below Mathis, and the more so the higher the loss."""
    assert models.pftk(loss, 0.05) < models.mathis(loss, 0.05)
    assert models.pftk(2 * loss, 0.05) < models.pftk(loss, 0.05) / 2**0.5


def test_the_cubic_curve() -> None:
    """It begins at what the loss left and passes the old window after K (RFC 9438, equation 2)."""
    k_s = (30 / 0.4) ** (1 / 3)
    assert models.cubic_window(0, 100, 70, 10) == pytest.approx(70)
    assert models.cubic_window(k_s, 100, 70, 10) == pytest.approx(100)
    assert models.cubic_window(k_s + 5, 100, 70, 10) == pytest.approx(150)


def test_the_friendly_region_may_go_on_faster() -> None:
    """RFC 9438, section 4.3: a packet per round trip from the old window on, 9/17 until then."""
    until = 3 * 17 / 9 * 0.01
    for faster, later in ((False, 10 + 9 / 17), (True, 11)):
        windows = [models.cubic_window(s, 10, 7, 0.01, faster=faster) for s in (0.04, until + 0.01)]
        assert windows == pytest.approx([7 + 4 * 9 / 17, later])
