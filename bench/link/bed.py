"""Two hosts, and between them the namespace in which an emulator stands.

::

    client                    the emulator's network                   server
    eth0 ── veth ── l0a ── emulator, bridge or nothing yet ── l0b ── veth ── eth0

Every measurement gets namespaces of its own. Each is held by a ``cat`` that ends with its
standard input, so nothing outlives the measurement, and nothing the benchmark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MTU_BYTES = 1500
ETHERNET_HEADER_BYTES = 14
PATIENCE_S = 20.0
REALTIME_PRIORITY = 10
TRAFFIC = Path(__file__).with_name("traffic.py")

LISTENING = "0A"
"""State of a TCP socket in /proc/net/tcp (include/net/tcp_states.h)."""


class MeasurementError(Exception):
    """A measurement could not be made; the table says why."""


@dataclass(frozen=True)
class Host:
    """A network namespace, known by a process in it."""

    pid: int

    def inside(self, *argv: str) -> list[str]:
        """Return the command that runs ``argv`` in it."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *argv]

    def run(self, *argv: str, text: str | None = None) -> str:
        """Run a command to its end and return what it printed.

        Raises:
            MeasurementError: With its last words, when it fails.
        """
        done = subprocess.run(
            self.inside(*argv), check=False, capture_output=True, text=True, input=text
        )
        if done.returncode:
            said = (done.stderr + done.stdout).strip().splitlines() or ["no reason given"]
            raise MeasurementError(f"{argv[0]}: {said[-1][:200]}")
        return done.stdout

    def ip(self, *lines: str) -> None:
        """Carry out lines of ``ip``."""
        self.run("ip", "-batch", "-", text="".join(f"{line}\n" for line in lines))

    def interfaces(self) -> list[str]:
        """Names of a host's ends, link by link: the kernel lists them as they were made."""
        names = [name for name in self.counters() if name != "lo"]
        return sorted(names, key=lambda name: (len(name), name))

    def counters(self) -> dict[str, Received]:
        """What every interface has received."""
        lines = Path(f"/proc/{self.pid}/net/dev").read_text().splitlines()[2:]
        split = (line.replace(":", " ").split() for line in lines)
        return {words[0]: Received(int(words[1]), int(words[2])) for words in split}

    def without_offloads(self) -> None:
        """Make frames those of the wire; this also leaves checksums to nobody else."""
        for name in self.interfaces():
            self.run("ethtool", "-K", name, "tx", "off", "gro", "off")


@dataclass(frozen=True)
class Received:
    """What an interface has received."""

    frame_bytes: int
    packets: int

    @property
    def ip_bytes(self) -> int:
        """Bytes of IP packets, each of which came behind an Ethernet header."""
        return self.frame_bytes - ETHERNET_HEADER_BYTES * self.packets


@dataclass(frozen=True)
class Wire:
    """Two hosts and what joins them, ready for traffic."""

    client: Host
    server: Host
    addresses: Sequence[tuple[str, str]]
    """Of every link: the client's and the server's."""
    pid: int | None = None
    """The emulator's process, if there is one."""
    emulator: subprocess.Popen[str] | None = None
    """The process that hears commands, if it hears any."""

    def received(self, host: Host) -> list[Received]:
        """What the interfaces of one of the hosts have received, link by link."""
        found = host.counters()
        return [found[name] for name in host.interfaces()]

    def ip_bytes(self, host: Host) -> int:
        """IP bytes that a host has received over all links."""
        return sum(each.ip_bytes for each in self.received(host))

    def cpu_s(self) -> float:
        """CPU time that the emulator's process has used, in seconds; 0 where there is none."""
        # A process's CPU clock: CPUCLOCK_SCHED of its PID, see clock_getcpuclockid(3).
        return time.clock_gettime((~self.pid << 3) | 2) if self.pid else 0.0

    def memory_bytes(self, what: str = "VmRSS") -> int:
        """Resident memory of the emulator's process (``VmHWM``: at its largest)."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition(f"{what}:")[2].split()[0]) * 1024

    def promote(self) -> bool:
        """Give every thread of the emulator SCHED_FIFO; return whether the kernel permitted it."""
        try:
            for task in Path(f"/proc/{self.pid}/task").iterdir():
                parameters = os.sched_param(REALTIME_PRIORITY)
                os.sched_setscheduler(int(task.name), os.SCHED_FIFO, parameters)
        except PermissionError:
            return False
        return True


@contextmanager
def namespace() -> Iterator[Host]:
    """Make a network namespace without IPv6, whose announcements would be traffic."""
    settings = (
        "for each in all default; do"
        " echo 1 > /proc/sys/net/ipv6/conf/$each/disable_ipv6; done 2>/dev/null;"
        " echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save; ip link set dev lo up;"
        " echo made; exec cat"
    )
    with started(["unshare", "--net", "sh", "-c", settings]) as keeper:
        expect(keeper, "made")
        yield Host(keeper.pid)


@contextmanager
def hosts(links: int = 1) -> Iterator[tuple[Host, Host, Host]]:
    """Make client, emulator's network and server, and on them both ends of every link."""
    with namespace() as client, namespace() as middle, namespace() as server:
        for side, host in ((0, client), (1, server)):
            middle.ip(*(line for link in range(links) for line in _pair(link, side, host)))
            host.ip(*(line for link in range(links) for line in addressing(link, side)))
            host.without_offloads()
        yield client, middle, server


