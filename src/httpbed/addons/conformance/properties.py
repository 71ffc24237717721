"""The properties that a congestion control's name promises, with their tolerances.

Every tolerance is justified by the kernel's own controls, which must pass: nginx 1.30.6 over TCP on
Linux 6.18, 2 to 8 trials of each network on a machine that was mostly too busy to measure times.
``bench/controls.py`` makes these figures again, with the number of trials behind each. Least to
most:

====================================  =============  =============  =============
property                              reno           cubic          bbr
====================================  =============  =============  =============
initial window, packets               10             10             12
growth at the start                   2.00           2.00           1.89 .. 2.00
largest window, of the BDP            7.7 .. 7.9     4.2            2.9 .. 3.0
window after one loss, of before      0.505 .. 0.511 0.714 .. 0.724 0.96 .. 1.01
growth, packets per round trip        0.975 .. 0.983 (0.35)
off the cubic curve                   (0.39 .. 0.41) 0.031 .. 0.037
most in flight, of BDP and queue      1.02           1.01
most in flight, deep queue, of BDP    (2.2)          (4.2)          1.30 .. 1.62
throughput, of its model or capacity  0.89 .. 1.10   0.79 .. 1.06   0.966 .. 0.988
slope against loss                    -0.61 .. -0.53 -0.65 .. -0.59 (-0.03)
====================================  =============  =============  =============

On each side, the tolerance is at least four times the kernel's own spread for the window after a
loss, 25 times for Reno's growth, and 1.5 times for the slope; CUBIC is off its curve by a third of
the tolerance. Models are approximate and have a tolerance of a factor of two. Figures in brackets
are of a sender with another control: they are far outside, or the property does not distinguish the
two. PFTK's own slope is below -0.5, because timeouts grow with loss. The kernel has no BBRv2: its
bounds are from its draft, and a least throughput.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Any

from httpbed.addons.conformance import behaviour
from httpbed.addons.conformance.behaviour import Backoff, Pipe
from httpbed.addons.conformance.competition import SharedTransfer
from httpbed.addons.conformance.flight import Flight, Round
from httpbed.addons.conformance.networks import STEADY_S, Network
from httpbed.addons.conformance.sender import BBR, Control
from httpbed.base import units
from httpbed.results import throughput_models as models


@dataclass(frozen=True)
class SenderTransfer:
    """The packets of one trial."""

    network: Network
    flight: Flight
    strained: bool = False
    """Whether the machine was too busy during the trial."""

    @cached_property
    def pipe(self) -> Pipe:
        """Return the network's rate, round trip and queue in this sender's packets."""
        return self.network.pipe(self.flight.full_bytes)

    @cached_property
    def loss(self) -> float:
        """Return the share of packets lost in the steady state; if none, the network's loss."""
        lost = self.flight.packets.lost[self.flight.packets.sent_s >= STEADY_S]
        return float(lost.mean()) if lost.any() else self.network.loss

    @cached_property
    def rate_pps(self) -> float:
        """Return full packets per second in the steady state."""
        if self.flight.lasts_s <= STEADY_S:
            return 0.0
        return behaviour.steady_pps(self.flight, STEADY_S)

    @cached_property
    def held_window(self) -> float | None:
        """Return the window in packets that flow control or a buffer holds; None if none does."""
        return behaviour.held_at(self.flight, self.pipe)

    @property
    def held_bytes(self) -> float | None:
        """Return that window in bytes of IP packets."""
        held = self.held_window
        return None if held is None else held * self.flight.full_bytes


@dataclass(frozen=True)
class Transfers:
    """All trials of a conformance test."""

    planned: Sequence[Network]
    """Every network of the test, readable or not."""
    every: Sequence[SenderTransfer]
    """Those in which the sender had the network to itself."""
    shared: Sequence[SharedTransfer] = ()
    """Those in which several flows shared the network."""
    references: Mapping[str, Transfers] = field(default_factory=dict)
    """The trials of other senders in the same networks, by their names."""

    def in_network(self, name: str) -> list[SenderTransfer]:
        """Return the transfers in a network."""
        return [transfer for transfer in self.every if transfer.network.name == name]

    def sharing(self, name: str) -> list[SharedTransfer]:
        """Return the trials in a shared network."""
        return [transfer for transfer in self.shared if transfer.network.name == name]

    def grid(self) -> dict[Network, list[SenderTransfer]]:
        """Return the transfers with independent loss by network; some networks may have none."""
        return {network: self.in_network(network.name) for network in self.planned if network.loss}

    def held_window(self) -> float | None:
        """Return where the window is held in the network that has room for any window."""
        return median_of(transfer.held_window for transfer in self.in_network("start"))


