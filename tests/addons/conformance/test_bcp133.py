"""The criteria of BCP 133: a sender like Reno passes, and each kind of harm is caught by its own.

The flights are made of packets at a constant rate, and a broken sender changes one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from httpbed.addons.conformance import bcp133, conformance_session, networks
from httpbed.addons.conformance.bcp133 import EVENT_S, LASTS_S, OUTAGE_S, RATE_BIT_S
from httpbed.addons.conformance.competition import SharedTransfer, Split
from httpbed.addons.conformance.flight import Flight, Packets
from httpbed.addons.conformance.networks import Network
from httpbed.addons.conformance.properties import (
    UNCOMPARED,
    PropertyResult,
    SenderTransfer,
    Transfers,
)
from httpbed.addons.conformance.sender import SCALES, Scale
from httpbed.addons.conformance.sender_selection import SenderOptions, choose
from httpbed.programs import catalog as catalogs

FULL, RTT_S = 1500, 0.04
PLANNED = bcp133.networks("standard", "reno")
NETWORKS = {network.name: network for network in PLANNED}
GAP_S = FULL * 8 / RATE_BIT_S
OUTAGE = (EVENT_S, EVENT_S + OUTAGE_S)


def flight(sent_s: Sequence[float], gone: tuple[float, float] = (0, 0), share: float = 1) -> Flight:
    """Send a full packet at each time; ``share`` of those in an interval are lost."""
    sent = np.array(sent_s)
    inside = (sent >= gone[0]) & (sent < gone[1])
    lost = inside & ((np.cumsum(inside) * share) % 1 < share if share < 1 else inside)
    left = np.where(lost, np.nan, sent + RTT_S / 2 + GAP_S)
    sizes, numbers = np.full(len(sent), FULL), np.arange(len(sent))
    return Flight(Packets(sent, left, sizes, numbers), sent + RTT_S, FULL, RTT_S)


def at_rate(share: float = 1, begin_s: float = 0, end_s: float = LASTS_S) -> list[float]:
    """Return the times of packets that take a share of the link's rate."""
    return list(np.arange(begin_s, end_s, GAP_S / share))


def backed_off() -> list[float]:
    """Return the times of a sender whose timeouts double in the outage."""
    tries = [EVENT_S + 0.2 * 2**number for number in range(6)]
    return [*at_rate(end_s=EVENT_S), *tries, *at_rate(begin_s=OUTAGE[1])]


def alone(name: str, made: Flight) -> SenderTransfer:
    return SenderTransfer(NETWORKS[name], made)


def well_behaved() -> dict[str, SenderTransfer | SharedTransfer]:
    """Return a trial of a good sender in every network."""
    transfers: dict[str, SenderTransfer | SharedTransfer] = {}
    for network in PLANNED:
        if network.beside:
            flows = 1 + len(network.beside)
            rates, lost = [RATE_BIT_S / flows] * flows, [0.01] * flows
            split = Split(rates, 0.03, lost, [0.3] * flows)
            transfers[network.name] = SharedTransfer(network, split)
        else:
            transfers[network.name] = alone(network.name, flight(at_rate()))
    transfers["outage"] = alone("outage", flight(backed_off(), OUTAGE))
    late = [*at_rate(end_s=EVENT_S), *at_rate(0.1, EVENT_S)]
    transfers["heavy loss"] = alone("heavy loss", flight(late, (EVENT_S, LASTS_S), 0.3))
    return transfers


def judged(own: dict[str, SenderTransfer | SharedTransfer]) -> list[PropertyResult]:
    """Judge trials beside those of a good sender."""
    good = of(well_behaved())
    compared = replace(of(own), references={"reno": good, "cubic": good})
    return bcp133.judge("reno", compared)


def of(trials: dict[str, SenderTransfer | SharedTransfer]) -> Transfers:
    every = [trial for trial in trials.values() if isinstance(trial, SenderTransfer)]
    shared = [trial for trial in trials.values() if isinstance(trial, SharedTransfer)]
    return Transfers(PLANNED, every, shared)


def failed(results: list[PropertyResult]) -> set[str]:
    return {result.name for result in results if result.passed is False}


def test_a_sender_like_reno_passes_and_no_criterion_lacks_its_figure() -> None:
    results = judged(well_behaved())
    assert failed(results) == set()
    assert [result.name for result in results if result.observed is None] == []
    assert all(
        result.references.keys() == {"reno", "cubic"} and result.network for result in results
    )


def split(name: str, **changes: Any) -> SharedTransfer:
    """Return the good sender's trial in a shared network, with something changed."""
    transfer = well_behaved()[name]
    assert isinstance(transfer, SharedTransfer)
    return replace(transfer, split=replace(transfer.split, **changes))


BROKEN: list[tuple[str, SenderTransfer | SharedTransfer, str]] = [
    ("outage", alone("outage", flight(at_rate(), OUTAGE)), "5.1.1 collapse: sent in its last 5 s"),
    (
        "heavy loss",
        alone("heavy loss", flight(at_rate(), (EVENT_S, LASTS_S), 0.3)),
        "5.1.3 high loss: rate of sending",
    ),
    ("four alike", split("four alike", lost=[0.1] * 4), "5.1.3 high loss: lost by all"),
    (
        "beside reno",
        split("beside reno", rates_bit_s=[9e6, 1e6]),
        "5.2.1 beside Reno: rate of the other",
    ),
    (
        "beside cubic",
        split("beside cubic", queue_delay_p95_s=0.5),
        "5.2.1 beside CUBIC: queue, p95",
    ),
    ("beside bbr", split("beside bbr", lost=[0.0, 0.1]), "5.2.1 beside BBR: lost of the other"),
    (
        "real time",
        split("real time", rates_bit_s=[9.9e6, 1e5]),
        "5.2.2 real time: rate of the other",
    ),
    (
        "short cubic",
        split("short cubic", lasts_s=[19.0, 9.0]),
        "5.2.3 short beside long: time of the short one",
    ),
    (
        "fq_codel",
        split("fq_codel", rates_bit_s=[9e6, 1e6]),
        "7.1 AQM: rate of the other",
    ),
]


