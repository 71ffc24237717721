"""The example cases of draft-ietf-ccwg-bbr that packets alone can judge.

The draft's appendix lists 22 cases that a sender with BBR must pass. Each case that shows in
packets has a network, a figure and bounds here; :data:`UNSEEN` names the others, each with what it
needs. BBRv1 (Cardwell et al., ACM Queue 14(5), 2016) differs from the draft in PROBE_RTT and in how
fast it finds a higher rate, so these bounds depend on the version. PROBE_RTT tells the two apart:
BBRv1 falls to four packets every ten seconds, BBRv2 and v3 to half a bandwidth-delay product (BDP)
every five.

The link carries 20 Mbit/s with a round trip of 40 ms unless said, which is a BDP of 66 packets. The
tolerances hold for the kernel's BBRv1 and for ngtcp2's BBRv3, in virtual time, least to most:

=============================================  =========  =========
figure                                         kernel     ngtcp2
=============================================  =========  =========
rounds with STARTUP's queue                    5          5
largest window in STARTUP, of the BDP          3.1        2.4
in flight after DRAIN, of the BDP              1.0        1.0
in flight in PROBE_RTT, of the BDP             0.06       0.44
lost behind a policer                          0.055      0.031
=============================================  =========  =========
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from httpbed.addons.conformance import behaviour
from httpbed.addons.conformance.networks import DEEP_PACKETS, STEADY_S, Network
from httpbed.addons.conformance.properties import (
    Bounds,
    PropertyResult,
    SenderTransfer,
    Transfers,
    within,
)
from httpbed.addons.conformance.sender import Control, Scale

RATE_BIT_S, SLOW_BIT_S = 20_000_000, 2_000_000
RTT_S = 0.04
CHANGED_S = 5.0
"""When the rate changes."""
NARROW_BIT_S, NARROW_RTT_S = 64_000, 0.02
"""A BDP of 160 bytes."""
TOKEN_BIT_S = 5_000_000
SHORT_PACKETS = 100
"""A queue that soon shows by loss that the rate fell."""
DRAINED = 1.25
"""Of the BDP: a window above it still holds the queue of STARTUP."""
PROBE_S = 0.2
"""A sender stays in PROBE_RTT for as long, and a round trip (BBR.ProbeRTTDuration)."""
PROBED = 0.75
"""Of the BDP: less in flight for :data:`PROBE_S` is PROBE_RTT."""
HALF: Bounds = (0.3, 0.65)
"""Of the BDP in flight in PROBE_RTT, in BBRv2 and v3 (BBR.ProbeRTTCwndGain = 0.5)."""
RECOVERED = 0.9
"""Share of a new rate at which a sender has found it."""
SETTLED_S = 4.0
"""After a change of the rate: ten of BBRv1's rounds over the full queue."""

UNSEEN: Mapping[str, str] = {
    "cases 2, 6, 7 and 22": "need a sender that is application-limited at a known time",
    "cases 4, 5, 8, 9 and 21": "need the sender's state: its pacing gain, or its bounds",
    "case 11": "needs a sender that is idle for five seconds",
    "cases 12 and 13": "need aggregated acknowledgements",
    "cases 19 and 20": "need a spurious timeout, or PROBE_RTT within STARTUP",
}
"""The cases that are not judged, and what they need."""


def networks(scale: Scale, control: Control) -> tuple[Network, ...]:
    """Return the networks of all cases, which are those of every scale and version."""
    del scale, control
    to_fast, to_slow = (
        [{"at": f"{CHANGED_S:g} s", "rate": f"{rate} bit/s", "direction": "down"}]
        for rate in (RATE_BIT_S, SLOW_BIT_S)
    )
    policing = {"policing": {"rate": f"{TOKEN_BIT_S} bit/s", "burst": "50 kB"}}
    late = {"reordering": {"share": "1 %", "hold": "15 ms"}}

    def network(
        name: str,
        title: str,
        rate_bit_s: int = RATE_BIT_S,
        queue: int = DEEP_PACKETS,
        **more: Any,
    ) -> Network:
        return Network(name, rate_bit_s, RTT_S, queue, more=more, title=title)

    later = f"the rate from {CHANGED_S:g} s on"
    return (
        network("steady", "deep queue, no loss"),
        Network("narrow", NARROW_BIT_S, NARROW_RTT_S, DEEP_PACKETS, title="BDP below one packet"),
        network("faster", f"ten times {later}", SLOW_BIT_S, schedule=to_fast),
        network("slower", f"a tenth of {later}", queue=SHORT_PACKETS, schedule=to_slow),
        network("policed", "a policer of 5 Mbit/s", down=policing),
        network("reordered", "1 % of the packets come 15 ms late", down=late),
    )


