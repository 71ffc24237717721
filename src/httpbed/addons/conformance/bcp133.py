"""The criteria of BCP 133 (RFC 9743) for a congestion control, in networks that show them.

Sections 5 to 7 of the RFC list what the evaluation of a congestion control must cover, and set
hardly any bound. So each criterion has a figure in a network here, beside those of the kernel's
Reno and CUBIC, which send in the same network with the same seeds. There are three kinds:

* A **bound**, where the RFC says what the sender should do: it backs off when all packets are lost
  (5.1.1), and it sends less when many are (5.1.3).
* **Harm**, where the RFC asks if it is more than that of the standard senders (5.2): to flows
  beside it, and by the loss that its own flows cause. The RFC sets no number. The bound here is
  twice the harm of the worse of Reno and CUBIC.
* **Judge yourself**, everywhere else: the figures stand side by side.

The link carries 10 Mbit/s with a round trip of 40 ms and a drop-tail queue of one bandwidth-delay
product (BDP) unless said, which is 34 packets. Figures are those from the fifth second on.
:data:`UNCOVERED` names what no network here shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from httpbed.addons.conformance.competition import SETTLED_S, SharedTransfer, Split
from httpbed.addons.conformance.flight import delivery_time_s
from httpbed.addons.conformance.networks import Beside, Network, bdp_packets
from httpbed.addons.conformance.properties import (
    OPEN,
    UNCOMPARED,
    Bounds,
    PropertyResult,
    SenderTransfer,
    Transfers,
    median_of,
    within,
)
from httpbed.addons.conformance.sender import Control, Scale, Sender
from httpbed.base import units

RATE_BIT_S = 10_000_000
ONE_WAY_S = 0.02
LASTS_S = 20.0
EVENT_S = 8.0
"""When a network changes, or another flow starts."""
OUTAGE_S = 10.0
BRIEF_S = 1.0
END_S = LASTS_S - 1.0
"""Figures of a rate end here, before the clients are stopped."""
REAL_TIME_BIT_S = 1_000_000
SHORT = "100 kB"
SHORT_BYTES = 100_000
TAIL_DROP_BDP = (0.5, 1.0, 4.0, 16.0)
SLOW_BIT_S = RATE_BIT_S // 4
FAR = "far"
FAR_RTT_S = 0.6
"""By a geostationary satellite."""
AQM: Mapping[str, Mapping[str, Any]] = {
    "CoDel": {"discipline": "codel"},
    "CoDel, ECN": {"discipline": "codel", "ecn": True},
    "PIE": {"discipline": "pie"},
    "PIE, ECN": {"discipline": "pie", "ecn": True},
}
SMOKE = frozenset({"outage", "1 BDP", "beside reno", "four alike"})
"""The networks of the smallest scale."""
MAX_BACKED_OFF = 6
"""Packets in the second half of an outage of 10 s. Timeouts that double from 200 ms on leave one or
two retransmissions there (RFC 6298), or probes of two packets each (RFC 9002, section 6.2.4)."""
LESS = 90.0
"""Percent of the earlier rate: sending this much or less is a reaction to loss."""
TIMES_HARM = 2.0
SLACK = 0.005
"""A share of packets, or seconds, that is no harm where Reno and CUBIC do none."""

RENO = Sender("nginx", "1.1", "reno", "reno", "reno")
CUBIC = Sender("nginx", "1.1", "cubic", "cubic", "cubic")
KERNELS_BBR = Sender("nginx", "1.1", "bbr", "bbr", "bbr")
REFERENCES: Mapping[str, Sender] = {"reno": RENO, "cubic": CUBIC}
TITLES: Mapping[str, str] = {"reno": "Reno", "cubic": "CUBIC"}

UNCOVERED: Mapping[str, str] = {
    "other bandwidths": "needs the same networks at other rates; all links here carry 10 Mbit/s",
    "5.3 other criteria": "asks how a sender would be deployed, which no trial shows",
    "6.3 wired paths": "needs a path of the Internet with the cross traffic of many users",
    "6.2 tunnels": "needs a tunnel in the path with a queue of its own",
    "7.2 circuit breakers": "needs a circuit breaker (RFC 8084) on the path",
    "7.4 constrained nodes": "needs a limit of the sender's computing and power",
    "7.6 misbehaving receivers": "experiments/examples/optimistic-acknowledgements.toml has one"
    " that acknowledges what it never received, over QUIC; over TCP it needs packets of its own",
    "7.9 changes of the path by hand-over": "needs a client that moves to another address",
    "7.10 multipath": "needs a transport that uses several paths",
    "7.11 data centres": "needs round trips below 2 ms and links of many Gbit/s",
    "5.2.2 real-time congestion control": "needs a sender of RTP; a TCP flow of CUBIC stands in"
    " for it, which its own access link limits to 1 Mbit/s",
}
"""What is not covered, and what it needs."""


# What the packets show. Times are those of the network, from the client's first packet on.


def _span(transfer: SenderTransfer, begin_s: float, end_s: float) -> tuple[float, float]:
    """Return an interval of the network's time in that of the flight."""
    return begin_s - transfer.flight.request_delay_s, end_s - transfer.flight.request_delay_s


