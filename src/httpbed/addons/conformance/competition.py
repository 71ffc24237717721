"""A competition of senders for one bottleneck: its experiment and its result.

::

    client  ──┐                                 ┌── server
    client2 ──┼── left ══ bottleneck ══ right ──┼── proxy2 ── server2
    client3 ──┘                                 └── server3

Every flow has its own access link without impairments, by which the emulator tells the flows apart,
encrypted or not. All flows start at the same time. A proxy under test reaches its origin over
another link without impairments. The packets of each flow's own access link give its delivered
bytes, the packets of the bottleneck give the queueing delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from httpbed.addons.conformance.flight import Packets
from httpbed.addons.conformance.networks import SIZE, responders, toml_string
from httpbed.addons.conformance.sender import Scale, Sender
from httpbed.trial.fairness import jain

FACTOR = "queue"
QUEUES_BDP: Mapping[Scale, tuple[float, ...]] = {
    "smoke": (1,),
    "standard": (0.5, 1, 4),
    "full": (0.5, 1, 4),
}
"""Lengths of the queue, in bandwidth-delay products."""
REPLICATES: Mapping[Scale, int] = {"smoke": 1, "standard": 3, "full": 10}
RATE_BIT_S = 10_000_000
ONE_WAY_S = 0.02
TIME_LIMIT_S = 30
SETTLED_S = 5.0
"""Shares are measured from here on, when every sender's start is over."""


@dataclass(frozen=True)
class Split:
    """How a bottleneck was shared in an interval."""

    rates_bit_s: Mapping[str, float]
    """Bits per second delivered to each flow, by its name."""
    queue_delay_s: Mapping[str, float]
    """Queueing delay at the bottleneck in seconds, by the quantiles' names: p50, p95, p99."""
    utilisation: float
    """Delivered bits divided by the bottleneck's rate."""

    @property
    def shares(self) -> dict[str, float]:
        """Each flow's share of the delivered bits."""
        total = sum(self.rates_bit_s.values())
        return {name: rate / total if total else 0.0 for name, rate in self.rates_bit_s.items()}

    @property
    def jain(self) -> float:
        """Jain's index of the rates."""
        return jain(list(self.rates_bit_s.values()))


@dataclass(frozen=True)
class CompetitionTrial:
    """How the flows of one trial shared the bottleneck."""

    queue_bdp: float
    """Length of the queue in bandwidth-delay products."""
    split: Split


@dataclass(frozen=True)
class Competition:
    """The result of a competition."""

    flows: tuple[str, ...]
    """Names of the flows, in the order of their shares."""
    trials: Sequence[CompetitionTrial]
    manifest: Mapping[str, Any]
    unreadable: Sequence[str]
    """Trials that show nothing about the senders, each with the reason."""
    invalid: bool = False
    """Whether an invalid attempt is one of the reasons."""

    def with_queue(self, queue_bdp: float) -> list[Split]:
        """Return the trials with one length of the queue."""
        return [trial.split for trial in self.trials if trial.queue_bdp == queue_bdp]

    def queues_bdp(self) -> list[float]:
        """Return the lengths of the queue that have trials, shortest first."""
        return sorted({trial.queue_bdp for trial in self.trials})

    def as_json(self) -> dict[str, Any]:
        """Return it for :func:`json.dumps`."""
        return {
            "flows": list(self.flows),
            "rate_bit_s": RATE_BIT_S,
            "rtt_s": 2 * ONE_WAY_S,
            "trials": [
                {
                    "queue": level(trial.queue_bdp),
                    "rates_bit_s": dict(trial.split.rates_bit_s),
                    "shares": trial.split.shares,
                    "jain": trial.split.jain,
                    "queue_delay_s": dict(trial.split.queue_delay_s),
                    "utilisation": trial.split.utilisation,
                }
                for trial in self.trials
            ],
            "unreadable": list(self.unreadable),
        }


def names(senders: Sequence[Sender]) -> tuple[str, ...]:
    """Return a distinct name for each flow."""
    return tuple(
        f"{number} {sender.algorithm} {sender.implementation} H{sender.http_version}"
        for number, sender in enumerate(senders, start=1)
    )


def level(queue_bdp: float) -> str:
    """Return the factor's level for a length of the queue."""
    return f"{queue_bdp:g} BDP"


def access(flow: int) -> int:
    """Return the direction in the packet log from a flow's sender to its client, from flow 0 on."""
    return 2 * flow + 1


def bottleneck(flows: int) -> int:
    """Return the bottleneck's direction towards the clients."""
    return 2 * (2 * flows) + 1


