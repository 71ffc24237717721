"""Planted causes: an experiment for each, and what the division has to find.

The seed draws rate, delay and size of each trial, so that a rule that fits one network only fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpbed.programs as recipe_package

LOSS = frozenset({"congestion window", "recovery", "timeout"})
WINDOW = frozenset({"fixed window", "receiver's window"})
VERSIONS = ("1.1", "2", "3")
TRIAL_SEEDS = 100_000
SLOW_SERVER, SLOW_CLIENT = "slow-nginx", "slow-curl"
SMALL_BUFFER, PACED = "small-buffer-nginx", "paced-nginx"
PACED_BYTES_S = 250_000


def recipes() -> dict[str, str]:
    """Return the recipe files of programs that have a planted cause, by file name."""
    nginx = (RECIPES / "nginx.toml").read_text()
    curl = (RECIPES / "curl.toml").read_text()
    root = 'values.GET = "root {content};'
    slow = nginx.replace(root, f"{root} limit_rate 150k;")
    small = nginx.replace("listen {listen}{port} ssl;", "listen {listen}{port} ssl sndbuf=16k;")
    paced = nginx.replace('packages = ["nginx"]', 'packages = ["nginx", "perl-base"]')
    paced = paced.replace(
        'argv = ["nginx", "-e",', f'argv = ["perl", "-e", {PACING!r}, "nginx", "-e",'
    )
    slowly = curl.replace('"--silent", "--show-error",', '"--silent", "--limit-rate", "150K",')
    changed = {SLOW_SERVER: slow, SMALL_BUFFER: small, PACED: paced}
    texts = {
        name: text.replace('name = "nginx"', f'name = "{name}"', 1)
        for name, text in changed.items()
    }
    texts[SLOW_CLIENT] = slowly.replace('name = "curl"', f'name = "{SLOW_CLIENT}"', 1)
    return {f"{name}.toml": text for name, text in texts.items()}


RECIPES = Path(recipe_package.__file__).parent / "recipes"
PACING = (
    "use Socket; $^F = 20; socket(S, PF_INET, SOCK_STREAM, 0);"
    " setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1);"
    f' setsockopt(S, 1, 47, pack("L", {PACED_BYTES_S}));'
    " bind(S, sockaddr_in(443, INADDR_ANY)); listen(S, 511);"
    ' $ENV{{NGINX}} = fileno(S) . ";"; exec @ARGV'
)
"""Listens with SO_MAX_PACING_RATE (47), which accepted sockets inherit, as nginx inherits this."""


@dataclass(frozen=True)
class Plant:
    """A cause, planted in a transfer over one HTTP version."""

    cause: str
    http_version: str
    seed: int
    expected: frozenset[str]
    text: str
    """The experiment file."""
    twin: str
    """The same without the planted cause; empty: it cannot be taken away alone."""
    is_twin: bool = False

    @property
    def label(self) -> str:
        """Its name in file names."""
        cause = "".join(letter if letter.isalnum() else "-" for letter in self.cause)
        return f"{cause}-{self.http_version}-{self.seed}{'-twin' if self.is_twin else ''}"

    def of_twin(self) -> Plant:
        """Return the same trial without the planted cause."""
        return replace(self, text=self.twin, is_twin=True)


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
    for http_version in VERSIONS:
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
    expected, described = PLANTS[name]
    own = described(draw, version)
    if own is None:
        return None
    # Over QUIC nginx would be held by its own buffer, whatever else is planted.
    server = "caddy" if version == "3" else "nginx"
    plain = {"link": draw.link(), "server": server, "size": f"{draw.size_kb} kB"}
    without = own.pop("without", None)
    text = _text(name, version, seed, {**plain, **own})
    twin = "" if without is None else _text(name, version, seed, {**plain, **own, **without})
    return Plant(name, version, seed, expected, text, twin)


def _receivers_window(draw: _Draw, version: str) -> Parts | None:
    link = draw.wider().link()
    without = {"on_client": ""}
    if version == "1.1":
        return None  # no client here sets the buffer of its socket
    if version == "2":
        on_client = "window_bits = '16'"
        return {"link": link, "client": "h2load", "on_client": on_client, "without": without}
    knobs = ("max_data", "max_stream_data", "max_window", "max_stream_window")
    on_client = ", ".join(f"{knob} = '65536'" for knob in knobs)
    return {"link": link, "client": "gtlsclient", "on_client": on_client, "without": without}


def _senders_buffer(draw: _Draw, version: str) -> Parts:
    link = draw.wider().link()
    if version != "3":
        return {"link": link, "server": SMALL_BUFFER, "without": {"server": "nginx"}}
    small, large = (f"http3_stream_buffer_size = '{size}'" for size in ("48k", "16m"))
    without = {"on_server": large}
    return {"link": link, "server": "nginx", "on_server": small, "without": without}


def _slow_start(draw: _Draw, version: str) -> Parts:
    del version
    far = _Draw(draw.rate_mbit * 5, draw.delay_ms + 30, 0)
    return {"link": far.link(), "size": f"{draw.size_kb // 8} kB"}


def _loss(draw: _Draw, version: str) -> Parts:
    without = {"link": draw.link()}
    return {"link": draw.link('loss = "4 %"\n'), **_reno(version), "without": without}


def _head_of_line(draw: _Draw, version: str) -> Parts | None:
    """Streams of one TCP connection, of which a lost packet holds back all."""
    if version != "2":
        return None
    files = f'size = "{draw.size_kb // 8} kB"\nfiles = 8'
    without = {"link": draw.link()}
    return {
        "link": draw.link('loss = "2 %"\n'),
        "workload": files,
        **_reno(version),
        "without": without,
    }


def _short_queue(draw: _Draw, version: str) -> Parts:
    without = {"link": draw.wider().link()}
    return {"link": draw.wider().link(queue="8 packets"), **_reno(version), "without": without}


def _reno(version: str) -> Parts:
    """Return the control of a TCP sender; Caddy's is New Reno."""
    return {} if version == "3" else {"more_server": 'congestion_control = "reno"'}