# What the packets of a transfer show. Windows are in full packets.


def rounds_to_drained(transfer: SenderTransfer) -> float:
    """Return the rounds in which STARTUP's queue stays; all that follow, if it is not drained."""
    begin, end = _startup(transfer)
    return float(end - begin)


def largest_at_start(transfer: SenderTransfer) -> float:
    """Return the largest window while STARTUP's queue stays, of the BDP."""
    begin, end = _startup(transfer)
    return float(transfer.flight.windows[begin:end].max(initial=0.0)) / transfer.pipe.bdp


def least_after_drain(transfer: SenderTransfer) -> float | None:
    """Return the least in flight in the eight rounds after STARTUP's queue, of the BDP."""
    flight, (_, end) = transfer.flight, _startup(transfer)
    rounds = flight.rounds[end : end + behaviour.CYCLE_ROUNDS]
    if not rounds:
        return None
    bounds = [rounds[0].begin_s, rounds[-1].end_s]
    first, last = np.searchsorted(flight.packets.sent_s, bounds)
    return float(flight.in_flight[first:last].min() / transfer.pipe.bdp)


def probe(transfer: SenderTransfer) -> tuple[float, float]:
    """Return when PROBE_RTT first begins, in seconds, and the most in flight in it, of the BDP.

    The latter is that of the interval of :data:`PROBE_S` in which it is least.
    """
    flight = transfer.flight
    sent = flight.packets.sent_s
    begins = np.flatnonzero((sent > STEADY_S) & (sent < flight.lasts_s - PROBE_S))
    ends = np.searchsorted(sent, sent[begins] + PROBE_S)
    most = np.array(
        [flight.in_flight[begin:end].max() for begin, end in zip(begins, ends, strict=True)]
    )
    if not len(most):
        return math.inf, math.inf
    first = _first(most <= max(PROBED * transfer.pipe.bdp, most.min()))
    return float(sent[begins[first]]), float(most.min() / transfer.pipe.bdp)


def capacity(transfer: SenderTransfer) -> float:
    """Return the share of the link's rate that was delivered after the start."""
    return transfer.rate_pps / transfer.pipe.rate_pps


def least_window(transfer: SenderTransfer) -> float | None:
    """Return the smallest window of a round after the start."""
    rounds = [one.window for one in transfer.flight.rounds if one.begin_s >= STEADY_S]
    return min(rounds, default=None)


def rounds_to_rate(transfer: SenderTransfer) -> float:
    """Return the rounds from a rise of the rate until a round carries :data:`RECOVERED` of it."""
    flight = transfer.flight
    later = [one for one in flight.rounds if one.begin_s >= CHANGED_S]
    least_bytes = RECOVERED * RATE_BIT_S / 8
    carried = [
        flight.delivered_bytes(one.begin_s, one.end_s) >= least_bytes * one.lasts_s for one in later
    ]
    return float(_first(np.array(carried, dtype=bool)))


def sent_of_slow(transfer: SenderTransfer) -> float:
    """Return the rate of sending as a share of a fallen rate that the sender had time to learn."""
    flight, begin_s = transfer.flight, CHANGED_S + SETTLED_S
    late = flight.packets.sent_s >= begin_s
    bit_s = flight.packets.bytes[late].sum() * 8 / max(flight.lasts_s - begin_s, RTT_S)
    return float(bit_s / SLOW_BIT_S)


def lost_later(transfer: SenderTransfer) -> float | None:
    """Return the share of packets lost from :data:`CHANGED_S` on."""
    late = transfer.flight.packets.sent_s >= CHANGED_S
    return float(transfer.flight.packets.lost[late].mean()) if late.any() else None


def tokens_used(transfer: SenderTransfer) -> float:
    """Return the share of a policer's rate that is delivered after the start."""
    return transfer.rate_pps * transfer.flight.full_bytes * 8 / TOKEN_BIT_S


