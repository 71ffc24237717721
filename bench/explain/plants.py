"""Planted causes: an experiment for each, and what the division has to find.

The seed draws rate, delay and size of each trial, so that a rule that fits one network only fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

LOSS = frozenset({"congestion window", "recovery", "timeout"})
WINDOW = frozenset({"fixed window", "receiver's window"})
TWO_HOSTS = ["client", "server"]
TRIAL_SEEDS = 100_000
SLOW = "slow-nginx"
RECIPES = {
    "slow-nginx.toml": f"""\
schema = 1
like = "nginx"
name = "{SLOW}"

[run.choose.answers]
values.server = '''
        root {{content}};
        default_type text/plain;
        limit_rate 150k;'''
"""
}
"""A server that sends 150 kB in each second."""


@dataclass(frozen=True)
class Plant:
    """A cause, planted in a transfer over one HTTP version."""

    cause: str
    http_version: str
    expected: frozenset[str]
    text: str
    """The experiment file."""


@dataclass(frozen=True)
class _Draw:
    """A network and a size, drawn from a seed."""

    rate_mbit: int
    delay_ms: int
    size_kb: int

    def wider(self) -> _Draw:
        """Return a network that holds about five times as much."""
        return _Draw(self.rate_mbit * 3, self.delay_ms + 20, self.size_kb)

    def link(self, more: str = "", *, rate: str = "", queue: str = "") -> str:
        """Return the link; the queue holds 100 packets and the bandwidth-delay product."""
        packets = 100 + self.rate_mbit * self.delay_ms // 3
        limit = queue or f"{packets} packets"
        return (
            f"rate = {rate or _quoted(f'{self.rate_mbit} Mbit/s')}\n"
            f'delay = "{self.delay_ms} ms"\n'
            f'queue = {{ discipline = "droptail", limit = "{limit}" }}\n{more}'
        )


def _quoted(text: str) -> str:
    return f'"{text}"'


def plants(seed: int) -> Iterator[Plant]:
    """Yield every plant with what a seed draws."""
    for http_version in ("2", "3"):
        draw = random.Random(f"{seed} {http_version}")  # noqa: S311 - it draws networks
        for name in PLANTS:
            made = _plant(name, http_version, seed, _drawn(draw))
            if made:
                yield made


def _drawn(draw: random.Random) -> _Draw:
    return _Draw(draw.randint(15, 40), draw.randint(15, 45), draw.randint(1500, 3000))


Parts = dict[str, Any]
"""What differs from a plain download: the link's keys, programs, knobs, size."""


def _plant(name: str, version: str, seed: int, draw: _Draw) -> Plant | None:
    """Return a plant; None if it does not exist over this version."""
    quic = version == "3"
    expected, described = PLANTS[name]
    own = described(draw, quic)
    if own is None:
        return None
    # Over QUIC nginx would be held by its own buffer, whatever else is planted.
    plain = {"server": "caddy" if quic else "nginx", "size": f"{draw.size_kb} kB"}
    parts = {"link": draw.link(), **plain, **own}
    return Plant(name, version, expected, _text(name, version, seed, parts))


def _receivers_window(draw: _Draw, quic: bool) -> Parts:
    link = draw.wider().link()
    if not quic:
        return {"link": link, "client": "h2load", "on_client": "window_bits = '16'"}
    knobs = ("max_data", "max_stream_data", "max_window", "max_stream_window")
    on_client = ", ".join(f"{knob} = '65536'" for knob in knobs)
    return {"link": link, "client": "gtlsclient", "on_client": on_client}


def _stream_buffer(draw: _Draw, quic: bool) -> Parts | None:
    if not quic:
        return None
    on_server = "http3_stream_buffer_size = '48k'"
    return {"link": draw.wider().link(), "server": "nginx", "on_server": on_server}


def _slow_start(draw: _Draw, quic: bool) -> Parts:
    del quic
    far = _Draw(draw.rate_mbit * 5, draw.delay_ms + 30, 0)
    return {"link": far.link(), "size": f"{draw.size_kb // 8} kB"}


def _loss(draw: _Draw, quic: bool) -> Parts:
    return {"link": draw.link('loss = "4 %"\n'), **_reno(quic=quic)}


def _short_queue(draw: _Draw, quic: bool) -> Parts:
    return {"link": draw.wider().link(queue="8 packets"), **_reno(quic=quic)}


