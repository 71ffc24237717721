"""What can join the two hosts: httpbed-link, its peers, and the kernel's own means as bounds."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.link import bed
from bench.link.bed import ETHERNET_HEADER_BYTES, MTU_BYTES, MeasurementError, Wire

from httpbed.bed.network.emulator import SPIN_US as BED_SPIN_US

SPIN_US = BED_SPIN_US
"""As in a trial."""
SCRATCH = Path("/run/httpbed-bench")
"""Below a private tmpfs; see `__main__`."""
TBF_BURST_MS = 1.0
"""The kernel's guidance is a burst of at least a timer tick's worth; high-resolution timers wake
tbf, so a millisecond's worth is enough and no less is of use at 1 Gbit/s."""


@dataclass(frozen=True)
class Conditions:
    """What a link does to packets, the same in both directions but for loss."""

    rate_bit_s: int | None = None
    """Counted in bytes of IP packets."""
    delay_ms: int = 0
    loss: float = 0.0
    """Probability, from client to server only."""
    queue_packets: int = 1000
    key: int = 1
    """Of the random stream behind the losses, where the emulator lets it be chosen."""


class Emulator(Protocol):
    """Something that joins the two hosts."""

    @property
    def name(self) -> str:
        """What the table calls it."""

    def missing(self) -> str | None:
        """Say why it cannot be measured here, or None."""

    def wire(self, asked: Conditions, links: int = 1) -> AbstractContextManager[Wire]:
        """Join two fresh hosts while the context lasts."""


@dataclass(frozen=True)
class Link:
    """httpbed-link."""

    executable: Path
    backend: str = "af_packet"

    @property
    def name(self) -> str:
        """What the table calls it."""
        return "httpbed-link" if self.backend == "af_packet" else f"httpbed-link, {self.backend}"

    def missing(self) -> str | None:
        """Try the smallest network; only then it is known what this build can."""
        if self.backend != "af_packet" and schema(self.executable) == 1:
            return "this build knows no backend but AF_PACKET"
        try:
            with self.wire(Conditions()):
                return None
        except (MeasurementError, OSError) as error:
            return f"refused: {error}"

    @contextmanager
    def wire(self, asked: Conditions, links: int = 1) -> Iterator[Wire]:
        """Join two fresh hosts while the context lasts."""
        arrange = self._tuns if self.backend == "tun" else self._veths
        with arrange(asked, links) as wire:
            yield wire

    @contextmanager
    def ground(self) -> Iterator[bed.Host]:
        """Make all that is there before the emulator of one link starts; yield where it does."""
        if self.backend == "tun":
            with bed.namespace() as middle:
                yield middle
        else:
            with bed.hosts() as (_, middle, _):
                yield middle

    def command(self, asked: Conditions, links: int) -> list[str]:
        """Write the configuration; return the command that reads it."""
        SCRATCH.mkdir(exist_ok=True)
        path = SCRATCH / f"link-{links}.json"
        version = schema(self.executable)
        path.write_text(json.dumps(emulator_config(asked, links, version, self.backend)))
        return [str(self.executable), str(path)]

    @contextmanager
    def _veths(self, asked: Conditions, links: int) -> Iterator[Wire]:
        with (
            bed.hosts(links) as (client, middle, server),
            self._running(middle, asked, links) as process,
        ):
            yield Wire(client, server, bed.addresses(links), process.pid, process)

    @contextmanager
    def _tuns(self, asked: Conditions, links: int) -> Iterator[Wire]:
        """The emulator makes the devices; they are then handed to the hosts."""
        with (
            bed.namespace() as client,
            bed.namespace() as middle,
            bed.namespace() as server,
            self._running(middle, asked, links) as process,
        ):
            for side, host in ((0, client), (1, server)):
                for link in range(links):
                    device = f"dev {bed.interfaces(link)[side]}"
                    middle.ip(f"link set {device} netns {host.pid} name eth{link}")
                    host.ip(f"link set dev eth{link} address {bed.mac(link, side)}")
                    host.ip(*bed.addressing(link, side))
                host.without_offloads()
            yield Wire(client, server, bed.addresses(links), process.pid, process)

    @contextmanager
    def _running(
        self, middle: bed.Host, asked: Conditions, links: int
    ) -> Iterator[subprocess.Popen[str]]:
        with bed.started(middle.inside(*self.command(asked, links))) as process:
            bed.expect(process, '"ready"')
            yield process


_SCHEMAS: dict[Path, int] = {}


def schema(executable: Path) -> int:
    """Ask an httpbed-link which configuration it reads: the newest that it does not refuse."""
    if executable not in _SCHEMAS:
        SCRATCH.mkdir(exist_ok=True)
        path = SCRATCH / "empty.json"
        path.write_text(json.dumps({**emulator_config(Conditions(), 0, 2, "af_packet")}))
        words = [str(executable), str(path)]
        # Its input must be a pipe, and an ended one ends it.
        done = subprocess.run(words, check=False, capture_output=True, input=b"")
        _SCHEMAS[executable] = 2 if done.returncode == 0 else 1
    return _SCHEMAS[executable]


