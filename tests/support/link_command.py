"""``httpbed link`` around a command, on a terminal, or with a server."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import process_tree

LINK = (sys.executable, "-c", "from httpbed.cli.main import main; main()", "link")
PATIENCE_S = 60.0

# Prints the round-trip times of some echoes in seconds; no ping need be installed.
PING = """
import os, socket, struct, sys, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
peer.settimeout(5)
peer.connect((os.environ["HTTPBED_PEER"], 0))
for number in range(int(sys.argv[1])):
    began = time.perf_counter()
    peer.send(struct.pack("!BBHHH", 8, 0, 0, 0, number))
    peer.recv(100)
    os.write(1, f"{time.perf_counter() - began}\\n".encode())  # whole lines, whoever else writes
"""
# Sends datagrams to the far end's discard service, too slowly to be lost on the way.
SEND = """
import os, socket, sys, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[1])):
    peer.sendto(b"x" * 100, (os.environ["HTTPBED_PEER"], 9))
    time.sleep(0.0002)
"""
# Prints the answer of a server, or the reason for which there is none.
ASK = """
import os, socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as server:
        print(server.recv(100).decode())
except OSError as error:
    print(error.errno)
"""


def python(program: str, *words: object) -> tuple[str, ...]:
    """Return a command that runs a Python program."""
    return (sys.executable, "-c", program, *map(str, words))


def link(*words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the verb and wait for its end."""
    settings = {"stdin": subprocess.DEVNULL, **settings}
    return subprocess.run(
        [*LINK, *words], check=False, capture_output=True, text=True, timeout=PATIENCE_S, **settings
    )


def round_trips(*options: str) -> list[float]:
    """Return the round-trip times of pings to $HTTPBED_PEER over a link with these options."""
    ended = link(*options, *python(PING, 3))
    assert ended.returncode == 0, ended.stderr
    return [float(line) for line in ended.stdout.split()]


def counted(*words: str | Path) -> dict[str, Any]:
    """Run the verb and return its counters."""
    ended = link("--json", *words)
    counters: dict[str, Any] = json.loads(ended.stderr.splitlines()[-1])
    return counters


@contextlib.contextmanager
def server() -> Iterator[int]:
    """Serve a greeting on a port of this machine's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE_S)

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listening.accept()[0] as guest:
                        guest.sendall(b"welcome")

        greeting = threading.Thread(target=greet)
        greeting.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        greeting.join()


@dataclass
class Terminal:
    """A terminal with the verb in the foreground."""

    fd: int
    process: subprocess.Popen[bytes]
    seen: bytes = b""

    def see(self, text: bytes) -> None:
        """Wait until the terminal shows this text after the text of the last wait."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))
            with contextlib.suppress(OSError):  # EIO: no process has it open any more
                if ready and (more := os.read(self.fd, 4096)):
                    self.seen += more
                    continue
            pytest.fail(f"{text!r} never came: {self.seen!r}")
        self.seen = self.seen.partition(text)[2]

    def type(self, text: bytes) -> None:
        """Press keys."""
        os.write(self.fd, text)


@contextlib.contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    """Run the verb on a terminal of its own."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*LINK, *words],
        preexec_fn=lambda: os.login_tty(theirs),  # noqa: PLW1509 - one thread is here
        env={**os.environ, "PS1": "ready> ", "TERM": "dumb"},
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def family(pid: int) -> dict[str, int]:
    """Return the descendants of a process by name; of two with one name, the outer one."""
    found: dict[str, int] = {}
    for process in process_tree.descendants(pid):
        found.setdefault(process.name, process.pid)
    return found
