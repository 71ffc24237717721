"""``httpbed link --expose``: the named ports of this machine's loopback, and nothing else."""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay_attack
from httpbed.addons.link import far_end
from link_command import ASK, link, python, server

pytestmark = pytest.mark.namespaces

# Asks a server by datagrams, from two sockets, and prints both answers.
ASK_TWICE = """
import os, socket, sys
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for asking in sockets:
    asking.settimeout(30)
    asking.sendto(b"who am I?", (os.environ["HTTPBED_PEER"], int(sys.argv[1])))
print(*(asking.recv(100).decode() for asking in sockets))
"""
# Prints the reason for which each address and port is not reached, or 0; "" is the far end.
TRY_ALL = """
import os, socket, sys
for address, port in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        socket.create_connection((address or os.environ["HTTPBED_PEER"], int(port)), timeout=5)
    except OSError as error:
        print(error.errno or 110)  # ETIMEDOUT: refusals of routers are limited to one a second
    else:
        print(0)
"""


def asked(port: int) -> tuple[str, ...]:
    """Return a command that prints the greeting of an exposed server."""
    return ("sh", "-c", f'exec "$0" -c "$1" "$HTTPBED_PEER" {port}', sys.executable, ASK)


@contextlib.contextmanager
def datagrams(address: str) -> Iterator[int]:
    """Answer each datagram at a port of this address with the number of its sender's port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as listening:
        listening.bind((address, 0))

        def answer() -> None:
            while (asker := listening.recvfrom(100))[0] != b"end":
                listening.sendto(str(asker[1][1]).encode(), asker[1])

        answering = threading.Thread(target=answer)
        answering.start()
        yield listening.getsockname()[1]
        listening.sendto(b"end", listening.getsockname())
        answering.join()


def test_an_exposed_port_is_reached_over_the_link() -> None:
    """By an ordinary user without /dev/net/tun, too; the connection meets the impairments."""
    with server() as port:
        ended = link("--expose", str(port), "--delay", "20ms", "--json", *asked(port))
    assert ended.stdout == "welcome\n", ended.stderr
    counters = json.loads(ended.stderr.splitlines()[-1])
    assert (counters["outside"], counters["loopback_packets"]) == ("ports", 0)
    handshake = 2  # packets of each side before the greeting is there; an end may be under way
    ways = counters["link"]["directions"]
    assert all(way["packets"]["delivered"] >= handshake for way in ways)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_datagrams_reach_a_server_that_tells_clients_apart(address: str) -> None:
    """As a server of HTTP/3 must; over IPv6, if this machine's server has only that."""
    with datagrams(address) as port:
        ended = link("--expose", str(port), *python(ASK_TWICE, port))
    assert len(set(ended.stdout.split())) == 2, ended.stderr


def test_no_other_port_of_this_machine_is_reached() -> None:
    """Neither at the far end nor at an address of this machine, whatever is exposed."""
    with server() as port, server() as hidden, socket.create_server(("", 0)) as everywhere:
        own = {socket.gethostbyname(socket.gethostname()), "10.79.0.1", "127.0.0.1"}
        places = [
            (address, open_port)
            for address in ("", *sorted(own))
            for open_port in (hidden, everywhere.getsockname()[1])
        ]
        places += [(address, port) for address in own]
        words = [str(word) for place in places for word in place]
        ended = link("--expose", str(port), *python(TRY_ALL, *words))
    refusals = {errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ETIMEDOUT}
    codes = [int(line) for line in ended.stdout.split()]
    assert len(codes) == len(places), ended.stderr
    assert set(codes) <= refusals


def test_a_hostile_command_does_not_take_the_relay() -> None:
    """It is in this machine's network. Root's command has no rights over it either."""
    with server() as port:
        ended = link("--expose", str(port), sys.executable, Path(relay_attack.__file__))
    assert (ended.returncode, json.loads(ended.stdout)) == (0, []), ended.stderr


def test_every_port_without_a_server_is_reported(tmp_path: Path) -> None:
    """The command does not run."""
    closed = []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            closed.append(str(gone.getsockname()[1]))
    words = [word for port in closed for word in ("--expose", port)]
    ended = link(*words, "touch", tmp_path / "ran")
    assert ended.returncode == 2
    said = [line for line in ended.stderr.splitlines() if line.startswith("httpbed: --expose: ")]
    assert [port for port, line in zip(closed, said, strict=True) if port in line] == closed
    assert not (tmp_path / "ran").exists()


def test_what_stays_on_the_loopback_is_said() -> None:
    """With the packets that crossed, before the counters."""
    with server() as port:
        alone = link("--isolated", "--json", *python(ASK, "127.0.0.1", port))
        none = link("--isolated", "true")
    assert int(alone.stdout) == errno.ECONNREFUSED
    *_, sentence, counters = alone.stderr.splitlines()
    assert json.loads(counters)["loopback_packets"] == 2
    assert "no packet crossed the link: 2 packets" in sentence
    assert "no packet crossed the link" in none.stderr
    both = python(TRY_ALL, "127.0.0.1", 1, "", 1)
    assert "2 packets crossed the link, and 2 packets" in link("--isolated", *both).stderr


def test_sockets_are_read_with_their_addresses() -> None:
    """Of both protocols and both versions of IP, but not connected ones."""
    with (
        socket.create_server(("127.0.0.2", 0)) as tcp,
        socket.create_server(("::", 0), family=socket.AF_INET6) as tcp6,
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp6,
        socket.create_connection(tcp.getsockname()) as client,
    ):
        udp6.bind(("::1", 0))
        read = {(each.protocol, str(each.address), each.port) for each in far_end.waiting()}
        expected = {
            ("tcp", "127.0.0.2", tcp.getsockname()[1]),
            ("tcp", "::", tcp6.getsockname()[1]),
            ("udp", "::1", udp6.getsockname()[1]),
        }
        assert expected <= read
        assert client.getsockname()[1] not in {port for _, _, port in read}
