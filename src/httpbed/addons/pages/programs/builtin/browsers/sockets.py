"""Lists a browser's connections and has them ended; its tickets and caches stay.

Linux can destroy another process's socket, TCP or UDP (sock_diag(7), SOCK_DESTROY). The browser
then finds the socket broken, as after a change of network, and opens another one when needed. That
takes CAP_NET_ADMIN, which no program under test has. So the driver lists the connections of the
browser's own processes, which takes no right, and asks httpbed to end them: it writes their local
ports to a file and waits for the answering file (``addons/pages/page_run``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator
from pathlib import Path

TABLES = Path("/proc/net")
CONNECTED = "01"
"""The state of connected sockets in these tables, UDP's as well (proc_net_tcp)."""
ANSWER_S = 5.0
LOOK_S = 0.005


def local_ports(transport: str, port: int, pids: Collection[int]) -> list[int]:
    """List the local ports of these processes' connections to a port.

    ``transport`` is ``tcp`` or ``udp``.
    """
    mine = set(_inodes(pids))
    return sorted(
        {
            local
            for name in (transport, f"{transport}6")
            for local, remote, inode in _connected(TABLES / name)
            if inode in mine and remote == port
        }
    )


def have_ended(folder: Path, number: int, transport: str, ports: Collection[int]) -> bool:
    """Ask httpbed to end connections; return whether it answered. ``number`` counts the calls."""
    scratch, answer = folder / ".disconnect", folder / f"disconnected-{number}"
    scratch.write_text(json.dumps({"transport": transport, "ports": list(ports)}))
    scratch.rename(folder / f"disconnect-{number}.json")
    until = time.monotonic() + ANSWER_S
    while not answer.exists() and time.monotonic() < until:
        time.sleep(LOOK_S)
    return answer.exists()


def _inodes(pids: Collection[int]) -> Iterator[str]:
    """Yield the inodes of the sockets that processes hold."""
    for pid in pids:
        for entry in _descriptors(pid):
            try:
                link = str(entry.readlink())
            except OSError:  # closed meanwhile
                continue
            if link.startswith("socket:["):
                yield link[8:-1]


def _descriptors(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # the process has ended meanwhile
        return []


def _connected(table: Path) -> Iterator[tuple[int, int, str]]:
    """Yield local port, remote port and inode of each connected socket in a table."""
    try:
        _, *lines = table.read_text().splitlines()
    except FileNotFoundError:  # a kernel without IPv6
        return
    for line in lines:
        _, local, remote, state, _, _, _, _, _, inode, *_ = line.split()
        if state == CONNECTED:
            yield _port(local), _port(remote), inode


def _port(address: str) -> int:
    """Return the port of an address, which both are hexadecimal."""
    return int(address.rpartition(":")[2], 16)