def _sent(transfer: SenderTransfer, begin_s: float, end_s: float) -> slice:
    span = _span(transfer, begin_s, end_s)
    return slice(*map(int, np.searchsorted(transfer.flight.packets.sent_s, span)))


def delivered(
    transfer: SenderTransfer,
    begin_s: float = SETTLED_S,
    end_s: float = END_S,
    rate_bit_s: float = RATE_BIT_S,
) -> float:
    """Return the share of a rate that was delivered in an interval."""
    sent = transfer.flight.delivered_bytes(*_span(transfer, begin_s, end_s))
    return sent * 8 / (end_s - begin_s) / rate_bit_s


def packets_sent(transfer: SenderTransfer, begin_s: float, end_s: float) -> float:
    """Return how many packets were sent in an interval."""
    place = _sent(transfer, begin_s, end_s)
    return float(place.stop - place.start)


def sent_of_before(transfer: SenderTransfer) -> float | None:
    """Return the rate of sending after :data:`EVENT_S`, as a share of the rate before."""
    sizes = transfer.flight.packets.bytes
    before = sizes[_sent(transfer, SETTLED_S, EVENT_S)].sum() / (EVENT_S - SETTLED_S)
    # What a sender does in the first four seconds is the reaction itself.
    begin_s = EVENT_S + 4.0
    after = sizes[_sent(transfer, begin_s, END_S)].sum() / (END_S - begin_s)
    return float(after / before) if before else None


def lost(transfer: SenderTransfer) -> float | None:
    """Return the share of packets lost."""
    gone = transfer.flight.packets.lost[_sent(transfer, SETTLED_S, END_S)]
    return float(gone.mean()) if len(gone) else None


def waited_s(transfer: SenderTransfer, percentile: float) -> float | None:
    """Return a percentile of the time for which packets waited in the queue."""
    packets, place = transfer.flight.packets, _sent(transfer, SETTLED_S, END_S)
    network = transfer.network
    passage_s = (packets.left_s - packets.sent_s - packets.bytes * 8 / network.rate_bit_s)[place]
    waits = passage_s[~np.isnan(passage_s)] - network.rtt_s / 2
    return float(np.percentile(np.maximum(waits, 0.0), percentile)) if len(waits) else None


def _other(figure: Callable[[Split], Sequence[float]]) -> Callable[[SharedTransfer], float]:
    """Return the measure that reads a figure of the first flow beside the sender's."""
    return lambda transfer: figure(transfer.split)[1]