def _reno(*, quic: bool) -> Parts:
    """Return the control of a TCP sender; Caddy's is New Reno."""
    return {} if quic else {"more_server": 'congestion_control = "reno"'}


def _policer(draw: _Draw, quic: bool) -> Parts:
    del quic
    policing = f'policing = {{ rate = "{draw.rate_mbit // 4} Mbit/s", burst = "20 kB" }}'
    return {"link": draw.link(f"down = {{ {policing} }}\n")}


def _slow_link(draw: _Draw, quic: bool) -> Parts:
    del quic
    return {"link": _Draw(2, draw.delay_ms, 0).link(), "size": "800 kB"}


def _bloated_queue(draw: _Draw, quic: bool) -> Parts:
    del quic
    return {"link": _Draw(4, draw.delay_ms, 0).link(queue="5000 packets")}


def _rate_step(draw: _Draw, quic: bool) -> Parts:
    del quic
    steps = f'{{ steps = [["0 s", "{draw.rate_mbit} Mbit/s"], ["0.5 s", "1 Mbit/s"]] }}'
    return {"link": draw.link(rate=steps)}


def _lost_tail(draw: _Draw, quic: bool) -> Parts:
    del quic
    lost = "down = { loss = { packets = [29, 30, 31, 32, 33, 34, 35, 36] } }\n"
    return {"link": draw.link(lost), "size": "30 kB"}


def _slow_server(draw: _Draw, quic: bool) -> Parts:
    del draw, quic
    return {"server": SLOW, "size": "600 kB"}


def _competitor(draw: _Draw, quic: bool) -> Parts:
    del draw, quic
    return {"competes": True}


PLANTS: dict[str, tuple[frozenset[str], Callable[[_Draw, bool], Parts | None]]] = {
    "receiver's window": (WINDOW, _receivers_window),
    "stream buffer": (WINDOW, _stream_buffer),
    "slow start": (frozenset({"slow start"}), _slow_start),
    "loss": (LOSS, _loss),
    "short queue": (LOSS, _short_queue),
    "policer": (LOSS, _policer),
    "slow link": (frozenset({"link"}), _slow_link),
    "bloated queue": (frozenset({"link"}), _bloated_queue),
    "rate step": (frozenset({"link"}), _rate_step),
    "lost tail": (frozenset({"timeout"}), _lost_tail),
    "slow server": (frozenset({"server"}), _slow_server),
    "competitor": (frozenset({"others on the link"}), _competitor),
}
"""By name: the causes, any of which is right, and what is planted."""


def _text(name: str, version: str, seed: int, parts: Parts) -> str:
    on_client, on_server = parts.get("on_client", ""), parts.get("on_server", "")
    knobs = {"client": on_client, "server": on_server}
    words = {part: f"knobs = {{ {text} }}" if text else "" for part, text in knobs.items()}
    label = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    return f"""\
schema = 1
name = "planted-{label}-{version}-{seed}"
question = "Is the planted cause found?"
replicates = 1
seed = {TRIAL_SEEDS + seed}
clock = "virtual"
time_limit = "120 s"

{_topology(parts)}
[roles.client]
implementation = "{parts.get("client", "curl")}"
http_version = "{version}"
{words["client"]}

[roles.server]
implementation = "{parts["server"]}"
{parts.get("more_server", "")}
{words["server"]}

[workload]
kind = "download"
size = "{parts["size"]}"
{COMPETITOR if parts.get("competes") else ""}"""


COMPETITOR = """
[[competitors]]
client = { implementation = "curl", http_version = "1.1", host = "other" }
server = { implementation = "nginx", congestion_control = "cubic", host = "source" }
workload = { kind = "download", size = "30 MB", files = 4, connections = 4 }
"""


def _topology(parts: Parts) -> str:
    if not parts.get("competes"):
        return f"""\
[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
{parts["link"]}"""
    ends = (("client", "left"), ("other", "left"), ("right", "server"), ("right", "source"))
    access = "".join(f'\n[[topology.links]]\nbetween = ["{a}", "{b}"]\n' for a, b in ends)
    return f"""\
[topology]
hosts = ["client", "other", "left", "right", "server", "source"]
{access}
[[topology.links]]
between = ["left", "right"]
{parts["link"]}"""
