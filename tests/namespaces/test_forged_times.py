"""A program's own packets choose no request time, and a pair of programs no body.

Each attack was once a shorter time, or would be one without the end of the answer
(:mod:`httpbed.trial.client_requests`) or without the bound on bodies
(:mod:`httpbed.addons.bounds.link_bounds`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import patience
from handover_experiments import HandoverExperiment
from hostile import Attacked, attacked, least_s
from real_runs import check, values

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

BODIES = "possible for this link, bodies"
CADDY = {"server": "caddy"}
FOUR_FILES = {"workload": "files = 4", "size": "100 kB"}


@pytest.fixture(autouse=True)
def _lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests run beside; no attempt may be invalid for that."""
    patience.lift(monkeypatch.setattr)


def through(proxy: str) -> dict[str, Any]:
    """Put a proxy between client and server."""
    proxies = f'proxies = [{{ implementation = "{proxy}", http_version = "1.1" }}]'
    return {"way": ("client", "proxy", "server"), "roles": proxies}


def gained_nothing(found: Attacked, least: float) -> bool:
    """Whether the attempt has a possible time, or is the program's failure; no further one."""
    kind = found.outcome.partition(":")[0]
    assert (kind in {"completed", "failed"}, found.attempts) == (True, 1), found.outcome
    return kind == "failed" or values(found.record)["request_time"] >= least


@pytest.mark.parametrize(
    ("haste", "size", "more"),
    [
        ("half_close", 10**6, CADDY),
        ("half_close", 20_000, CADDY),
        ("half_close", 10**6, {"loss": "4 %", **CADDY}),
        ("half_close_midway", 10**6, CADDY),
        ("half_close", 300_000, through("haproxy")),
        ("half_close", 300_000, {"versions": ("2",), **through("haproxy")}),
        ("half_close_midway", 300_000, {"versions": ("2",), **through("haproxy")}),
        ("half_close", 400_000, {**CADDY, **FOUR_FILES}),
        ("half_close", 400_000, {"versions": ("2",), **FOUR_FILES, **through("haproxy")}),
    ],
)
def test_a_client_that_closes_its_side_early_gains_no_time(
    tmp_path: Path, haste: str, size: int, more: dict[str, Any]
) -> None:
    """They answer after the client's FIN; the requests last until all answers have arrived."""
    found = attacked(tmp_path, haste, **{"size": f"{size} B", **more})
    assert found.outcome == "completed"
    assert gained_nothing(found, least_s(size))


@pytest.mark.parametrize(
    ("haste", "more"),
    [
        ("half_close", {"versions": ("2",), "server": "nginx"}),
        ("half_close", {"versions": ("2",), **CADDY}),
        ("half_close_midway", {"versions": ("2",), **CADDY}),
        ("half_close", through("envoy")),
        ("half_close", {"versions": ("2",), **through("envoy")}),
        ("half_close_midway", {"versions": ("2",), **through("envoy")}),
        ("half_close", {**FOUR_FILES, **through("haproxy")}),
    ],
)
def test_a_server_that_takes_the_fin_for_the_end_fails_the_client(
    tmp_path: Path, haste: str, more: dict[str, Any]
) -> None:
    """The trial is not repeated, and has no time that the link does not allow."""
    found = attacked(tmp_path, haste, **{"size": "300 kB", **more})
    assert gained_nothing(found, least_s(300_000))


@pytest.mark.parametrize("silent_from", [0, 9000])
@pytest.mark.parametrize(
    "more", [{"server": "nginx"}, {"server": "caddy"}, through("envoy"), through("haproxy")]
)
def test_a_quic_client_that_falls_silent_gains_no_time(
    tmp_path: Path, more: dict[str, Any], silent_from: int
) -> None:
    """A handshake and a request take two round trips, whether or not the client acknowledges."""
    found = attacked(
        tmp_path,
        "none",
        client="silent-quic",
        versions=("3",),
        congestion_control="reno" if more.get("server") == "caddy" else "cubic",
        size="10 kB",
        delay="50 ms",
        on_client=f'knobs = {{ silent_from = "{silent_from}" }}',
        **more,
    )
    assert found.outcome == "completed"
    assert gained_nothing(found, least_s(10_000, delay_s=2 * 0.05))


@pytest.mark.slow
def test_a_pair_over_quic_that_sends_bodies_in_silence_gains_no_time(tmp_path: Path) -> None:
    """After half of the body the client says nothing; no datagram is large enough for an answer.

    On a busy machine it may read all that came at once, so that its last word follows the body.
    """
    found = attacked(
        tmp_path,
        "none",
        client="silent-quic",
        server="silent-quic",
        versions=("3",),
        congestion_control="reno",
        on_client='knobs = { silent_from = "50000" }',
    )
    kind = found.outcome.partition(":")[0]  # a server that hears nothing may stop before the end
    assert found.attempts == 1
    if kind == "completed":
        assert values(found.record)["request_time"] >= least_s(100_000)
    else:
        assert kind in {"failed", "timed out"}, found.outcome
        assert check(found.record, BODIES).passed is not True


@pytest.mark.parametrize(
    ("attack", "size"), [("compressed", 100_000), ("aside", 20_000), ("aside", 100_000)]
)
def test_a_pair_that_sends_less_than_the_bodies_has_failed(
    tmp_path: Path, attack: str, size: int
) -> None:
    """The client has the file, and both logs are in order; the link did not carry it."""
    found = attacked(tmp_path, attack, "pair", size=f"{size} B")
    assert found.attempts == 1
    assert found.outcome.startswith("failed: ")
    assert check(found.record, BODIES).passed is False


def test_a_pair_that_sends_the_body_as_farewells_gains_no_time(tmp_path: Path) -> None:
    """Records of a farewell's size are an answer if there are many."""
    found = attacked(tmp_path, "small_records", "pair", size="500 kB")
    assert found.outcome == "completed"
    assert gained_nothing(found, least_s(500_000))


def test_what_comes_for_an_address_that_is_gone_is_no_body(tmp_path: Path) -> None:
    """The client has what it needs by then; the rest is sent to nobody."""
    rate_bit_s = 5e6
    found = attacked(
        tmp_path,
        "padded",
        "pair",
        HandoverExperiment,
        rate="5 Mbit/s",
        handover='kind = "address deleted"\nwhen = { delivered = "420 kB" }\ngap = "5 s"',
    )
    assert gained_nothing(found, least_s(500_000, rate_bit_s))
    assert values(found.record)["request_time"] >= least_s(400_000, rate_bit_s)


def test_a_client_that_takes_the_other_link_before_its_hand_over_has_failed(
    tmp_path: Path,
) -> None:
    """A program may bind to any address of its host; a forged start is not repeated."""
    found = attacked(
        tmp_path,
        "other_link",
        kind=HandoverExperiment,
        handover='kind = "route"\nwhen = { at = "10 s" }',
    )
    assert found.attempts == 1
    assert found.outcome.startswith("failed: ")
    assert check(found.record, "client on its first link").passed is False
