"""Sockets in the network namespace of a host, held by the test."""

from __future__ import annotations

import socket
import subprocess
import sys

from networks import Running

PATIENCE_S = 10.0
_OPEN = """
import socket, sys
way, family, kind = map(int, sys.argv[1:])
with socket.socket(fileno=way) as back, socket.socket(family, kind) as made:
    socket.send_fds(back, [b"1"], [made.fileno()])
"""


def opened(net: Running, host: str, kind: socket.SocketKind) -> socket.socket:
    """Open a socket on a host and receive it; it stays in the network namespace of the host."""
    pid = net.supervisor.init_pid
    places = [f"--user=/proc/{pid}/ns/user", f"--net=/proc/{pid}/root/run/netns/{host}"]
    family = socket.AF_INET6 if net.planned.topology.ip_version == "6" else socket.AF_INET
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = map(str, (theirs.fileno(), int(family), int(kind)))
        subprocess.run(
            ["nsenter", "--preserve-credentials", *places, sys.executable, "-c", _OPEN, *words],
            pass_fds=[theirs.fileno()],
            timeout=20,
            check=True,
        )
        _, (number, *_), *_ = socket.recv_fds(ours, 1, 1)
    made = socket.socket(fileno=number)
    made.settimeout(PATIENCE_S)
    return made
