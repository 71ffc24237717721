"""The cases of BBR's draft: who keeps the rules passes, and each broken rule is caught.

The flights are made round by round from the windows of BBR. A broken rule changes one of them, and
only its case fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from httpbed.addons.conformance import bbr_cases, conformance_session
from httpbed.addons.conformance.flight import Flight
from httpbed.addons.conformance.properties import SenderTransfer, Transfers
from httpbed.addons.conformance.sender import Control
from httpbed.addons.conformance.sender_selection import SenderOptions, choose
from httpbed.base.errors import ConfigError
from httpbed.programs import catalog as catalogs
from ideal_sender import FULL, sent_evenly

RTT_S = 0.04
BDP = 20e6 * RTT_S / 8 / FULL
LASTS_S = 16.0
NETWORKS = {network.name: network for network in bbr_cases.networks("smoke", "bbr")}


def flight(windows: Sequence[float], share_lost: float = 0.0) -> Flight:
    return sent_evenly(windows, RTT_S, share_lost)


@dataclass(frozen=True)
class Rules:
    """What a sender does in the steady network, in BDP and round trips."""

    startup: float = 2.9
    plateau_rounds: int = 4
    drained: float = 1.0
    probe: float = 0.06
    probe_s: float = 10.0

    def windows(self) -> list[float]:
        """Return its window in each round trip."""
        startup = [10.0 * 2**number for number in range(4)]
        drain = [BDP * self.drained] * 8
        steady = itertools.repeat(BDP, round(LASTS_S / RTT_S))
        windows = [*startup, *[BDP * self.startup] * self.plateau_rounds, *drain, *steady]
        windows = windows[: round(LASTS_S / RTT_S)]
        first = round(self.probe_s / RTT_S)
        probe = range(first, min(first + 6, len(windows)))
        return [BDP * self.probe if place in probe else one for place, one in enumerate(windows)]


V1, V2 = Rules(), Rules(startup=2.4, probe=0.5, probe_s=5.0)


def in_network(name: str, flown: Flight) -> SenderTransfer:
    return SenderTransfer(NETWORKS[name], flown)


def failed(rules: Rules, version: Control) -> set[str]:
    """Return the cases of the steady network that fail."""
    transfers = Transfers(list(NETWORKS.values()), [in_network("steady", flight(rules.windows()))])
    results = bbr_cases.judge(version, transfers)
    return {result.name for result in results if result.passed is False}


@pytest.mark.parametrize(("rules", "version"), [(V1, "bbr"), (V2, "bbr2")])
def test_a_sender_that_keeps_the_rules_passes(rules: Rules, version: Control) -> None:
    assert failed(rules, version) == set()


@pytest.mark.parametrize("rules", [V1, V2])
def test_probe_rtt_tells_the_versions_apart(rules: Rules) -> None:
    """Also if the sender is judged as the other one."""
    transfers = Transfers([], [in_network("steady", flight(rules.windows()))])
    assert bbr_cases.shown_version(transfers) == ("bbr" if rules is V1 else "bbr2")
    assert failed(rules, "bbr") == failed(rules, "bbr2") == set()


@pytest.mark.parametrize(
    ("broken", "case"),
    [
        (replace(V1, plateau_rounds=20), "1 STARTUP ends on a plateau"),
        (replace(V1, startup=6.0), "1 largest window in STARTUP"),
        (replace(V1, drained=0.5), "3 DRAIN ends by inflight"),
        (replace(V1, probe_s=14.0), "10 PROBE_RTT, first"),
    ],
)
def test_a_broken_rule_is_caught_by_its_case_alone(broken: Rules, case: str) -> None:
    assert failed(broken, "bbr") == {case}


def test_a_sender_without_probe_rtt_is_no_bbr() -> None:
    transfers = Transfers([], [in_network("steady", flight(replace(V1, probe=1.0).windows()))])
    assert bbr_cases.shown_version(transfers) is None
    assert "no BBR" in next(iter(bbr_cases.notes(transfers)))


@pytest.mark.parametrize("is_deaf", [False, True])
def test_a_sender_that_is_deaf_to_a_policer_is_caught(is_deaf: bool) -> None:
    """It sends at the link's rate, and the policer drops three quarters."""
    rounds = round(LASTS_S / RTT_S)
    window, share = (BDP, 0.75) if is_deaf else (BDP / 4, 0.0)
    transfer = in_network("policed", flight([window] * rounds, share))
    lost = bbr_cases.lost_later(transfer)
    case = next(one for one in bbr_cases.CASES if one.measure is bbr_cases.lost_later)
    assert lost is not None
    assert (lost > case.bounds["bbr2"][1]) == is_deaf


@pytest.mark.parametrize("slow", [False, True])
def test_the_rounds_until_a_higher_rate_is_found_are_counted(slow: bool) -> None:
    """Five, or all that are left."""
    before = round(bbr_cases.CHANGED_S / RTT_S)
    after = [BDP / 10] * 5 + [BDP / 10 if slow else BDP] * 100
    transfer = in_network("faster", flight([BDP / 10] * before + after))
    assert bbr_cases.rounds_to_rate(transfer) == pytest.approx(104 if slow else 5, abs=1)


@pytest.mark.parametrize("share", [1.0, 1.4])
def test_what_is_sent_of_a_fallen_rate_is_counted_late(share: float) -> None:
    before = round(bbr_cases.CHANGED_S / RTT_S)
    late = [share * BDP / 10] * round((LASTS_S - bbr_cases.CHANGED_S) / RTT_S)
    transfer = in_network("slower", flight([BDP] * before + late))
    assert bbr_cases.sent_of_slow(transfer) == pytest.approx(share, abs=0.1)


def test_a_sender_without_bbr_is_refused_with_the_way_out(tmp_path: Path) -> None:
    catalog = catalogs.load()
    sender = choose(catalog, SenderOptions("nginx", http_version="1.1", control="reno"))
    with pytest.raises(ConfigError) as caught:
        conformance_session.prepare(sender, catalog, "smoke", "virtual", "bbr")
    (mistake,) = caught.value.mistakes
    assert mistake.place == "--suite"
    assert mistake.remedy
    assert not list(tmp_path.iterdir())
