"""The networks of a conformance test, and its experiment: which sender sends in which network.

Each network has one shaped link and answers some of the questions. The time limit ends every
transfer, whatever the sender's rate: it stops the client, and the emulator's packet log is read.

=========  ==========================================================================
``start``  a large bandwidth-delay product and a deep queue: the first flights undisturbed,
           and how far a deep queue is filled
``loss``   the same with exactly two lost packets: one ends slow start early, one comes
           much later, in congestion avoidance
``brim``   a queue of one bandwidth-delay product: how far it is filled
the grid   independent loss: throughput against the models of the literature
=========  ==========================================================================

In a **shared** network, flows compete for the link:

::

    client  ──┐                                 ┌── server
    client2 ──┼── left ══ shaped link ══ right ──┼── proxy2 ── server2
    client3 ──┘                                 └── server3

Every flow has its own access links without impairments, by which the emulator tells the flows
apart, encrypted or not. A proxy reaches its origin over a link without impairments, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tomlkit

from httpbed.addons.conformance.behaviour import Pipe
from httpbed.addons.conformance.sender import BBR, Control, Scale, Sender
from httpbed.experiment.impairments.queue import QueueLimit

FACTOR, SENDER, BESIDE = "network", "sender", "beside"
TIME_LIMIT_S = 16
SIZE = "100 MB"
"""More than the fastest link carries within the time limit."""
FAST_BIT_S, SLOW_BIT_S = 40_000_000, 10_000_000
LONG_RTT_S, SHORT_RTT_S = 0.1, 0.04
DEEP_PACKETS = 1000
FIRST_LOST = 60
"""In the third flight of a sender that begins with 10 and doubles: 10 + 20 + 40. Its window is
then small enough to grow for the rest of the time without filling the link."""
SECOND_LOST = 4000
"""About 6 s later at the windows that follow, of Reno or CUBIC."""
SECOND_LOST_BBR = 16000
"""BBR fills the link, so this packet comes after 5 s, when its start is over."""
LIMITED_PACKETS = 20
"""Queue of an access link that limits a flow."""
STEADY_S = 3.0
"""A transfer with losses is in its steady state from here on: at 1 % loss, CUBIC needs this time to
reduce a window of hundreds of packets."""

GRID: dict[Scale, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "smoke": ((0.005, 0.04), (0.05,)),
    "standard": ((0.005, 0.01, 0.02, 0.04), (0.02, 0.05, 0.1)),
    "full": ((0.005, 0.01, 0.02, 0.04), (0.02, 0.05, 0.1)),
}
"""Loss probabilities and round trips in s; all combinations run. In each, the models' rates are
below the link's."""
REPLICATES: dict[Scale, int] = {"smoke": 1, "standard": 1, "full": 5}


@dataclass(frozen=True)
class Beside:
    """A flow beside that of the sender under test."""

    sender: Sender | None = None
    """None for a sender of the same kind as the one under test."""
    size: str = SIZE
    after_s: float = 0.0
    """Its start, after that of the sender under test."""
    rate_bit_s: int = 0
    """Rate at which its own access link lets it send; 0 for any."""


@dataclass(frozen=True)
class Network:
    """One network of a test; its name is the factor's level."""

    name: str
    rate_bit_s: int
    rtt_s: float
    queue_packets: int
    loss: float = 0.0
    lost: tuple[int, ...] = ()
    """Numbers of the packets to the client that are lost; all others arrive."""
    more: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Further keys of the link."""
    title: str = ""
    """What a plot of the bytes in flight calls it; empty if no plot shows it."""
    beside: tuple[Beside, ...] = ()
    """The flows that share it with the sender under test."""
    lasts_s: float = TIME_LIMIT_S
    """Seconds of a trial; the longest of a test's networks holds for all."""

    def pipe(self, full_bytes: int) -> Pipe:
        """Return the rate, round trip and queue in packets of this size."""
        return Pipe(self.rate_bit_s / 8 / full_bytes, self.rtt_s, self.queue_packets)

    def link(self) -> dict[str, Any]:
        """Return the link without its ends; only packets to the client are lost."""
        loss: dict[str, Any] = {}
        if self.lost:
            loss = {"down": {"loss": {"packets": list(self.lost)}}}
        elif self.loss:
            loss = {"down": {"loss": f"{self.loss * 100:g} %"}}
        queue = {"limit": f"{self.queue_packets} packets", **self.more.get("queue", {})}
        rate = {"rate": f"{self.rate_bit_s} bit/s", "delay": f"{self.rtt_s * 500:g} ms"}
        return {**rate, **loss, **self.more, "queue": queue}

    def flows(self, tested: Sender) -> tuple[Sender, ...]:
        """Return the sender of every flow, the one under test first."""
        return (tested, *(flow.sender or tested for flow in self.beside))

    def topology(self, tested: Sender) -> dict[str, Any]:
        """Return its hosts and links, as :func:`access` and :func:`bottleneck` assume."""
        roles = {_end(flow): sender.role for flow, sender in enumerate(self.flows(tested))}
        proxied = [end for end, role in roles.items() if role == "proxy"]
        hosts = [f"client{end}" for end in roles] + [f"proxy{end}" for end in proxied]
        hosts += [f"server{end}" for end in roles]
        behind = [{"between": [f"proxy{end}", f"server{end}"]} for end in proxied]
        if not self.beside:
            return {
                "hosts": hosts,
                "links": [{"between": ["client", tested.role], **self.link()}, *behind],
            }
        rates = [0, *(flow.rate_bit_s for flow in self.beside)]
        return {
            "hosts": [*hosts, "left", "right"],
            "links": [
                *({"between": [f"client{end}", "left"]} for end in roles),
                *(
                    {"between": [f"{role}{end}", "right"], **_limited(rate)}
                    for (end, role), rate in zip(roles.items(), rates, strict=True)
                ),
                {"between": ["left", "right"], **self.link()},
                *behind,
            ],
        }

    def competitors(self, tested: Sender) -> list[dict[str, Any]]:
        """Return the competitors that make the flows beside that of ``tested``."""
        return [
            {
                **roles(flow.sender or tested, _end(number)),
                "workload": {"kind": "download", "size": flow.size},
                "after": f"{flow.after_s:g} s",
            }
            for number, flow in enumerate(self.beside, start=1)
        ]


