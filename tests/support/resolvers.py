"""A machine with a resolver of its own: namespaces with an address, a route and a resolv.conf.

Run as a program, it serves DNS at the addresses in ``$RESOLVERS`` and runs its arguments.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

KNOWN = "192.0.2.77"
"""The address of every name."""
LOOKUP = """
import socket, sys
try:
    print(socket.getaddrinfo("name.test", 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
except OSError as error:
    print(error)
"""
_PORT = 53
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--net")
_MACHINE = """
ip link set lo up
ip link add eth0 type veth peer name eth1
ip link set eth1 up
ip address add 192.0.2.9/24 dev eth0
ip address add 2001:db8::9/64 dev eth0 nodad
ip link set eth0 up
ip route add default via 192.0.2.1
mount -t overlay etc -o "lowerdir=/etc,upperdir=$ETC,workdir=$ETC.work,userxattr" /etc
exec "$@"
"""


def on_machine(
    folder: Path, resolv_conf: str | Path, *addresses: str
) -> tuple[list[str], dict[str, str]]:
    """Return the words before a command, and its environment, that make it run on such a machine.

    A path as ``resolv_conf`` is what a symbolic link leads to. ``addresses`` are the resolvers'.
    """
    etc = folder / "etc"
    (folder / "etc.work").mkdir(parents=True)
    etc.mkdir()
    place = etc / "resolv.conf"
    if isinstance(resolv_conf, Path):
        place.symlink_to(resolv_conf)
    else:
        place.write_text(resolv_conf)
    words = [*_UNSHARE, "sh", "-euc", _MACHINE, "-"]
    environment = {**os.environ, "ETC": str(etc), "RESOLVERS": " ".join(addresses)}
    return [*words, sys.executable, __file__], environment


def _answer(query: bytes) -> bytes:
    """Answer a query of one A record (RFC 1035, section 4.1), and any other with no record."""
    end = query.index(b"\0", 12) + 5
    is_address = query[end - 4 : end] == b"\0\1\0\1"
    header = query[:2] + struct.pack("!HHHHH", 0x8180, 1, is_address, 0, 0)
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(KNOWN)
    return header + query[12:end] + (record if is_address else b"")


def _serve(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind((address, _PORT))
    streams = socket.create_server((address, _PORT), family=family)
    threading.Thread(target=_serve_datagrams, args=[datagrams], daemon=True).start()
    threading.Thread(target=_serve_streams, args=[streams], daemon=True).start()


def _serve_datagrams(server: socket.socket) -> None:
    while True:
        query, client = server.recvfrom(4096)
        server.sendto(_answer(query), client)


def _serve_streams(server: socket.socket) -> None:
    while True:
        with server.accept()[0] as client, client.makefile("rwb") as stream:
            while length := stream.read(2):
                answer = _answer(stream.read(*struct.unpack("!H", length)))
                stream.write(struct.pack("!H", len(answer)) + answer)
                stream.flush()


if __name__ == "__main__":
    for each in os.environ["RESOLVERS"].split():
        _serve(each)
    sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