def _startup(transfer: SenderTransfer) -> tuple[int, int]:
    """Return the places of the first round with a queue, and of the next one without."""
    is_queued = transfer.flight.windows > DRAINED * transfer.pipe.bdp
    begin = _first(is_queued)
    return begin, begin + _first(~is_queued[begin:])


def _first(condition: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """Return the place of the first that is true; the length if none is."""
    return int(np.argmax(condition)) if condition.any() else len(condition)


@dataclass(frozen=True)
class Case:
    """A figure that a case of the draft bounds."""

    number: int
    """In the draft's appendix."""
    name: str
    network: str
    measure: Callable[[SenderTransfer], float | None]
    bounds: Mapping[Control, Bounds]
    unit: str

    def judged(self, transfers: Transfers, version: Control) -> PropertyResult:
        """Judge the median of the trials in the case's network."""
        trials = transfers.in_network(self.network)
        return within(
            f"{self.number} {self.name}",
            [self.measure(trial) for trial in trials],
            self.bounds[version],
            self.unit,
            strained=any(trial.strained for trial in trials),
        )


def _both(low: float, high: float) -> Mapping[Control, Bounds]:
    return {"bbr": (low, high), "bbr2": (low, high)}


CASES = (
    Case(1, "STARTUP ends on a plateau", "steady", rounds_to_drained, _both(3, 8), "round trips"),
    Case(1, "largest window in STARTUP", "steady", largest_at_start, _both(1, 3.5), "of the BDP"),
    Case(3, "DRAIN ends by inflight", "steady", least_after_drain, _both(0.75, 1.25), "of the BDP"),
    Case(
        10,
        "PROBE_RTT, in flight",
        "steady",
        lambda transfer: probe(transfer)[1],
        {"bbr": (0.0, 0.15), "bbr2": HALF},
        "of the BDP",
    ),
    Case(
        10,
        "PROBE_RTT, first",
        "steady",
        lambda transfer: probe(transfer)[0],
        {"bbr": (9.5, 12.0), "bbr2": (4.0, 12.0)},
        "s",
    ),
    Case(14, "no stall, BDP below a packet", "narrow", capacity, _both(0.9, 1.05), "of capacity"),
    Case(14, "window floor", "narrow", least_window, _both(3, math.inf), "packets"),
    Case(
        15,
        "ten times the rate is found",
        "faster",
        rounds_to_rate,
        # BBRv1: a gain of 1.25 once in eight rounds; later ones wait for 63 rounds at most, and
        # double what they add (draft-ietf-ccwg-bbr, BBRRaiseInflightLongtermSlope).
        {"bbr": (0, 99), "bbr2": (0, 63 + 2 * math.ceil(math.log2(10)))},
        "round trips",
    ),
    Case(16, "a tenth of the rate is found", "slower", sent_of_slow, _both(0.8, 1.15), "of it"),
    Case(
        17,
        "lost behind a policer",
        "policed",
        lost_later,
        {"bbr": (0.0, 0.1), "bbr2": (0.0, 0.05)},
        "of packets",
    ),
    Case(17, "rate behind a policer", "policed", tokens_used, _both(0.8, 1.05), "of its rate"),
    Case(18, "rate with reordering", "reordered", capacity, _both(0.85, 1.05), "of capacity"),
)


def judge(control: Control, transfers: Transfers) -> list[PropertyResult]:
    """Judge every case that packets show, by the version that PROBE_RTT shows."""
    version = shown_version(transfers) or control
    return [case.judged(transfers, version) for case in CASES]


def shown_version(transfers: Transfers) -> Control | None:
    """Return the version that PROBE_RTT shows; None without one."""
    levels = [probe(transfer)[1] for transfer in transfers.in_network("steady")]
    if not levels or min(levels) > PROBED:
        return None
    return "bbr" if float(np.median(levels)) < HALF[0] else "bbr2"


def notes(transfers: Transfers) -> Iterator[str]:
    """Yield which version PROBE_RTT shows, and which cases are not seen from here."""
    names = {"bbr": "BBRv1", "bbr2": "BBRv2 or v3", None: "no BBR"}
    yield f"PROBE_RTT is that of {names[shown_version(transfers)]}"
    for cases, need in UNSEEN.items():
        yield f"not seen from here: {cases} {need}"