@pytest.mark.parametrize(("network", "transfer", "criterion"), BROKEN)
def test_a_broken_sender_is_caught_by_its_criterion_alone(
    network: str, transfer: SenderTransfer | SharedTransfer, criterion: str
) -> None:
    assert failed(judged({**well_behaved(), network: transfer})) == {criterion}


def test_every_criterion_with_a_bound_has_its_broken_sender() -> None:
    bounded = {result.name for result in judged(well_behaved()) if not result.is_open}
    sides = {name.split(": ")[1] for _, _, name in BROKEN}
    assert {name.split(": ")[1] for name in bounded} <= sides
    assert {name for _, _, name in BROKEN} <= bounded


@pytest.mark.parametrize(
    "sent_s",
    [
        at_rate(end_s=1.0),
        at_rate(end_s=5.5),
        [0.0, *at_rate(begin_s=5.0)],
        [0.0],
        at_rate(end_s=EVENT_S),
    ],
    ids=["ends at 1 s", "ends at 5.5 s", "silent for 5 s", "one packet", "ends at the event"],
)
@pytest.mark.parametrize("lost", [(0.0, 0.0), (0.5, 99.0)], ids=["delivered", "lost"])
def test_a_sender_that_stops_or_waits_is_judged_without_an_error(
    sent_s: list[float], lost: tuple[float, float]
) -> None:
    trials = {
        name: replace(one, flight=flight(sent_s, lost)) if isinstance(one, SenderTransfer) else one
        for name, one in well_behaved().items()
    }
    results = judged(trials)
    seen = [result.observed for result in results if result.observed is not None]
    assert np.isfinite(seen).all()


def test_without_a_reference_harm_is_not_judged() -> None:
    """A crashed reference bounds nothing, and is not the sender's failure."""
    nothing = Transfers(PLANNED, [])
    compared = replace(of(well_behaved()), references={"reno": nothing, "cubic": nothing})
    results = bcp133.judge("reno", compared)
    assert {result.name for result in results if result.passed is not None} == {
        "5.1.1 collapse: sent in its last 5 s",
        "5.1.3 high loss: rate of sending",
    }
    uncompared = {result.name for result in results if result.why == UNCOMPARED}
    assert uncompared == {result.name for result in judged(well_behaved()) if result.passed} - {
        result.name for result in results if result.passed
    }


def test_a_reference_on_a_busy_machine_bounds_nothing() -> None:
    """Its harm may be the machine's."""
    busy = of({name: replace(one, strained=True) for name, one in well_behaved().items()})
    compared = replace(of(well_behaved()), references={"reno": busy, "cubic": of(well_behaved())})
    results = bcp133.judge("reno", compared)
    assert not any(result.passed for result in results if "beside" in result.name)


def test_a_sender_that_is_a_reference_is_compared_with_itself() -> None:
    compared = replace(of(well_behaved()), references={"reno": of(well_behaved())})
    assert all(
        result.references["cubic"] == result.observed for result in bcp133.judge("cubic", compared)
    )


@pytest.mark.parametrize("held", [False, True])
def test_a_window_that_a_buffer_holds_is_named(held: bool) -> None:
    """Its harmless figures are not those of a congestion control."""
    rtt_s = bcp133.FAR_RTT_S
    sent_s = [
        (number + place / count) * rtt_s
        for number in range(round(LASTS_S / rtt_s))
        for count in [44 if held else 44 + 2 * number]
        for place in range(count)
    ]
    made = flight(sent_s)
    made = replace(made, known_s=made.packets.sent_s + rtt_s, rtt_s=rtt_s)
    remarks = [*bcp133.notes(Transfers(PLANNED, [alone(bcp133.FAR, made)]))]
    assert any("holds the window" in remark for remark in remarks) == held


@pytest.mark.parametrize("uses_ecn", [False, True])
def test_a_connection_without_ecn_is_not_said_to_be_covered_with_it(uses_ecn: bool) -> None:
    """The queue drops the same packets, and some."""
    dropping = flight(at_rate(), (6.0, 7.0), 0.1)
    marked = flight(at_rate()) if uses_ecn else dropping
    trials = [alone("CoDel", dropping), alone("CoDel, ECN", marked)]
    remarks = [note for note in bcp133.notes(Transfers(PLANNED, trials)) if "ECN" in note]
    assert len(remarks) == (0 if uses_ecn else 1)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("options", "senders"),
    [
        (SenderOptions("nginx", http_version="1.1", control="cubic"), 2),
        (SenderOptions("nginx", http_version="3"), 3),
        (SenderOptions("haproxy", control="bbr"), 3),
    ],
)
def test_every_sender_meets_every_network(
    scale: Scale, options: SenderOptions, senders: int
) -> None:
    """The kernel's Reno and CUBIC do too, once; a proxy's place holds a router then."""
    catalog = catalogs.load()
    sender = choose(catalog, options)
    test = conformance_session.prepare(sender, catalog, scale, "virtual", "bcp133")
    planned: tuple[Network, ...] = bcp133.networks(scale, "cubic")
    met = {(t.levels[networks.SENDER], t.levels[networks.FACTOR]) for t in test.loaded.trials}
    assert len(met) == senders * len(planned)
