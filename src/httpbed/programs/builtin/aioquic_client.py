"""An HTTP/3 client on aioquic: parallel transfers over one connection, each of its own file.

One socket and one loop drive aioquic's connection, which does no I/O itself. After each file the
client prints one JSON object, with times in seconds since the start. A prior visit also waits for a
session ticket and stores it; a later visit resumes with it, with or without early data.

With ``--migration rebind`` the client listens to the kernel's news of addresses and routes. If the
kernel prefers another local address towards the server, the connection moves to a new socket at
once, with another connection ID (RFC 9000 section 9.5), and sends a PING. The server validates the
path; the client takes the PING's acknowledgement as the answer. Each event prints a line with the
numbers of migrations so far: seconds since :data:`START_NS`, which is CLOCK_MONOTONIC.

With ``--acknowledges all`` it acknowledges packets that it never received.

Run by recipes/aioquic.toml, in a root filesystem with Python and aioquic.
"""

from __future__ import annotations

import argparse
import errno
import json
import math
import os
import pickle
import select
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import aioquic_records
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated,
    HandshakeCompleted,
    PingAcknowledged,
    QuicEvent,
    StreamReset,
)
from aioquic.quic.packet_builder import QuicPacketBuilder
from aioquic.quic.recovery import QuicPacketSpace
from aioquic.tls import Epoch, SessionTicket

MAX_DATAGRAM_BYTES = 65535
NEVER_IDLE_S = 86400.0
"""Above every trial's limit: httpbed decides when a transfer has taken too long."""
TICKET_PATIENCE_S = 5.0
START_NS = time.monotonic_ns()
NETWORK_NEWS = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
"""Groups of rtnetlink(7): links, IPv4 addresses and routes, IPv6 addresses and routes."""


class FetchError(Exception):
    """A file cannot be transferred; the message is for the trial's report."""


@dataclass
class FileTransfer:
    """One request and its response so far."""

    path: str
    body: BinaryIO
    """Where the response's body is written."""
    began_s: float
    early: bool
    """Whether it was sent before the handshake was over."""
    status: int = 0
    body_bytes: int = 0
    first_byte_s: float | None = None


def since_start() -> float:
    """Return the seconds since this program began."""
    return (time.monotonic_ns() - START_NS) / 1e9


@dataclass
class MigrationLog:
    """The client's migrations and their results."""

    tried: int = 0
    succeeded: int = 0

    def note(self, event: str, local: str, remote: str, reason: str = "") -> None:
        """Print an event at once, because a killed program prints nothing later."""
        event_line = {"at": since_start(), "event": event, "local": local, "remote": remote}
        failed = self.tried - self.succeeded
        counts = {"tried": self.tried, "succeeded": self.succeeded, "failed": failed}
        line = {"clock_ns": START_NS, "path_event": {**event_line, "reason": reason}}
        print(json.dumps({**line, "migrations": counts}), flush=True)


class OptimisticConnection(QuicConnection):
    """A receiver that misbehaves: it acknowledges each packet number up to the largest received.

    So its peer learns of no loss, and may send beyond what the path carries. A peer that skips
    packet numbers finds out, because these are acknowledged, too (RFC 9000 section 21.4). Numbers
    below the first one that arrived after the handshake are left out: some peers begin above 0.
    """

    first: int | None = None

    def _write_ack_frame(
        self, builder: QuicPacketBuilder, space: QuicPacketSpace, now: float
    ) -> None:
        if self._handshake_complete and space is self._spaces[Epoch.ONE_RTT]:
            self.first = self.first or space.largest_received_packet
            space.ack_queue.add(self.first, space.largest_received_packet + 1)
        super()._write_ack_frame(builder, space, now)