def median_of(values: Iterable[float | None]) -> float | None:
    """Return the median of the trials' values; None without any."""
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


Bounds = tuple[float, float]
OPEN: Bounds = (-math.inf, math.inf)
"""Of a figure that nothing bounds."""

BACK_OFF: Mapping[Control, Bounds] = {
    "reno": (0.44, 0.56),
    "cubic": (0.64, 0.77),
    "bbr": (0.9, math.inf),
    "bbr2": (0.65, math.inf),
}
START: Mapping[Control, Bounds] = {
    "reno": (1.4, 2.2),
    "cubic": (1.4, 2.2),
    "bbr": (1.4, 3.0),
    "bbr2": (1.4, 3.0),
}
GROWTH: Bounds = (0.75, 1.25)
OFF_CUBIC = 0.1
BRIM: Bounds = (0.9, 1.15)
DEEP_BBR: Bounds = (0.95, 2.1)
BEGUN_S = 5.0
"""From here on BBR's start, with its gain of 2.89, is over."""
NEARLY = 0.97
"""Share of a limit from which a window does not show what congestion control allows."""
HELD = "something else holds the window"
FACTOR: Bounds = (0.5, 2.0)
THROUGHPUT = "throughput"
"""Includes retransmissions, as the models do."""
SLOPE: Bounds = (-0.75, -0.4)
NEAR_CAPACITY = 0.8
TOLERATED_LOSS_BBR2 = 0.01
"""BBRv2 and v3 give way when more than 2 % of a round are lost (draft-ietf-ccwg-bbr,
BBR.LossThresh); with independent loss some rounds lose that much at half the mean."""

BUSY = "out of tolerance, but the machine was too busy to blame the sender"
NOT_SHOWN = "no trial shows it"
UNCOMPARED = (
    "a trial of Reno or CUBIC in the same network is unreadable, or the machine was too busy"
)


@dataclass(frozen=True)
class PropertyResult:
    """A property with its tolerance and the observed figure."""

    name: str
    observed: float | None
    """The figure, a median over trials; None if no trial shows it."""
    low: float
    high: float
    unit: str
    passed: bool | None
    """None if it could not be judged."""
    why: str = ""
    """Why it could not be judged, or what caused the figure."""
    n: int = 1
    """Number of trials behind the figure."""
    references: Mapping[str, float | None] = field(default_factory=dict)
    """The figures of other senders in the same network, by their names."""
    network: str = ""
    """What the network does, where the name of the property does not tell."""

    @property
    def is_open(self) -> bool:
        """Whether nothing bounds the figure."""
        return (self.low, self.high) == OPEN

    @property
    def is_for_the_reader(self) -> bool:
        """Whether nothing is asked of the figure, so that the reader judges it."""
        return self.is_open and self.n > 0 and not self.why

    def as_json(self) -> dict[str, Any]:
        """Return it for :func:`json.dumps`; an open bound is null."""
        bounds = {"low": self.low, "high": self.high}
        return asdict(self) | {
            name: bound if math.isfinite(bound) else None for name, bound in bounds.items()
        }


def within(  # noqa: PLR0913 - the remarks are keywords
    name: str,
    values: Sequence[float | None],
    bounds: Bounds,
    unit: str = "",
    *,
    strained: bool = False,
    unseen: str = NOT_SHOWN,
    why: str = "",
) -> PropertyResult:
    """Judge the median of the trials' values.

    Without a value nothing is judged, and on a ``strained`` machine no failure is: the machine may
    be its cause.
    """
    known = [value for value in values if value is not None]
    low, high = bounds
    observed = median_of(values)
    passed = None if observed is None or bounds == OPEN else low <= observed <= high
    if observed is None:
        why = unseen
    elif strained and passed is False:
        passed, why = None, BUSY
    return PropertyResult(name, observed, low, high, unit, passed, why, len(known))