def emulator_config(asked: Conditions, links: int, version: int, backend: str) -> dict[str, Any]:
    """Write what httpbed-link reads, in either version of its format."""
    forth = _direction(asked, version, lossy=asked.loss > 0)
    back = _direction(asked, version, lossy=False)
    described = [
        {
            "name": f"link{link}",
            "hosts": ["client", "server"],
            "interfaces": bed.interfaces(link),
            "directions": [forth, back],
            **({"schedule": [], "triggers": []} if version > 1 else {}),
        }
        for link in range(links)
    ]
    newer = {"backend": backend, "log": None} if version > 1 else {}
    common = {"schema": version, "mtu": MTU_BYTES, "spin_us": SPIN_US, "pcapng": None}
    return {**common, **newer, "links": described}


def _direction(asked: Conditions, version: int, *, lossy: bool) -> dict[str, Any]:
    loss: Mapping[str, Any] | None = None
    if lossy:
        loss = {"probability": asked.loss, "key": str(asked.key)}
    if version == 1:
        queue = {"packets": asked.queue_packets}
        delay_ns = asked.delay_ms * 10**6
        return {
            "rate_bit_s": asked.rate_bit_s,
            "delay_ns": delay_ns,
            "loss": loss,
            "queue": queue,
        }
    rate = {"model": "constant", "bit_s": asked.rate_bit_s} if asked.rate_bit_s else None
    return {
        "overhead_bytes": 0,
        "loss": {"model": "bernoulli", **loss} if loss else None,
        "rate": rate,
        "queue": {"discipline": "droptail", "limit": {"packets": asked.queue_packets}},
        "delay_ns": asked.delay_ms * 10**6,
    }


@dataclass(frozen=True)
class Rattan:
    """The emulator of the same name; one process is one link.

    Its ``link`` verb makes a host of its own for the command it is given, which is our client;
    the other host is where it is started.
    """

    executable: Path | None
    why: str
    """Why it is missing, if it is."""
    name: str = "rattan"

    def missing(self) -> str | None:
        """Say why it cannot be measured here, or None."""
        if self.executable is None:
            return self.why
        try:
            with self.wire(Conditions()):
                return None
        except (MeasurementError, OSError) as error:
            return f"does not start: {error}"

    @contextmanager
    def wire(self, asked: Conditions, links: int = 1) -> Iterator[Wire]:
        """Join two fresh hosts while the context lasts."""
        if links != 1:
            raise MeasurementError("one process is one link")
        with (
            bed.namespace() as server,
            bed.started(server.inside(*self.command(asked)), quiet=True) as process,
        ):
            # After its warnings, on the same stream, comes our word.
            pid, base = bed.awaited(process, "client ").split()[1:]
            client = bed.Host(int(pid))
            for host in (client, server):
                host.without_offloads()
                _steer(host)
            yield Wire(client, server, [("", base)], process.pid)

    def command(self, asked: Conditions) -> list[str]:
        """Return its command line."""
        keeper = "echo client $$ $RATTAN_BASE; exec cat"
        words = [str(self.executable), "link", *_both_ways(asked)]
        if asked.loss:
            words += ["--uplink-loss", str(asked.loss)]
        return [*words, "--", "sh", "-c", keeper]


def _both_ways(asked: Conditions) -> Iterator[str]:
    for direction in ("uplink", "downlink"):
        if asked.rate_bit_s:
            limit = json.dumps({"packet_limit": asked.queue_packets})
            yield from (f"--{direction}-bandwidth", f"{asked.rate_bit_s}bps")
            yield from (f"--{direction}-queue", "droptail", f"--{direction}-queue-args", limit)
        if asked.delay_ms:
            yield from (f"--{direction}-delay", f"{asked.delay_ms}ms")


def _steer(host: bed.Host) -> None:
    """Give every route of a host the congestion control that all others have."""
    for route in host.run("ip", "route", "show").splitlines():
        host.ip(f"route replace {route.strip()} congctl cubic")


@dataclass(frozen=True)
class Bridge:
    """A bridge of the kernel, with a token bucket filter before each host where a rate is asked."""

    name: str

    def missing(self) -> str | None:
        """Say why it cannot be measured here, or None."""
        try:
            with self.wire(Conditions(rate_bit_s=10**7)):
                return None
        except MeasurementError as error:
            return f"refused: {error}"

    @contextmanager
    def wire(self, asked: Conditions, links: int = 1) -> Iterator[Wire]:
        """Join two fresh hosts while the context lasts."""
        with bed.hosts(links) as (client, middle, server):
            for link in range(links):
                near = bed.interfaces(link)
                middle.ip(
                    f"link add name br{link} type bridge",
                    *(f"link set dev {name} master br{link}" for name in near),
                    f"link set dev br{link} up",
                )
                if asked.rate_bit_s:
                    for name in near:
                        middle.run("tc", *token_bucket(name, asked.rate_bit_s, asked.queue_packets))
            yield Wire(client, server, bed.addresses(links))


def token_bucket(interface: str, rate_bit_s: int, queue_packets: int) -> Sequence[str]:
    """Write the arguments of ``tc`` for a filter with the rate of IP bytes.

    tbf counts frames, so it is asked for more by the Ethernet header of a packet of full size.
    """
    frame_bytes = MTU_BYTES + ETHERNET_HEADER_BYTES
    rate = round(rate_bit_s * frame_bytes / MTU_BYTES)
    burst = max(2 * frame_bytes, round(rate / 8 * TBF_BURST_MS / 1e3))
    words = f"qdisc replace dev {interface} root tbf rate {rate}bit burst {burst}"
    return [*words.split(), "limit", str(queue_packets * frame_bytes)]