class Http3Client:
    """One connection to one server."""

    def __init__(self, options: argparse.Namespace, settings: QuicConfiguration) -> None:
        self.options = options
        self.name: str = options.server_name
        self.has_ticket = False
        self.handshake: HandshakeCompleted | None = None
        self.handshake_s = 0.0
        self.fetches: dict[int, FileTransfer] = {}
        self.migrations = MigrationLog()
        self.udp = self._socket()
        self.news = network_news() if options.migration == "rebind" else None
        kind = OptimisticConnection if options.acknowledges == "all" else QuicConnection
        self.quic = kind(configuration=settings, session_ticket_handler=self._keep)
        self.http = H3Connection(self.quic)

    def run(self) -> None:
        """Transfer every file in as many rounds as requested, and close."""
        self.quic.connect(self.udp.getpeername(), now=time.monotonic())
        if self.options.visit == "prior" or self.options.resumption != "early data":
            self._until(lambda: self.handshake is not None)
        for _ in range(self.options.rounds):
            self._ask(self.options.requests)
            self._until(lambda: not self.fetches)
        if self.options.visit == "prior":
            self._wait_for_ticket()
        self.quic.close()
        self._send()

    def _socket(self) -> socket.socket:
        """Open a socket on the address that the kernel now prefers towards the server."""
        family = socket.AF_INET6 if ":" in self.options.address else socket.AF_INET
        udp = socket.socket(family, socket.SOCK_DGRAM)
        try:
            udp.connect((self.options.address, self.options.port))
        except OSError:
            udp.close()
            raise
        udp.setblocking(False)
        return udp

    def _ask(self, requests: Iterable[tuple[str, Path]]) -> None:
        for path, file in requests:
            stream = self.quic.get_next_available_stream_id()
            upload = file.read_bytes() if self.options.upload else None
            self.http.send_headers(stream, [*self._headers(path, upload)], end_stream=not upload)
            if upload:
                self.http.send_data(stream, upload, end_stream=True)
            body = (file if upload is None else Path(os.devnull)).open("wb")
            early = self.handshake is None
            self.fetches[stream] = FileTransfer(path, body, since_start(), early=early)

    def _headers(self, path: str, upload: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        yield b":method", (self.options.upload or "GET").encode()
        yield b":scheme", b"https"
        yield b":authority", self.name.encode()
        yield b":path", path.encode()
        yield b"user-agent", b"httpbed-aioquic"
        if upload is not None:
            yield b"content-length", str(len(upload)).encode()

    def _until(self, done: Callable[[], bool], *, over: float = math.inf) -> None:
        """Send and receive until ``done`` is true, or the clock shows ``over``."""
        while not done() and time.monotonic() < over:
            self._send()
            due = min(self.quic.get_timer() or math.inf, over)
            wait_s = None if due == math.inf else max(0.0, due - time.monotonic())
            readable = select.select([one for one in (self.udp, self.news) if one], [], [], wait_s)[
                0
            ]
            if self.udp in readable:
                self._receive()
            if self.news in readable:
                self._read_news()
            if not readable:
                self.quic.handle_timer(now=time.monotonic())
            self._look()

    def _send(self) -> None:
        for datagram, _ in self.quic.datagrams_to_send(now=time.monotonic()):
            try:
                self.udp.send(datagram)
            except OSError:
                if self.news is None:
                    raise
                # Without a network the datagram is lost; the next news brings another network.

    def _receive(self) -> None:
        try:
            while True:
                datagram = self.udp.recv(MAX_DATAGRAM_BYTES)
                self.quic.receive_datagram(datagram, self.udp.getpeername(), now=time.monotonic())
        except BlockingIOError:
            pass

    def _read_news(self) -> None:
        """Read and discard the kernel's messages, then look which address it prefers."""
        try:
            while self.news and self.news.recv(MAX_DATAGRAM_BYTES):
                pass
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # more messages than the buffer holds
                raise
        self._follow()

    def _follow(self) -> None:
        """Move to the address that the kernel prefers, if it has changed."""
        old = named(self.udp.getsockname())
        try:
            preferred = self._socket()
        except OSError as error:
            self.migrations.note("network changed", old, self._remote(), f"no route: {error}")
            return
        if preferred.getsockname()[0] == self.udp.getsockname()[0]:
            preferred.close()
            return
        new = named(preferred.getsockname())
        self.migrations.note("network changed", old, self._remote(), f"the kernel prefers {new}")
        if self.handshake is None:
            preferred.close()  # RFC 9000 section 9: no migration before the handshake is confirmed
            self.migrations.note("refused", new, self._remote(), "the handshake is not over")
            return
        self.udp.close()
        self.udp = preferred
        self.quic.change_connection_id()
        self.migrations.tried += 1
        self.quic.send_ping(self.migrations.tried)
        self.migrations.note("migrated", new, self._remote())

    def _remote(self) -> str:
        return named((self.options.address, self.options.port))

    def _look(self) -> None:
        """Handle the connection's events."""
        while (event := self.quic.next_event()) is not None:
            self._quic_event(event)
            for http_event in self.http.handle_event(event):
                self._http_event(http_event)

    def _quic_event(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self.handshake, self.handshake_s = event, since_start()
            if self.news:
                self._follow()
        elif isinstance(event, PingAcknowledged):
            self._reached(event.uid)
        elif isinstance(event, StreamReset) and event.stream_id in self.fetches:
            raise FetchError(f"stream {event.stream_id} was reset, error {event.error_code:#x}")
        elif isinstance(event, ConnectionTerminated):
            reason = event.reason_phrase or "no reason given"
            raise FetchError(f"the connection ended, error {event.error_code:#x}: {reason}")

    def _reached(self, migration: int) -> None:
        """Count a validated path; an answer to an earlier migration does not count."""
        if migration == self.migrations.tried:
            self.migrations.succeeded += 1
            self.migrations.note("validated", named(self.udp.getsockname()), self._remote())

    def _http_event(self, event: H3Event) -> None:
        fetch = self.fetches.get(getattr(event, "stream_id", -1))
        if fetch is None:
            return
        if isinstance(event, HeadersReceived):
            fetch.status = fetch.status or int(dict(event.headers).get(b":status", b"0"))
        elif isinstance(event, DataReceived):
            fetch.first_byte_s = fetch.first_byte_s or since_start()
            fetch.body_bytes += fetch.body.write(event.data)
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
            self._print(self.fetches.pop(event.stream_id))

    def _print(self, fetch: FileTransfer) -> None:
        fetch.body.close()
        accepted = self.handshake is not None and self.handshake.early_data_accepted
        line = {
            "http_version": "3",
            "path": fetch.path,
            "status": fetch.status,
            "body_bytes": fetch.body_bytes,
            "connection": self.quic.original_destination_connection_id.hex(),
            "tls_version": "TLSv1.3",
            "cipher": cipher(self.quic),
            "resumed": self.handshake is not None and self.handshake.session_resumed,
            "early_data": fetch.early and accepted,
            "began_s": fetch.began_s,
            "handshake_s": self.handshake_s,
            "first_byte_s": fetch.first_byte_s,
            "ended_s": since_start(),
        }
        print(json.dumps(line), flush=True)

    def _keep(self, ticket: SessionTicket) -> None:
        self.has_ticket = True
        if self.options.session:
            self.options.session.write_bytes(pickle.dumps(ticket))

    def _wait_for_ticket(self) -> None:
        """Wait for a session ticket, which a server may send at any time after the handshake."""
        over = time.monotonic() + TICKET_PATIENCE_S
        self._until(lambda: self.has_ticket, over=over)
        if not self.has_ticket:
            raise FetchError("the server sent no session ticket")


def network_news() -> socket.socket:
    """Open a socket on which the kernel reports every change of addresses and routes."""
    news = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    news.bind((0, NETWORK_NEWS))
    news.setblocking(False)
    return news


def named(address: tuple[str, int]) -> str:
    """Return address and port as text."""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def configuration(options: argparse.Namespace) -> QuicConfiguration:
    """Return the QUIC settings, with an earlier visit's ticket if the options ask for it."""
    settings = QuicConfiguration(
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=options.congestion_control,
        idle_timeout=NEVER_IDLE_S,
        max_data=options.max_data,
        max_stream_data=options.max_stream_data,
        max_datagram_size=options.max_datagram_size,
        server_name=options.server_name,
    )
    settings.load_verify_locations(cafile=options.ca)
    if options.visit == "measured" and options.resumption != "none":
        ticket: SessionTicket = pickle.loads(options.session.read_bytes())  # noqa: S301 - our own
        early = options.resumption == "early data"
        settings.session_ticket = ticket if early else replace(ticket, max_early_data_size=None)
    return settings


def cipher(quic: QuicConnection) -> str:
    """Return the cipher suite's name in the TLS registry."""
    suite = quic.tls.key_schedule.cipher_suite
    return f"TLS_{suite.name}"


def request(text: str) -> tuple[str, Path]:
    """Read ``/path=file``."""
    path, _, file = text.partition("=")
    return path, Path(file)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("requests", nargs="+", type=request, metavar="/PATH=FILE")
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--server-name", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--congestion-control", choices=("reno", "cubic"), required=True)
    parser.add_argument("--max-data", type=int, required=True)
    parser.add_argument("--max-stream-data", type=int, required=True)
    parser.add_argument("--max-datagram-size", type=int, required=True)
    parser.add_argument("--migration", choices=("none", "rebind"), default="none")
    parser.add_argument("--upload", choices=("PUT", "POST"), help="send the files, by this method")
    parser.add_argument("--acknowledges", choices=("received", "all"), default="received")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--resumption", choices=("none", "resumed", "early data"), default="none")
    parser.add_argument("--visit", choices=("prior", "measured"), default="measured")
    parser.add_argument("--session", type=Path)
    aioquic_records.add_arguments(parser)
    return parser.parse_args()


def main() -> None:
    """Transfer all files, or print one line that says why not."""
    options = arguments()
    try:
        settings = configuration(options)
        with aioquic_records.kept(settings, options):
            Http3Client(options, settings).run()
    except (FetchError, OSError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