@dataclass(frozen=True)
class Criterion:
    """A figure for a criterion of BCP 133."""

    section: str
    """Of RFC 9743, and what it is about."""
    figure: str
    network: str
    measure: Callable[[Any], float | None]
    """Of a transfer in the network: a SharedTransfer if several flows share it."""
    unit: str
    """Of the figure on the page, and of its bounds; the measure is in seconds, or a share of 1."""
    bounds: Bounds | None = None
    """What the RFC asks, where it does."""
    harms: int = 0
    """1 if more of the figure is more harm to others, -1 if less of it is."""

    def judged(self, transfers: Transfers) -> PropertyResult:
        """Judge the median of the trials, beside those of the references."""
        values, strained = self._values(transfers)
        beside = {name: self._values(other) for name, other in transfers.references.items()}
        others = {name: median_of(trials) for name, (trials, _) in beside.items()}
        # A reference on a busy machine may do more harm than it would, and widen the bound.
        fit = [others[name] for name, (_, busy) in beside.items() if not busy]
        known = [value for value in fit if value is not None]
        why = UNCOMPARED if self.harms and len(known) < len(beside) else ""
        bounds = OPEN if why else self._bounds(known)
        name = f"{self.section}: {self.figure}"
        result = within(name, values, bounds, self.unit, strained=strained, why=why)
        titles = {network.name: network.title for network in transfers.planned}
        return replace(result, references=others, network=titles[self.network])

    def _values(self, transfers: Transfers) -> tuple[list[float | None], bool]:
        trials: list[Any] = [*transfers.in_network(self.network)]
        trials += transfers.sharing(self.network)
        figures = (self.measure(trial) for trial in trials)
        values = [figure * self._scale if figure is not None else None for figure in figures]
        return values, any(trial.strained for trial in trials)

    @property
    def _scale(self) -> float:
        return 100.0 if self.unit.startswith("%") else 1e3 if self.unit == "ms" else 1.0

    def _bounds(self, known: Sequence[float]) -> Bounds:
        if self.bounds is not None:
            return self.bounds
        if not self.harms:
            return OPEN
        if self.harms > 0:
            return (0.0, max(TIMES_HARM * max(known), SLACK * self._scale))
        return (min(known) / TIMES_HARM, math.inf)


def _delivered(section: str, network: str, **interval: Any) -> Criterion:
    return Criterion(section, "delivered", network, partial(delivered, **interval), "% of the link")


def _lost(section: str, network: str) -> Criterion:
    return Criterion(section, "lost", network, lost, "% of packets")


def _queue(section: str, network: str) -> Criterion:
    return Criterion(section, "queue, p95", network, partial(waited_s, percentile=95), "ms")


def _on_a_path(section: str, network: str) -> tuple[Criterion, ...]:
    """Return the figures of a sender that has a path to itself."""
    return _delivered(section, network), _queue(section, network), _lost(section, network)


def _beside(section: str, network: str, part_bit_s: float) -> tuple[Criterion, ...]:
    """Return the figures of harm to a flow whose part of the link is so many bits per second."""

    def rate(split: Split) -> list[float]:
        return [rate / part_bit_s for rate in split.rates_bit_s]

    def loss(split: Split) -> Sequence[float]:
        return split.lost

    def queue_delay(transfer: SharedTransfer) -> float | None:
        return transfer.split.queue_delay_p95_s

    of_part, packets = "% of its part", "% of its packets"
    return (
        Criterion(section, "rate of the other", network, _other(rate), of_part, harms=-1),
        Criterion(section, "queue, p95", network, queue_delay, "ms", harms=1),
        Criterion(section, "lost of the other", network, _other(loss), packets, harms=1),
    )


def _until_delivered(section: str, network: str, harms: int = 0) -> Criterion:
    seconds = _other(lambda split: split.lasts_s)
    return Criterion(section, "time of the short one", network, seconds, "ms", harms=harms)