def judge(control: Control, transfers: Transfers) -> list[PropertyResult]:
    """Judge everything that the control's name promises."""
    return [
        _first_flight(transfers),
        _doubling(control, transfers),
        _not_held(transfers),
        *_around_losses(control, transfers),
        _most_in_flight(control, transfers),
        *(_capacity if control in BBR else _models)(control, transfers),
    ]


def _strained(trials: Iterable[SenderTransfer]) -> bool:
    return any(transfer.strained for transfer in trials)


def _first_flight(transfers: Transfers) -> PropertyResult:
    """Count the first flight."""
    trials = transfers.in_network("start")
    seen = [behaviour.first_flight(transfer.flight) for transfer in trials]
    most = [behaviour.largest_first_flight(transfer.flight) for transfer in trials]
    bounds = (0, max(most, default=behaviour.INITIAL_PACKETS))
    return within("initial window", seen, bounds, "packets", strained=_strained(trials))


def _doubling(control: Control, transfers: Transfers) -> PropertyResult:
    """Ask whether the window doubles.

    1.5 where every second packet is acknowledged and packets, not bytes, are counted; HyStart++
    (RFC 9406) slows down to a growth of 1.25 only when delays rise. BBR's gain is 2.89.
    """
    trials, seen = transfers.in_network("start"), []
    for transfer in trials:
        room = min(transfer.pipe.bdp, 0.9 * (transfer.held_window or math.inf))
        seen.append(behaviour.growth_at_start(transfer.flight, room))
    name = "slow start, per round trip"
    return within(name, seen, START[control], "times", strained=_strained(trials))


def _not_held(transfers: Transfers) -> PropertyResult:
    """Tell a window that flow control or a buffer holds from one of congestion control."""
    trials, window, why = transfers.in_network("start"), transfers.held_window(), ""
    seen = [
        (transfer.held_window or transfer.flight.largest_window) / transfer.pipe.bdp
        for transfer in trials
    ]
    if window is not None:
        size = units.format_size(window * trials[0].flight.full_bytes, units.SHORT_DIGITS)
        why = f"held at {size} by something else: flow control, or a buffer of the program"
    name, bounds = "largest window, nothing lost", (0.95, math.inf)
    # No busy machine holds a window so evenly.
    strained = _strained(trials) and window is None
    return within(name, seen, bounds, "of the BDP", why=why, strained=strained)


def _around_losses(control: Control, transfers: Transfers) -> Iterator[PropertyResult]:
    trials, held = transfers.in_network("loss"), transfers.held_window()
    seen, strained = [_Losses(control, transfer, held) for transfer in trials], _strained(trials)
    ratios = [losses.ratio for losses in seen]
    unseen = HELD if held else "the second loss was not reached"
    name = "window after one loss"
    yield within(name, ratios, BACK_OFF[control], "of before", unseen=unseen, strained=strained)
    unseen = HELD if held else "too few round trips between the losses"
    if control == "reno":
        growth = [losses.growth for losses in seen]
        unit = "packets per round trip"
        yield within("growth", growth, GROWTH, unit, unseen=unseen, strained=strained)
    elif control == "cubic":
        off, bounds = [losses.off_cubic for losses in seen], (0.0, OFF_CUBIC)
        name = "off the cubic curve"
        yield within(name, off, bounds, "of the window", unseen=unseen, strained=strained)


@dataclass(frozen=True)
class _Losses:
    """The two losses of a trial, and the rounds between them."""

    control: Control
    transfer: SenderTransfer
    held: float | None
    """Where something else holds the window: there, it does not show what a control would do."""

    @cached_property
    def first(self) -> Backoff | None:
        return behaviour.backoff(self.transfer.flight, self.transfer.network.lost[0])

    @cached_property
    def second(self) -> Backoff | None:
        cycle = behaviour.CYCLE_ROUNDS if self.control in BBR else 1
        return behaviour.backoff(self.transfer.flight, self.transfer.network.lost[1], cycle=cycle)

    @property
    def ratio(self) -> float | None:
        """What the second loss left of the window."""
        if self.second is None or (self.held and self.second.before > NEARLY * self.held):
            return None
        return self.second.ratio

    @property
    def growth(self) -> float | None:
        return behaviour.growth_per_round(self._between)

    @property
    def off_cubic(self) -> float | None:
        return behaviour.off_cubic(self._between, self.first) if self.first else None

    @cached_property
    def _between(self) -> list[Round]:
        """Rounds after the first recovery until the second loss, or until the window is held."""
        if self.first is None or (self.held and self.first.before > NEARLY * self.held):
            return []
        rtt_s = self.transfer.flight.rtt_s
        end_s = self.second.lost_s - rtt_s if self.second else math.inf
        rounds = behaviour.rounds_between(self.transfer.flight, self.first.lost_s + rtt_s, end_s)
        return behaviour.until(rounds, NEARLY * self.held) if self.held else rounds