def experiment(senders: Sequence[Sender], scale: Scale, *, seed: int) -> str:
    """Return the experiment file of a competition; the first sender is the one under test."""
    first, flows = senders[0], _by_end(senders)
    competitors = [_competitor(flows[end], end) for end in list(flows)[1:]]
    return f"""\
schema = 1
name = "competition-{first.implementation.replace(".", "-")[:40]}"
question = "How do {len(senders)} senders share one bottleneck?"
replicates = {REPLICATES[scale]}
seed = {seed}
time_limit = "{TIME_LIMIT_S} s"

[factors]
{FACTOR} = [{", ".join(toml_string(level(length)) for length in QUEUES_BDP[scale])}]

[topology]
hosts = [{", ".join(map(toml_string, _hosts(flows)))}]
links = [
{"".join(_links(flows))}]

{_roles(first, "", "roles")}
{"".join(competitors)}[workload]
kind = "download"
size = "{SIZE}"
"""


def _by_end(senders: Sequence[Sender]) -> dict[str, Sender]:
    """Map the ending of each flow's host names to its sender."""
    return {"" if number == 1 else f"{number}": one for number, one in enumerate(senders, start=1)}


def _hosts(flows: Mapping[str, Sender]) -> list[str]:
    clients, servers = ([f"{role}{end}" for end in flows] for role in ("client", "server"))
    return [*clients, "left", "right", *(f"proxy{end}" for end in _proxied(flows)), *servers]


def _links(flows: Mapping[str, Sender]) -> list[str]:
    """Return the links in the order that :func:`access` and :func:`bottleneck` assume."""
    ends = [(f"client{end}", "left") for end in flows]
    ends += [(f"{sender.role}{end}", "right") for end, sender in flows.items()]
    behind = [(f"proxy{end}", f"server{end}") for end in _proxied(flows)]
    queue = f'queue = {{ limit = {{ factor = "{FACTOR}" }} }}'
    shared = f'rate = "{RATE_BIT_S} bit/s", delay = "{ONE_WAY_S * 1e3:g} ms", {queue}'
    return [
        *(f'    {{ between = ["{one}", "{other}"] }},\n' for one, other in ends),
        f'    {{ between = ["left", "right"], {shared} }},\n',
        *(f'    {{ between = ["{one}", "{other}"] }},\n' for one, other in behind),
    ]


def _proxied(flows: Mapping[str, Sender]) -> list[str]:
    return [end for end, sender in flows.items() if sender.role == "proxy"]


def _competitor(sender: Sender, end: str) -> str:
    return f"[[competitors]]\n\n{_roles(sender, end, 'competitors')}\n"


def _roles(sender: Sender, end: str, place: str) -> str:
    """Return the roles of one flow: its client, and its server or proxy."""
    return (
        f"[{place}.client]\nimplementation = {toml_string(sender.client)}\n"
        f'host = "client{end}"\nhttp_version = "{sender.http_version}"\n\n'
        + responders(sender, place, end)
    )


def split(
    flows: Mapping[str, Packets],
    bottleneck: Packets,
    *,
    rate_bit_s: float,
    delay_s: float,
    interval_s: tuple[float, float],
) -> Split:
    """Return how the bottleneck was shared in an interval in which all flows were sending."""
    begin_s, end_s = interval_s
    rates = {
        name: _delivered(packets, interval_s) * 8 / (end_s - begin_s)
        for name, packets in flows.items()
    }
    used = _delivered(bottleneck, interval_s) * 8 / (end_s - begin_s) / rate_bit_s
    return Split(rates, _waits(bottleneck, rate_bit_s, delay_s, interval_s), used)


def _delivered(packets: Packets, interval_s: tuple[float, float]) -> int:
    inside = (packets.left_s >= interval_s[0]) & (packets.left_s < interval_s[1])
    return int(packets.bytes[inside].sum())


def _waits(
    bottleneck: Packets, rate_bit_s: float, delay_s: float, interval_s: tuple[float, float]
) -> dict[str, float]:
    sent, left = bottleneck.sent_s, bottleneck.left_s
    inside = (sent >= interval_s[0]) & (sent < interval_s[1]) & ~bottleneck.lost
    waited = (left - sent - delay_s - bottleneck.bytes * 8 / rate_bit_s)[inside]
    if not len(waited):
        return {}
    levels = (50, 95, 99)
    quantiles = np.percentile(np.maximum(waited, 0.0), levels)
    return {f"p{level}": float(value) for level, value in zip(levels, quantiles, strict=True)}