CRITERIA: tuple[Criterion, ...] = (
    Criterion(
        "5.1.1 collapse",
        "sent in its last 5 s",
        "outage",
        partial(packets_sent, begin_s=EVENT_S + OUTAGE_S / 2, end_s=EVENT_S + OUTAGE_S),
        "packets",
        (0, MAX_BACKED_OFF),
    ),
    Criterion(
        "5.1.2 bufferbloat", "queue, median", "16 BDP", partial(waited_s, percentile=50), "ms"
    ),
    Criterion(
        "5.1.3 high loss", "rate of sending", "heavy loss", sent_of_before, "% of before", (0, LESS)
    ),
    Criterion(
        "5.1.3 high loss",
        "lost by all",
        "four alike",
        lambda transfer: float(np.mean(transfer.split.lost)),
        "% of packets",
        harms=1,
    ),
    Criterion(
        "5.1.4 own fairness", "Jain's index", "four alike", lambda shared: shared.split.jain, "of 1"
    ),
    Criterion(
        "5.1.5 short flows",
        "time of 100 kB",
        "1 BDP",
        lambda transfer: delivery_time_s(transfer.flight, SHORT_BYTES),
        "ms",
    ),
    _until_delivered("5.1.5 short flows", "short alike"),
    *_beside("5.2.1 beside Reno", "beside reno", RATE_BIT_S / 2),
    *_beside("5.2.1 beside CUBIC", "beside cubic", RATE_BIT_S / 2),
    *_beside("5.2.1 beside BBR", "beside bbr", RATE_BIT_S / 2),
    *_beside("5.2.2 real time", "real time", REAL_TIME_BIT_S),
    _until_delivered("5.2.3 short beside long", "short cubic", harms=1),
    *(
        criterion
        for queue in TAIL_DROP_BDP
        for criterion in _on_a_path("6.1 tail drop", f"{queue:g} BDP")
    ),
    *_on_a_path("6.4 wireless", "wireless"),
    *(criterion for name in AQM for criterion in _on_a_path("7.1 AQM", name)),
    *_beside("7.1 AQM", "fq_codel", RATE_BIT_S / 2)[:1],
    _delivered("7.3 varying delay", "jitter"),
    _delivered("7.3 varying delay", "longer", begin_s=EVENT_S),
    *_on_a_path("7.5 high delay", FAR),
    _delivered("7.7 reordering", "reordered"),
    _delivered("7.8 transients", "blink", begin_s=EVENT_S + BRIEF_S, end_s=EVENT_S + 5 * BRIEF_S),
    _delivered("7.8 transients", "dip", begin_s=EVENT_S + 2 * BRIEF_S, end_s=EVENT_S + 5 * BRIEF_S),
    _lost("7.8 transients", "dip"),
    _delivered("7.9 sudden change", "worse", begin_s=EVENT_S, rate_bit_s=SLOW_BIT_S),
    _lost("7.9 sudden change", "worse"),
    _delivered("7.9 sudden change", "better", begin_s=EVENT_S),
)


def networks(scale: Scale, control: Control) -> tuple[Network, ...]:
    """Return the networks of a scale; the smallest one leaves out all but a few."""
    del control
    every = (*_alone(), *_shared(), *_special())
    return tuple(network for network in every if scale != "smoke" or network.name in SMOKE)


def _network(
    name: str,
    title: str,
    *beside: Beside,
    queue_bdp: float = 1.0,
    rtt_s: float = 2 * ONE_WAY_S,
    **more: Any,
) -> Network:
    """Return a network that the flows ``beside`` share; ``more`` are further keys of its link."""
    queue = bdp_packets(RATE_BIT_S, rtt_s, queue_bdp)
    return Network(
        name, RATE_BIT_S, rtt_s, queue, more=more, title=title, beside=beside, lasts_s=LASTS_S
    )


def _alone() -> Iterator[Network]:
    for queue in TAIL_DROP_BDP:
        title = f"tail drop, queue of {queue:g} BDP"
        yield _network(f"{queue:g} BDP", title, queue_bdp=queue)
    yield _network("outage", "nothing passes from 8 to 18 s", schedule=_down(OUTAGE_S))
    loss = {"at": f"{EVENT_S:g} s", "loss": "30 %", "direction": "down"}
    yield _network("heavy loss", "30 % of packets lost from 8 s on", schedule=[loss])


def _shared() -> Iterator[Network]:
    alike = [Beside()] * 3
    yield _network("four alike", "four of its kind, queue of 0.5 BDP", *alike, queue_bdp=0.5)
    short: dict[str, Any] = {"size": SHORT, "after_s": EVENT_S}
    yield _network("short alike", "100 kB of its kind beside it", Beside(**short))
    yield _network("beside reno", "beside Reno", Beside(RENO))
    yield _network("beside cubic", "beside CUBIC", Beside(CUBIC))
    yield _network("beside bbr", "beside BBR", Beside(KERNELS_BBR))
    limited = Beside(CUBIC, rate_bit_s=REAL_TIME_BIT_S)
    yield _network("real time", "beside a constant 1 Mbit/s", limited)
    yield _network("short cubic", "100 kB of CUBIC beside it", Beside(CUBIC, **short))
    fair = {"discipline": "fq_codel"}
    yield _network("fq_codel", "beside Reno, FQ-CoDel", Beside(RENO), queue_bdp=16, queue=fair)