def addresses(links: int) -> list[tuple[str, str]]:
    """Addresses of both ends of every link (RFC 1918)."""
    return [(f"10.77.{link}.1", f"10.77.{link}.2") for link in range(links)]


def interfaces(link: int) -> list[str]:
    """Names of the emulator's interfaces of a link, towards client and server."""
    return [f"l{link}a", f"l{link}b"]


def addressing(link: int, side: int) -> list[str]:
    """Write the lines of ``ip`` that give a host its end of a link."""
    own, far = addresses(link + 1)[link][:: 1 - 2 * side]
    device = f"dev eth{link}"
    known = f"neighbour add {far} lladdr {mac(link, 1 - side)} {device} nud permanent"
    return [
        f"link set {device} up",
        f"address add {own}/24 {device}",
        known,
        f"route replace 10.77.{link}.0/24 {device} src {own} congctl cubic",
    ]


def _pair(link: int, side: int, host: Host) -> list[str]:
    near = interfaces(link)[side]
    far = f"name eth{link} mtu {MTU_BYTES} address {mac(link, side)} netns {host.pid}"
    return [
        f"link add name {near} mtu {MTU_BYTES} type veth peer {far}",
        f"link set dev {near} up",
    ]


def mac(link: int, side: int) -> str:
    """Return the locally administered address of a host's end of a link."""
    return f"02:00:00:00:{link:02x}:{side + 1:02x}"


@contextmanager
def started(argv: Sequence[str], *, quiet: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Start a program that ends with its standard input, and see to it that it does."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        text=True,
    )
    try:
        yield process
    finally:
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


def expect(process: subprocess.Popen[str], word: str) -> str:
    """Wait for the line of a program that holds ``word``, and return it.

    Raises:
        MeasurementError: It said something else, or ended.
    """
    line = process.stdout.readline().strip() if process.stdout else ""
    if word not in line:
        raise MeasurementError(_message(line) or f"it ended before it said {word!r}")
    return line


def _message(line: str) -> str:
    """Return the words of an error, which httpbed-link puts into a JSON object."""
    try:
        said = json.loads(line)["message"]
    except (ValueError, KeyError, TypeError):
        said = line
    return str(said)[:300]


@contextmanager
def traffic(host: Host, role: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Play a role of ``traffic.py`` on a host while the context lasts."""
    argv = [sys.executable, str(TRAFFIC), role, *map(str, arguments)]
    with started(host.inside(*argv)) as process:
        expect(process, "ready")
        yield process


def numbers(process: subprocess.Popen[str]) -> list[int]:
    """End a role and return the numbers that it prints last, a JSON list.

    Raises:
        MeasurementError: It printed none.
    """
    if process.stdin:
        process.stdin.close()
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise MeasurementError("the traffic program ended without a result")
    found: Any = json.loads(line)
    return [int(number) for number in found]


def await_port(host: Host, port: int) -> None:
    """Wait until a TCP port is listened on.

    Raises:
        MeasurementError: Nobody listens in time.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for family in ("tcp", "tcp6"):
            table = Path(f"/proc/{host.pid}/net/{family}")
            lines = table.read_text().splitlines()[1:] if table.exists() else []
            fields = (line.split() for line in lines)
            if any(f[1].endswith(f":{port:04X}") and f[3] == LISTENING for f in fields):
                return
        time.sleep(0.005)
    raise MeasurementError(f"nobody listens on TCP port {port}")


def awaited(process: subprocess.Popen[str], word: str) -> str:
    """Wait for the first line of a program that begins with ``word``, and return it.

    Raises:
        MeasurementError: It ended before.
    """
    for line in process.stdout or ():
        if line.startswith(word):
            return line.strip()
    raise MeasurementError(f"it ended before it said {word!r}")


def pause(seconds: float) -> None:
    """Let what is under way arrive."""
    time.sleep(seconds)