def _end(flow: int) -> str:
    """Return the ending of a flow's host names."""
    return f"{flow + 1}" if flow else ""


def _limited(rate_bit_s: int) -> dict[str, Any]:
    shaped = {"rate": f"{rate_bit_s} bit/s", "queue": {"limit": f"{LIMITED_PACKETS} packets"}}
    return {"up": shaped} if rate_bit_s else {}


def access(flow: int) -> int:
    """Return the direction in the packet log to a flow's client, from flow 0 on."""
    return 2 * flow + 1


def bottleneck(flows: int) -> int:
    """Return the direction of the shared link towards the clients."""
    return 2 * (2 * flows) + 1


def sending(flow: int, flows: int) -> int:
    """Return the direction in the packet log from a flow's sender."""
    return 2 * (flows + flow)


def bdp_packets(rate_bit_s: int, rtt_s: float, times: float = 1.0) -> int:
    """Return the limit in packets of a queue of some bandwidth-delay products."""
    return QueueLimit(times, "BDP").resolved(rate_bit_s, rtt_s)[1]


def networks(scale: Scale, control: Control) -> tuple[Network, ...]:
    """Return the networks of a scale for a sender that is judged as ``control``."""
    second = SECOND_LOST_BBR if control in BBR else SECOND_LOST
    queue = bdp_packets(SLOW_BIT_S, SHORT_RTT_S)
    return (
        Network("start", FAST_BIT_S, LONG_RTT_S, DEEP_PACKETS, title="deep queue, no loss"),
        Network(
            "loss",
            FAST_BIT_S,
            LONG_RTT_S,
            DEEP_PACKETS,
            lost=(FIRST_LOST, second),
            title="exactly two packets",
        ),
        Network("brim", SLOW_BIT_S, SHORT_RTT_S, queue, title="queue of one BDP"),
        *grid(scale),
    )


def grid(scale: Scale) -> tuple[Network, ...]:
    """Return the networks with independent loss."""
    losses, rtts_s = GRID[scale]
    return tuple(
        Network(f"{loss * 100:g} %, {rtt_s * 1e3:g} ms", FAST_BIT_S, rtt_s, DEEP_PACKETS, loss)
        for rtt_s in rtts_s
        for loss in losses
    )


def experiment(
    senders: Mapping[str, Sender],
    networks: Sequence[Network],
    *,
    question: str,
    replicates: int,
    seed: int,
) -> str:
    """Return the experiment file that runs every sender in every network.

    Args:
        senders: The senders by the level of their factor; the first is the one under test, and
            where it is a proxy, the others send through a router in its place.
        networks: The networks; in each, the sender is one of the flows.
        question: What the experiment answers.
        replicates: Number of blocks.
        seed: Of all random streams.
    """
    tested = next(iter(senders.values()))
    name = f"conformance-{tested.implementation}-{tested.transport}-{tested.algorithm}"
    competitors, groups = dict[str, Any](), list[dict[str, Any]]()
    for network in networks:
        meets_its_kind = any(flow.sender is None for flow in network.beside)
        for level, sender in senders.items() if meets_its_kind else [("", tested)]:
            beside = f"in {network.name}, {level}" if level else f"in {network.name}"
            competitors[beside] = network.competitors(sender)
            levels = {SENDER: [level] if level else [*senders], FACTOR: [network.name]}
            groups.append({"name": beside, "levels": {**levels, BESIDE: [beside]}})
    shared = any(network.beside for network in networks)
    document = {
        "schema": 1,
        "name": re.sub("[^a-zA-Z0-9-]", "-", name)[:60],
        "question": question,
        "replicates": replicates,
        "seed": seed,
        "time_limit": f"{max(network.lasts_s for network in networks):g} s",
        "topology": {"factor": FACTOR},
        "roles": {"factor": SENDER},
        **({"competitors": {"factor": BESIDE}, "groups": groups} if shared else {}),
        "workload": {"kind": "download", "size": SIZE},
        "factors": {
            SENDER: {level: roles(sender) for level, sender in senders.items()},
            FACTOR: {network.name: network.topology(tested) for network in networks},
            **({BESIDE: competitors} if shared else {}),
        },
    }
    return tomlkit.dumps(document)


def roles(sender: Sender, end: str = "") -> dict[str, Any]:
    """Return the client of a flow, and its server, or its proxy with an origin.

    Args:
        sender: The sender, which is the server or the proxy.
        end: Appended to the names of hosts.
    """
    sending_role: dict[str, Any] = {
        "implementation": sender.implementation,
        "host": f"{sender.role}{end}",
        **({"congestion_control": sender.congestion_control} if sender.congestion_control else {}),
        **({"knobs": dict(sorted(sender.knobs.items()))} if sender.knobs else {}),
    }
    client = {
        "implementation": sender.client,
        "http_version": sender.http_version,
        "host": f"client{end}",
    }
    if sender.role == "server":
        return {"client": client, "server": sending_role}
    origin = {"implementation": "nginx", "host": f"server{end}"}
    version = {"http_version": sender.upstream_http_version}
    return {"client": client, "server": origin, "proxies": [sending_role | version]}