def _policer(draw: _Draw, version: str) -> Parts:
    del version
    policing = f'policing = {{ rate = "{draw.rate_mbit // 4} Mbit/s", burst = "20 kB" }}'
    without = {"link": draw.link()}
    return {"link": draw.link(f"down = {{ {policing} }}\n"), "without": without}


def _slow_link(draw: _Draw, version: str) -> Parts:
    del version
    return {"link": _Draw(2, draw.delay_ms, 0).link(), "size": "800 kB"}


def _bloated_queue(draw: _Draw, version: str) -> Parts:
    del version
    return {"link": _Draw(4, draw.delay_ms, 0).link(queue="5000 packets")}


def _rate_step(draw: _Draw, version: str) -> Parts:
    del version
    steps = f'{{ steps = [["0 s", "{draw.rate_mbit} Mbit/s"], ["0.5 s", "1 Mbit/s"]] }}'
    return {"link": draw.link(rate=steps)}


def _lost_tail(draw: _Draw, version: str) -> Parts:
    first = 22 if version == "1.1" else 29  # HTTP/1.1 needs fewer packets
    lost = f"down = {{ loss = {{ packets = {[*range(first, 37)]} }} }}\n"
    return {"link": draw.link(lost), "size": "30 kB", "without": {"link": draw.link()}}


def _slow_server(draw: _Draw, version: str) -> Parts:
    del draw
    without = {"server": "caddy" if version == "3" else "nginx"}
    return {"server": SLOW_SERVER, "size": "600 kB", "without": without}


def _slow_client(draw: _Draw, version: str) -> Parts:
    del draw, version
    return {"client": SLOW_CLIENT, "size": "900 kB", "without": {"client": "curl"}}


def _slow_uplink(draw: _Draw, version: str) -> Parts:
    """Acknowledgements queue on the way back, and the queue drops some of them."""
    del version
    up = f'up = {{ rate = "{2 * draw.rate_mbit} kbit/s" }}\n'
    return {"link": draw.link(up), "without": {"link": draw.link()}}


def _pacing(draw: _Draw, version: str) -> Parts | None:
    del draw
    return None if version == "3" else {"server": PACED, "without": {"server": "nginx"}}


def _competitor(draw: _Draw, version: str) -> Parts:
    del draw, version
    return {"competes": True, "without": {"competes": False}}


def _upstream(draw: _Draw, version: str) -> Parts:
    del version
    slow, fast = _Draw(1, 5, 0).link(), draw.wider().link()
    return {"upstream": slow, "size": f"{draw.size_kb // 6} kB", "without": {"upstream": fast}}


def _proxys_buffer(draw: _Draw, version: str) -> Parts:
    """A proxy's full buffer: it stops reading until its client has acknowledged what it holds.

    The label concerns the hop between client and proxy, the one that is divided. There the buffer
    is a fixed window. On the upstream hop, which no label concerns, it is the receiver's window of
    the server. A slow upstream differs: it leaves the buffer empty, so the client waits for the
    *server*.
    """
    # With a file to read ahead into, the proxy would never stop.
    in_memory = "proxy_max_temp_file_size = '0'"
    own = {"link": draw.wider().link(), "upstream": _Draw(1000, 1, 0).link()}
    if version != "3":
        small = {"proxy": SMALL_BUFFER, "on_proxy": in_memory}
        return {**own, **small, "without": {"proxy": "nginx"}}
    held, free = (f"{in_memory}, http3_stream_buffer_size = '{size}'" for size in ("48k", "16m"))
    return {**own, "on_proxy": held, "without": {"on_proxy": free}}