def _most_in_flight(control: Control, transfers: Transfers) -> PropertyResult:
    """Ask how far a queue is filled; BBR's window is two bandwidth-delay products."""
    if control in BBR:
        trials = transfers.in_network("start")
        deep = [_most(transfer, transfer.pipe.bdp, BEGUN_S) for transfer in trials]
        name, unit = "most in flight, deep queue", "of the BDP"
        return within(name, deep, DEEP_BBR, unit, strained=_strained(trials))
    trials = transfers.in_network("brim")
    held = transfers.held_window() or math.inf
    brim = [
        _most(transfer, transfer.pipe.holds, STEADY_S)
        for transfer in trials
        if transfer.pipe.holds < held
    ]
    name, unit = "most in flight, queue of 1 BDP", "of BDP and queue"
    unseen = HELD if transfers.held_window() else NOT_SHOWN
    return within(name, brim, BRIM, unit, unseen=unseen, strained=_strained(trials))


def _most(transfer: SenderTransfer, of: float, begin_s: float) -> float | None:
    most = transfer.flight.most_between(begin_s, math.inf)
    return most / of if most is not None else None


def _models(control: Control, transfers: Transfers) -> Iterator[PropertyResult]:
    """Compare throughput with PFTK or the CUBIC response function in every treatment."""
    model, unit = (models.cubic, "of CUBIC") if control == "cubic" else (models.pftk, "of PFTK")
    by_rtt: dict[float, list[SenderTransfer]] = {}
    for network, trials in transfers.grid().items():
        seen = [_of_model(model, transfer) for transfer in trials]
        name = f"{THROUGHPUT}, {network.name}"
        yield within(name, seen, FACTOR, unit, strained=_strained(trials))
        by_rtt.setdefault(network.rtt_s, []).extend(trials)
    for rtt_s, trials in by_rtt.items():
        name = f"slope against loss, {rtt_s * 1e3:g} ms"
        slope = within(name, [_slope(trials)], SLOPE, "log-log", strained=_strained(trials))
        yield replace(slope, n=len(trials))


def _slope(trials: list[SenderTransfer]) -> float | None:
    """Slope of throughput against the loss that happened; None where it was the same everywhere."""
    losses = [transfer.loss for transfer in trials]
    rates = [transfer.rate_pps for transfer in trials]
    if len({transfer.network.loss for transfer in trials}) <= 1 or min(rates) <= 0:
        return None
    return behaviour.slope(losses, rates)


def _capacity(control: Control, transfers: Transfers) -> Iterator[PropertyResult]:
    """Compare BBR with the rate: it does not take loss for congestion.

    BBRv2 does, beyond :data:`TOLERATED_LOSS_BBR2`. Up to that it has to be faster than any sender
    that passes as CUBIC, and beyond it not slower than all of them.
    """
    for network, trials in transfers.grid().items():
        name, strained = f"{THROUGHPUT}, {network.name}", _strained(trials)
        if control == "bbr2":
            seen = [_of_model(models.cubic, trial) for trial in trials]
            least, unit = FACTOR[1 if network.loss <= TOLERATED_LOSS_BBR2 else 0], "of CUBIC"
        else:
            seen = [trial.rate_pps / (trial.pipe.rate_pps * (1 - trial.loss)) for trial in trials]
            least, unit = NEAR_CAPACITY, "of capacity"
        yield within(name, seen, (least, math.inf), unit, strained=strained)


def _of_model(model: Callable[[float, float], float], transfer: SenderTransfer) -> float:
    """Throughput as a multiple of what a model expects of the network, at most its rate."""
    expected = model(transfer.loss, transfer.flight.rtt_s)
    return transfer.rate_pps / min(expected, transfer.pipe.rate_pps)
