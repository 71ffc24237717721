"""Has a browser's connections ended, and nothing else of it: its tickets and caches stay.

Linux closes a socket for its owner on request (sock_diag(7), SOCK_DESTROY), TCP and UDP alike; the
program finds it broken, as it would after a change of network, and opens another one when it has
need of it. That takes CAP_NET_ADMIN, which no program under test has. So the driver lists the
connections of the browser's own processes, which takes no right, and asks the bed to end them: it
writes their local ports to a file, and waits for the answering file (``trial/disconnecting.py``).
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Collection, Iterator
from pathlib import Path

SOCK_DIAG = 4
BY_FAMILY = 20
ERROR, DONE = 2, 3
REQUEST, DUMP = 0x1, 0x300
ESTABLISHED = 1 << 1
"""Of the states of inet_diag; a connected UDP socket has it, too."""
ASKED = struct.Struct("=BBBxI48s")
"""``inet_diag_req_v2``: family, protocol, extensions, states, identity."""
TOLD = struct.Struct("=BBBB48sIIIII")
"""``inet_diag_msg``: identity fifth, inode last."""
HEADER = struct.Struct("=IHHII")
ANY = bytes(48)
RECEIVE_BYTES = 2**17
ANSWER_S = 5.0
LOOK_S = 0.005


def local_ports(transport: str, port: int, pids: Collection[int]) -> list[int]:
    """List the local ports of these processes' connections to a port.

    ``transport`` is ``tcp`` or ``udp``.

    Raises:
        OSError: The kernel does not tell.
    """
    protocol = socket.IPPROTO_TCP if transport == "tcp" else socket.IPPROTO_UDP
    mine = set(_inodes(pids))
    found = set[int]()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as diag:
        diag.settimeout(ANSWER_S)
        for family in (socket.AF_INET, socket.AF_INET6):
            for identity, inode in list(_sockets(diag, family, protocol)):
                local, remote = _ports(identity)
                if inode in mine and remote == port:
                    found.add(local)
    return sorted(found)


def have_ended(folder: Path, number: int, transport: str, ports: Collection[int]) -> bool:
    """Ask the bed to end connections, for the ``number``-th time; return whether it answered."""
    scratch, answer = folder / ".disconnect", folder / f"disconnected-{number}"
    scratch.write_text(json.dumps({"transport": transport, "ports": list(ports)}))
    scratch.rename(folder / f"disconnect-{number}.json")
    until = time.monotonic() + ANSWER_S
    while not answer.exists() and time.monotonic() < until:
        time.sleep(LOOK_S)
    return answer.exists()


def _inodes(pids: Collection[int]) -> Iterator[int]:
    """List the sockets that processes hold."""
    for pid in pids:
        for entry in _descriptors(pid):
            try:
                link = str(entry.readlink())
            except OSError:  # it was closed meanwhile
                continue
            if link.startswith("socket:["):
                yield int(link[8:-1])


def _descriptors(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # the process has ended meanwhile
        return []


def _sockets(diag: socket.socket, family: int, protocol: int) -> Iterator[tuple[bytes, int]]:
    """List all connected sockets: what the kernel knows them by, and their inodes."""
    asked = ASKED.pack(family, protocol, 0, ESTABLISHED, ANY)
    for told in _answers(diag, BY_FAMILY, REQUEST | DUMP, asked):
        yield told[4:52], TOLD.unpack_from(told)[-1]


def _ports(identity: bytes) -> tuple[int, int]:
    """Return local and remote port (``inet_diag_sockid``: they are in network byte order)."""
    local, remote = struct.unpack_from("!HH", identity)
    return local, remote


def _answers(diag: socket.socket, kind: int, flags: int, said: bytes) -> Iterator[bytes]:
    """Ask the kernel; yield its messages until it is done."""
    diag.send(HEADER.pack(HEADER.size + len(said), kind, flags, 0, 0) + said)
    while True:
        rest = diag.recv(RECEIVE_BYTES)
        while rest:
            length, about, _, _, _ = HEADER.unpack_from(rest)
            body, rest = rest[HEADER.size : length], rest[(length + 3) & ~3 :]
            if about == DONE:
                return
            if about == ERROR:
                _raise(struct.unpack_from("=i", body)[0])
                return
            yield body


def _raise(error: int) -> None:
    if error:
        raise OSError(-error, f"its connections cannot be listed: {os.strerror(-error)}")
