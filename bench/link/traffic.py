"""What runs on the hosts: ``python traffic.py ROLE ...``; standard library only.

A role says ``ready``, works until its work is done or its standard input ends, and prints its
result as a JSON list. Times are CLOCK_REALTIME in ns, since the kernel stamps arrivals with it;
all namespaces have one clock.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

PORT = 9
"""Of the discard service (RFC 863)."""
LOAD_PORT = 10009
FLOOD_EVERY_S = 0.002
FLOOD_GROUP = 20
CHUNK_BYTES = 1 << 20
SO_TIMESTAMPNS = 35
"""include/uapi/asm-generic/socket.h; Python's socket module does not name it."""
STAMP = struct.Struct("qq")
SENT = struct.Struct("!Q")
ECHO = struct.Struct("!BBHHH48x")
"""ICMP echo (RFC 792): type, code, checksum, identifier, sequence number; 84 bytes with IP."""
ECHO_REQUEST, ECHO_REPLY = 8, 0
LINGER_S = 1.0
"""How long stragglers are awaited."""


def sink() -> None:
    """Discard what TCP brings."""
    looking = selectors.DefaultSelector()
    listener = socket.create_server(("0.0.0.0", PORT), backlog=512)  # noqa: S104 - its own network
    looking.register(listener, selectors.EVENT_READ)
    buffer = bytearray(CHUNK_BYTES)
    _until_input_ends()
    while True:
        for key, _ in looking.select():
            if key.fileobj is listener:
                looking.register(listener.accept()[0], selectors.EVENT_READ)
            elif isinstance(key.fileobj, socket.socket) and not _read(key.fileobj, buffer):
                looking.unregister(key.fileobj)


def _read(connection: socket.socket, buffer: bytearray) -> int:
    try:
        return connection.recv_into(buffer)
    except ConnectionError:
        return 0


def source(*addresses: str) -> None:
    """Send as much as TCP takes to every address, with CUBIC (RFC 9438)."""
    looking = selectors.DefaultSelector()
    for address in addresses:
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.connect((address, PORT))
        connection.setblocking(False)
        looking.register(connection, selectors.EVENT_WRITE)
    zeros = memoryview(bytes(CHUNK_BYTES))
    _until_input_ends()
    while True:
        for key, _ in looking.select():
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.send(zeros)


def ping(address: str, count: str, interval_ms: str) -> None:
    """Print round-trip times in ns of ICMP echoes; the far kernel answers, no program there."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    identifier, interval_s = os.getpid() & 0xFFFF, float(interval_ms) / 1e3
    took: list[int] = []
    sent: dict[int, int] = {}
    _say_ready()
    due = time.monotonic()
    for number in range(int(count)):
        request = _echo(identifier, number & 0xFFFF)
        sent[number & 0xFFFF] = time.time_ns()
        raw.sendto(request, (address, 0))
        due += interval_s
        while (left := due - time.monotonic()) > 0:
            took += _echoes(raw, identifier, sent, left)
    end = time.monotonic() + LINGER_S
    while len(took) < int(count) and (left := end - time.monotonic()) > 0:
        took += _echoes(raw, identifier, sent, left)
    print(json.dumps(took), flush=True)


def _echo(identifier: int, number: int) -> bytes:
    """Write a request; the checksum is that of RFC 1071."""
    bare = ECHO.pack(ECHO_REQUEST, 0, 0, identifier, number)
    total = sum(struct.unpack(f"!{len(bare) // 2}H", bare))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return bare[:2] + struct.pack("!H", ~total & 0xFFFF) + bare[4:]


def _echoes(
    raw: socket.socket, identifier: int, sent: dict[int, int], patience_s: float
) -> list[int]:
    """Wait for a packet; return its round-trip time if it is the answer to one of ours."""
    if not select.select([raw], [], [], patience_s)[0]:
        return []
    packet, stamp = _received(raw)
    header_bytes = (packet[0] & 15) * 4
    if len(packet) - header_bytes < ECHO.size:
        return []
    kind, _, _, whose, number = ECHO.unpack_from(packet, header_bytes)
    ours = kind == ECHO_REPLY and whose == identifier and number in sent
    return [stamp - sent.pop(number)] if ours else []


def arrivals() -> None:
    """Print, when standard input ends, how long each datagram of ``datagrams`` was under way."""
    box = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    box.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    box.bind(("0.0.0.0", PORT))  # noqa: S104 - its own network
    took: list[int] = []
    _say_ready()
    while True:
        readable, _, _ = select.select([box, sys.stdin], [], [])
        if box in readable:
            datagram, stamp = _received(box)
            took.append(stamp - SENT.unpack_from(datagram)[0])
        elif readable:
            break
    print(json.dumps(took), flush=True)


def _received(box: socket.socket) -> tuple[bytes, int]:
    """Receive a packet and the kernel's stamp of its arrival."""
    packet, ancillary, _, _ = box.recvmsg(2048, 64)
    seconds, nanoseconds = STAMP.unpack(ancillary[0][2][: STAMP.size])
    return packet, seconds * 10**9 + nanoseconds


def datagrams(address: str, count: str, interval_ms: str, size: str, at_once: str = "1") -> None:
    """Send stamped datagrams of ``size`` IP bytes, ``at_once`` of them every interval."""
    box = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    rest = bytes(int(size) - 28 - SENT.size)
    interval_s, group = float(interval_ms) / 1e3, int(at_once)
    _say_ready()
    due = time.monotonic()
    for number in range(int(count)):
        box.sendto(SENT.pack(time.time_ns()) + rest, (address, PORT))
        if number % group == group - 1:
            due += interval_s
            time.sleep(max(0.0, due - time.monotonic()))
    print(json.dumps([int(count)]), flush=True)


def flood(rate_bit_s: str, size: str, *addresses: str) -> None:
    """Send datagrams of ``size`` IP bytes at a rate to each address, until standard input ends.

    They leave in small groups every two milliseconds; what could not be sent in time is not
    caught up with beyond a few packets. Prints how many there were.
    """
    boxes = [_connected(address) for address in addresses]
    payload, packets_s = bytes(int(size) - 28), int(rate_bit_s) / 8 / int(size)
    _say_ready()
    began, sent, total = time.monotonic(), 0, 0
    while not select.select([sys.stdin], [], [], FLOOD_EVERY_S)[0]:
        due = int((time.monotonic() - began) * packets_s)
        group, sent = min(due - sent, FLOOD_GROUP), due
        for _ in range(group):
            for box in boxes:
                box.send(payload)
        total += group * len(boxes)
    print(json.dumps([total]), flush=True)


def _connected(address: str) -> socket.socket:
    box = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    box.connect((address, LOAD_PORT))
    return box


def swallow() -> None:
    """Let the kernel drop the datagrams of ``flood``, without a word to their sender."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as box:
        box.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
        box.bind(("0.0.0.0", LOAD_PORT))  # noqa: S104 - its own network
        _say_ready()
        sys.stdin.read()


def _say_ready() -> None:
    print("ready", flush=True)


def _until_input_ends() -> None:
    """Say ready; from now on the end of standard input ends the program."""

    def watch() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    _say_ready()


ROLES: dict[str, Callable[..., None]] = {
    "sink": sink,
    "source": source,
    "ping": ping,
    "arrivals": arrivals,
    "datagrams": datagrams,
    "flood": flood,
    "swallow": swallow,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
