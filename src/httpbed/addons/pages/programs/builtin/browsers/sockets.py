"""Lists a browser's connections and has them ended; its tickets and caches stay.

Linux can destroy another process's socket, TCP or UDP (sock_diag(7), SOCK_DESTROY). The browser
then finds the socket broken, as after a change of network, and opens another one when needed. That
takes CAP_NET_ADMIN, which no program under test has. So the driver lists the connections of the
browser's own processes, which takes no right, and asks httpbed to end them: it writes their local
ports to a file and waits for the answering file (``addons/pages/page_run``).
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
"""A state of inet_diag, which a connected UDP socket has as well."""
REQUEST_FORM = struct.Struct("=BBBxI48s")
"""``inet_diag_req_v2``: family, protocol, extensions, states, identity."""
MESSAGE_FORM = struct.Struct("=BBBB48sIIIII")
"""``inet_diag_msg``: identity is the fifth field, inode the last."""
HEADER = struct.Struct("=IHHII")
ANY = bytes(48)
RECEIVE_BYTES = 2**17
ANSWER_S = 5.0
LOOK_S = 0.005


def local_ports(transport: str, port: int, pids: Collection[int]) -> list[int]:
    """List the local ports of these processes' connections to a port.

    ``transport`` is ``tcp`` or ``udp``.

    Raises:
        OSError: The kernel does not list them.
    """
    protocol = socket.IPPROTO_TCP if transport == "tcp" else socket.IPPROTO_UDP
    mine = set(_inodes(pids))
    ports = set[int]()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as diag:
        diag.settimeout(ANSWER_S)
        for family in (socket.AF_INET, socket.AF_INET6):
            for identity, inode in list(_sockets(diag, family, protocol)):
                local, remote = _ports(identity)
                if inode in mine and remote == port:
                    ports.add(local)
    return sorted(ports)


def have_ended(folder: Path, number: int, transport: str, ports: Collection[int]) -> bool:
    """Ask httpbed to end connections; return whether it answered. ``number`` counts the calls."""
    scratch, answer = folder / ".disconnect", folder / f"disconnected-{number}"
    scratch.write_text(json.dumps({"transport": transport, "ports": list(ports)}))
    scratch.rename(folder / f"disconnect-{number}.json")
    until = time.monotonic() + ANSWER_S
    while not answer.exists() and time.monotonic() < until:
        time.sleep(LOOK_S)
    return answer.exists()


def _inodes(pids: Collection[int]) -> Iterator[int]:
    """Yield the inodes of the sockets that processes hold."""
    for pid in pids:
        for entry in _descriptors(pid):
            try:
                link = str(entry.readlink())
            except OSError:  # closed meanwhile
                continue
            if link.startswith("socket:["):
                yield int(link[8:-1])


def _descriptors(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # the process has ended meanwhile
        return []


def _sockets(diag: socket.socket, family: int, protocol: int) -> Iterator[tuple[bytes, int]]:
    """Yield identity and inode of all connected sockets."""
    request = REQUEST_FORM.pack(family, protocol, 0, ESTABLISHED, ANY)
    for message in _answers(diag, BY_FAMILY, REQUEST | DUMP, request):
        yield message[4:52], MESSAGE_FORM.unpack_from(message)[-1]


def _ports(identity: bytes) -> tuple[int, int]:
    """Return local and remote port of an ``inet_diag_sockid``, which are in network byte order."""
    local, remote = struct.unpack_from("!HH", identity)
    return local, remote


def _answers(diag: socket.socket, kind: int, flags: int, request: bytes) -> Iterator[bytes]:
    """Send a request to the kernel; yield its messages."""
    diag.send(HEADER.pack(HEADER.size + len(request), kind, flags, 0, 0) + request)
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
        raise OSError(-error, f"the connections cannot be listed: {os.strerror(-error)}")