T_RAT: dict[str, frozenset[str]] = {
    "receiver's window": frozenset({"receiver window", "sender window"}),
    "sender's buffer": frozenset({"sender window"}),
    "slow start": frozenset({"opportunity"}),
    "loss": frozenset({"congestion"}),
    "head-of-line blocking": frozenset({"congestion"}),
    "short queue": frozenset({"congestion", "bandwidth"}),
    "policer": frozenset({"congestion", "bandwidth"}),
    "slow link": frozenset({"bandwidth"}),
    "bloated queue": frozenset({"bandwidth"}),
    "rate step": frozenset({"bandwidth"}),
    "lost tail": frozenset({"congestion"}),
    "slow server": frozenset({"application"}),
    "slow client": frozenset({"receiver window", "application"}),
    "competitor": frozenset({"congestion", "bandwidth"}),
    "proxy's upstream": frozenset({"application"}),
    "proxy's full buffer": frozenset({"sender window"}),
}
"""T-RAT's answers that are right; a plant that is missing has no class in it."""
OF_SENDER = frozenset(
    {"sender's buffer", "slow server", "pacing", "proxy's upstream", "proxy's full buffer"}
)
OF_RECEIVER = frozenset({"receiver's window", "slow client"})


def dapper_expects(cause: str) -> str:
    """Return Dapper's answer that is right."""
    if cause in OF_SENDER:
        return "sender"
    return "receiver" if cause in OF_RECEIVER else "network"


PLANTS: dict[str, tuple[frozenset[str], Callable[[_Draw, str], Parts | None]]] = {
    "receiver's window": (WINDOW, _receivers_window),
    "sender's buffer": (WINDOW, _senders_buffer),
    "slow start": (frozenset({"slow start"}), _slow_start),
    "loss": (LOSS, _loss),
    "short queue": (LOSS, _short_queue),
    "policer": (LOSS, _policer),
    "slow link": (frozenset({"link"}), _slow_link),
    "bloated queue": (frozenset({"link"}), _bloated_queue),
    "rate step": (frozenset({"link"}), _rate_step),
    "lost tail": (frozenset({"timeout"}), _lost_tail),
    "slow server": (frozenset({"server"}), _slow_server),
    "slow client": (frozenset({"client", "receiver's window"}), _slow_client),
    "slow uplink": (frozenset({"late acknowledgements"}), _slow_uplink),
    "pacing": (frozenset({"pacing"}), _pacing),
    "competitor": (frozenset({"others on the link"}), _competitor),
    "proxy's upstream": (frozenset({"server"}), _upstream),
    "head-of-line blocking": (LOSS, _head_of_line),
    "proxy's full buffer": (WINDOW, _proxys_buffer),
}
"""By name: the causes, any of which is right, and what is planted.

A new one goes to the end, so that the seeds draw the same for the others.
"""


def _text(name: str, version: str, seed: int, parts: Parts) -> str:
    knobs = {part: parts.get(f"on_{part}", "") for part in ("client", "proxy", "server")}
    words = {part: f"knobs = {{ {text} }}" if text else "" for part, text in knobs.items()}
    proxy = f'implementation = "{parts.get("proxy", "nginx")}"\n{words["proxy"]}'
    label = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    return f"""\
schema = 1
name = "planted-{label}-{version.replace(".", "-")}-{seed}"
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

{PROXY + proxy if parts.get("upstream") else ""}
[roles.server]
implementation = "{"nginx" if parts.get("upstream") else parts["server"]}"
{parts.get("more_server", "")}
{words["server"]}

[workload]
kind = "download"
{parts.get("workload", f'size = "{parts["size"]}"')}
{COMPETITOR if parts.get("competes") else ""}"""


PROXY = """
[[roles.proxies]]
http_version = "1.1"
"""
COMPETITOR = """
[[competitors]]
client = { implementation = "curl", http_version = "1.1", host = "other" }
server = { implementation = "nginx", congestion_control = "cubic", host = "source" }
workload = { kind = "download", size = "30 MB", files = 4, connections = 4 }
"""


def _topology(parts: Parts) -> str:
    if "upstream" in parts:
        ends, link = [("client", "proxy", parts["link"])], parts["upstream"]
        links = [*ends, ("proxy", "server", link)]
    elif "competes" in parts:
        between = (("client", "left"), ("other", "left"), ("right", "server"), ("right", "source"))
        links = [*((*one, "") for one in between), ("left", "right", parts["link"])]
    else:
        links = [("client", "server", parts["link"])]
    hosts = dict.fromkeys(host for first, second, _ in links for host in (first, second))
    names = ", ".join(f'"{host}"' for host in hosts)
    described = "".join(
        f'\n[[topology.links]]\nbetween = ["{first}", "{second}"]\n{link}'
        for first, second, link in links
    )
    return f"[topology]\nhosts = [{names}]\n{described}\n"
