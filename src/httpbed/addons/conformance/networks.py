"""The networks of a conformance test, and its experiment: one factor, the network.

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
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from httpbed.addons.conformance.behaviour import Pipe
from httpbed.addons.conformance.sender import BBR, Control, Scale, Sender
from httpbed.experiment.impairments.rate import MTU_BYTES

FACTOR = "network"
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
class Network:
    """One network of a test; its name is the factor's level."""

    name: str
    rate_bit_s: int
    rtt_s: float
    queue_packets: int
    loss: float = 0.0
    lost: tuple[int, ...] = ()
    """Numbers of the packets to the client that are lost; all others arrive."""
    more: str = ""
    """Further keys of the link, as TOML."""
    title: str = ""
    """What a plot of the bytes in flight calls it; empty if no plot shows it."""

    def pipe(self, full_bytes: int) -> Pipe:
        """Return the rate, round trip and queue in packets of this size."""
        return Pipe(self.rate_bit_s / 8 / full_bytes, self.rtt_s, self.queue_packets)

    def link(self) -> str:
        """Return the link as TOML, without its ends; only packets to the client are lost."""
        loss = ""
        if self.lost:
            loss = f", down = {{ loss = {{ packets = {list(self.lost)} }} }}"
        elif self.loss:
            loss = f', down = {{ loss = "{self.loss * 100:g} %" }}'
        return (
            f'rate = "{self.rate_bit_s} bit/s", delay = "{self.rtt_s * 500:g} ms",'
            f' queue = {{ limit = "{self.queue_packets} packets" }}{loss}'
            f"{', ' * bool(self.more)}{self.more}"
        )


def networks(scale: Scale, control: Control) -> tuple[Network, ...]:
    """Return the networks of a scale for a sender that is judged as ``control``."""
    second = SECOND_LOST_BBR if control in BBR else SECOND_LOST
    queue = math.ceil(SLOW_BIT_S * SHORT_RTT_S / 8 / MTU_BYTES)
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


def experiment(sender: Sender, networks: Iterable[Network], *, replicates: int, seed: int) -> str:
    """Return the experiment file that tests a sender.

    A proxy reaches its origin over a link without impairments, so that the shaped link decides.
    """
    ends = json.dumps(["client", sender.role])
    levels = "\n".join(
        f"{toml_string(one.name)} = {{ between = {ends}, {one.link()} }}" for one in networks
    )
    name = f"conformance-{sender.implementation}-{sender.transport}-{sender.judged_as}"
    name = name.replace(".", "-")
    proxied = sender.role == "proxy"
    return f"""\
schema = 1
name = {toml_string(name[:60])}
question = "Does {sender.implementation} send as {sender.judged_as} should?"
replicates = {replicates}
seed = {seed}
time_limit = "{TIME_LIMIT_S} s"

[factors.{FACTOR}]
{levels}

[topology]
hosts = ["client", {'"proxy", ' if proxied else ""}"server"]
links = [{{ factor = "{FACTOR}" }}{', { between = ["proxy", "server"] }' if proxied else ""}]

[roles.client]
implementation = {toml_string(sender.client)}
http_version = "{sender.http_version}"

{responders(sender)}
[workload]
kind = "download"
size = "{SIZE}"
"""


def responders(sender: Sender, place: str = "roles", end: str = "") -> str:
    """Return the tables of the server, or of a proxy and its origin, as TOML.

    Args:
        sender: The sender under test, which is the server or the proxy.
        place: The table above the roles.
        end: Appended to the names of hosts.
    """
    control = sender.congestion_control
    lines = [
        f"implementation = {toml_string(sender.implementation)}",
        f'host = "{sender.role}{end}"',
        *([f"congestion_control = {toml_string(control)}"] if control else []),
        *([f"knobs = {_table(sender.knobs)}"] if sender.knobs else []),
    ]
    own = "\n".join(lines)
    if sender.role == "server":
        return f"[{place}.server]\n{own}\n"
    origin = f'[{place}.server]\nimplementation = "nginx"\nhost = "server{end}"\n'
    version = f'http_version = "{sender.upstream_http_version}"'
    return f"{origin}\n[[{place}.proxies]]\n{own}\n{version}\n"


def _table(values: Mapping[str, str]) -> str:
    inner = ", ".join(
        f"{toml_string(name)} = {toml_string(value)}" for name, value in sorted(values.items())
    )
    return f"{{ {inner} }}"


def toml_string(value: str) -> str:
    """Return a basic string of TOML, whose escapes include those of JSON, except for DEL."""
    return json.dumps(value).replace("\x7f", "\\u007f")