def _special() -> Iterator[Network]:
    for name, queue in AQM.items():
        yield _network(name, f"queue of 16 BDP, {name}", queue_bdp=16, queue=queue)
    cellular = {"rate": {"cellular": {"mean": f"{RATE_BIT_S} bit/s", "duration": "20 s"}}}
    lossy = {**cellular, "loss": "0.5 %"}
    yield _network("wireless", "cellular trace, 0.5 % lost", queue_bdp=4, down=lossy)
    yield _network("jitter", "delay varies by 10 ms", jitter="10 ms")
    begin, end = {"at": f"{EVENT_S:g} s"}, {"at": f"{EVENT_S + 2 * BRIEF_S:g} s"}
    slow, fast = ({"rate": f"{rate} bit/s"} for rate in (SLOW_BIT_S, RATE_BIT_S))
    long, short = ({"delay": f"{1e3 * times * ONE_WAY_S:g} ms"} for times in (3, 1))
    yield _network("longer", "three times the delay from 8 s on", schedule=[begin | long])
    yield _network(FAR, "600 ms", rtt_s=FAR_RTT_S)
    late = {"reordering": {"share": "10 %", "hold": f"{ONE_WAY_S * 1e3:g} ms"}}
    yield _network("reordered", "10 % come 20 ms late", down=late)
    yield _network("blink", "nothing passes from 8 to 9 s", schedule=_down(BRIEF_S))
    dip = [begin | slow, end | fast]
    yield _network("dip", "a quarter of the rate from 8 to 10 s", schedule=dip)
    worse, better = ([begin | rate, begin | delay] for rate, delay in ((slow, long), (fast, short)))
    yield _network("worse", "1/4 of the rate, 3 times the delay from 8 s on", schedule=worse)
    title = "4 times the rate, 1/3 of the delay from 8 s on"
    before: dict[str, Any] = slow | long
    yield _network("better", title, schedule=better, **before)


def _down(lasts_s: float) -> list[dict[str, str]]:
    return [
        {"at": f"{EVENT_S:g} s", "state": "down"},
        {"at": f"{EVENT_S + lasts_s:g} s", "state": "up"},
    ]


def with_references(transfers: Transfers) -> Transfers:
    """Return the transfers with every reference; the sender under test may be one of them."""
    known = transfers.references
    return replace(transfers, references={name: known.get(name, transfers) for name in REFERENCES})


def judge(control: Control, transfers: Transfers) -> list[PropertyResult]:
    """Judge every criterion whose network was planned."""
    del control
    compared = with_references(transfers)
    planned = {network.name for network in transfers.planned}
    return [criterion.judged(compared) for criterion in CRITERIA if criterion.network in planned]


def notes(transfers: Transfers) -> Iterator[str]:
    """Yield what the verdicts mean, and what is not covered."""
    yield (
        "one trial does not settle a figure near its bound: --scale full runs five. Loss at 600 ms"
        " begins eight round trips after the start, and has that of slow start. In a cellular trace"
        " the time without capacity counts as queue"
    )
    yield (
        f"RFC 9743 sets no number for harm: asked is at most {TIMES_HARM:g} times that of the worse"
        " of Reno and CUBIC in the same network"
    )
    held = median_of(transfer.held_bytes for transfer in transfers.in_network(FAR))
    if held:
        size = units.format_size(held, units.SHORT_DIGITS)
        yield (
            f"something else than congestion control holds the window at {size}: flow control, or a"
            " buffer of the program. These figures are those of that limit where it is reached"
        )
    if unmarked := [name for name in ("CoDel", "PIE") if _alike(transfers, name)]:
        yield (
            f"not covered: 7.1 AQM with ECN; {', '.join(unmarked)} dropped the same packets as"
            " without, so the connection does not use ECN"
        )
    for what, need in UNCOVERED.items():
        yield f"not covered: {what}; {need}"


def _alike(transfers: Transfers, name: str) -> bool:
    """Whether the queue drops the same packets with ECN as without: it marks none then."""
    dropped, marked = (
        [transfer.flight.packets.lost.tolist() for transfer in transfers.in_network(network)]
        for network in (name, f"{name}, ECN")
    )
    return any(map(any, dropped)) and dropped == marked
