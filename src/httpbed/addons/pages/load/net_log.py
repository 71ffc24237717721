"""Connections in Chromium's net-log: QUIC and HTTP/2 sessions.

``--log-net-log`` writes a line of constants, which number event and source names, and then an
event on each line. A killed browser leaves the log incomplete, so lines are read one by one until
the first incomplete one. Event times are CLOCK_MONOTONIC in milliseconds (on Linux), as are CDP's;
sent packets have microseconds.

Two figures are computed, because the log has neither. ``smallest_rtt_s`` is the least time from
sending a packet to the acknowledgement that first reports it as the largest, less the peer's
acknowledgement delay (RFC 9002, 5.1); its resolution is a millisecond. ``packets_missing`` counts
gaps in the packet numbers received with 1-RTT keys. The peer may skip numbers on purpose (RFC 9000,
21.4), so it is an upper bound of the lost packets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from httpbed.base import untrusted_files

MAX_EVENTS = 2_000_000
"""Events that are read; a load has some hundreds for each request."""
MAX_SESSIONS = 1000
_LINE = re.compile(r"[^\n]+")
_QUIC, _HTTP2 = "QUIC_SESSION", "HTTP2_SESSION"
_Params = Mapping[str, Any]


@dataclass(frozen=True)
class QuicSession:
    """A QUIC connection of the browser, or an attempt at one."""

    host: str
    port: int
    connection_id: str
    """First destination connection ID, chosen by the client; hexadecimal."""
    version: str
    """Chromium's name, such as ``RFCv1``; empty if the peer never answered."""
    began_s: float
    """CLOCK_MONOTONIC, in seconds."""
    handshake_s: float | None
    """Seconds from the beginning to the end of the handshake; None without an end."""
    early_data: str
    """Chromium's word: ``NotAttempted``, ``AttemptedAndSucceeded``, ...; empty if unknown."""
    congestion_control: str
    """The client's algorithm as a sender; the log does not show the server's."""
    initial_window_packets: int | None
    packets_sent: int
    packets_received: int
    packets_lost: int
    """Sent packets that the client's loss detection declared lost."""
    packets_missing: int
    """Packets sent to the client whose numbers never arrived (upper bound)."""
    bytes_sent: int
    """Bytes of UDP payload, as in ``bytes_received``."""
    bytes_received: int
    smallest_rtt_s: float | None
    requests: int
    closed: str
    """Chromium's reason; empty if the log ends before."""


@dataclass(frozen=True)
class Http2Session:
    """An HTTP/2 connection of the browser."""

    host: str
    """Host name and port."""
    protocol: str
    """ALPN name."""
    began_s: float
    """CLOCK_MONOTONIC after TLS, in seconds."""
    requests: int
    bytes_received: int
    """Bytes of payload in DATA frames."""
    closed: str


@dataclass(frozen=True)
class NetLog:
    """The readable part of a net-log."""

    product: str = ""
    """Name and version of the browser."""
    quic: tuple[QuicSession, ...] = ()
    """In order of beginning, as ``http2``."""
    http2: tuple[Http2Session, ...] = ()
    is_truncated: bool = False
    """Whether its end is missing, or it has more than ``MAX_EVENTS`` events."""


def read(text: str) -> NetLog:
    """Read a net-log whose end may be missing; other text gives an empty one."""
    lines = (found[0] for found in _LINE.finditer(text))
    constants = _constants(next(lines, ""))
    if constants is None:
        return NetLog(is_truncated=True)
    sources, types = (_names(constants.get(key)) for key in ("logSourceType", "logEventTypes"))
    sessions: dict[tuple[str, int], _Session] = {}
    ended = False
    for number, event in enumerate(_events(lines)):
        if event is None or number >= MAX_EVENTS:
            ended = event is None
            break
        _take(event, sources, types, sessions)
    quic = tuple(one.quic() for (kind, _), one in sessions.items() if kind == _QUIC)
    http2 = tuple(one.http2() for (kind, _), one in sessions.items() if kind == _HTTP2)
    return NetLog(_product(constants), quic, http2, is_truncated=not ended)


def _constants(line: str) -> Mapping[str, Any] | None:
    line_data = _parsed(line.rstrip().rstrip(",") + "}")
    constants = line_data.get("constants") if isinstance(line_data, Mapping) else None
    return constants if isinstance(constants, Mapping) else None


def _parsed(text: str) -> Any:
    try:
        return untrusted_files.json_value(text)
    except ValueError:
        return None


def _names(numbers: Any) -> dict[int, str]:
    items = numbers.items() if isinstance(numbers, Mapping) else ()
    return {number: name for name, number in items if isinstance(number, int)}


def _product(constants: Mapping[str, Any]) -> str:
    about = constants.get("clientInfo")
    client = about if isinstance(about, Mapping) else {}
    return f"{_text(client, 'name')}/{_text(client, 'version')}".strip("/")


def _events(lines: Iterator[str]) -> Iterator[Mapping[str, Any] | None]:
    """Yield events up to an incomplete one; yield None at the end of the list."""
    for line in lines:
        text = line.strip()
        if text == '"events": [':
            continue
        # The end of the list follows the last event on the same line.
        event = _parsed(text.removesuffix("],").rstrip(","))
        if isinstance(event, Mapping):
            yield event
        if text.endswith("],") or text == "]":
            yield None
        if not isinstance(event, Mapping):
            return


def _take(
    event: Mapping[str, Any],
    sources: Mapping[int, str],
    types: Mapping[int, str],
    sessions: dict[tuple[str, int], _Session],
) -> None:
    source, params = event.get("source"), event.get("params")
    about = source if isinstance(source, Mapping) else {}
    kind, number = sources.get(_whole(about, "type", -1), ""), _whole(about, "id", -1)
    if kind not in (_QUIC, _HTTP2):
        return
    if (kind, number) not in sessions and len(sessions) >= MAX_SESSIONS:
        return
    at_s = _whole(event, "time", 0) / 1e3
    session = sessions.setdefault((kind, number), _Session(at_s))
    name = types.get(_whole(event, "type", -1), "")
    session.take(name, at_s, params if isinstance(params, Mapping) else {})


def _whole(data: Mapping[str, Any], key: str, otherwise: int) -> int:
    """Return an integer, which a log may write as text; below 2**63."""
    value = data.get(key)
    # of 64 bits
    if isinstance(value, str) and len(value) <= 18 and value.isascii() and value.isdecimal():
        return int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if is_count and isinstance(value, int) else otherwise


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value[:500] if isinstance(value, str) else ""


@dataclass
class _Session:
    """A session while its events are read."""

    began_s: float
    first: _Params = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    handshake_s: float | None = None
    window: int | None = None
    numbers: set[int] = field(default_factory=set)
    sent_s: dict[int, float] = field(default_factory=dict)
    rtts_s: list[float] = field(default_factory=list)

    def take(self, name: str, at_s: float, params: _Params) -> None:
        """Handle an event; for most kinds counting is enough."""
        self.counts[name] += 1
        if name in (_QUIC, _HTTP2) and params and not self.first:
            self.first = params
        elif reader := _READERS.get(name):
            reader(self, at_s, params)

    def sent(self, at_s: float, params: _Params) -> None:
        us = _whole(params, "sent_time_us", 0)
        self.counts["bytes_sent"] += _whole(params, "size", 0)
        self.sent_s[_whole(params, "packet_number", -1)] = us / 1e6 if us else at_s

    def received(self, _: float, params: _Params) -> None:
        self.counts["bytes_received"] += _whole(params, "size", 0)

    def header(self, _: float, params: _Params) -> None:
        if "SHORT_HEADER" in _text(params, "header_format"):
            self.numbers.add(_whole(params, "packet_number", 0))

    def acknowledged(self, at_s: float, params: _Params) -> None:
        sent_s = self.sent_s.pop(_whole(params, "largest_observed", -1), None)
        if sent_s is not None:
            delay_s = _whole(params, "delta_time_largest_observed_us", 0) / 1e6
            self.rtts_s.append(max(0.0, at_s - sent_s - delay_s))

    def completed(self, at_s: float, _: _Params) -> None:
        self.handshake_s = round(at_s - self.began_s, 6)

    def controlled(self, _: float, params: _Params) -> None:
        self.words["control"] = _text(params, "congestion_control_type")
        self.window = _whole(params, "initial_congestion_window", 0) or None

    def keep(self, _: float, params: _Params) -> None:
        self.words |= {key: keep for key in params if (keep := _text(params, key))}

    def closed(self, _: float, params: _Params) -> None:
        self.words["closed"] = _text(params, "details") or _text(params, "description")

    def quic(self) -> QuicSession:
        words = self.words
        return QuicSession(
            host=_text(self.first, "host"),
            port=_whole(self.first, "port", 0),
            connection_id=_text(self.first, "connection_id"),
            version=words.get("version", ""),
            began_s=self.began_s,
            handshake_s=self.handshake_s,
            early_data=words.get("state", ""),
            congestion_control=words.get("control", ""),
            initial_window_packets=self.window,
            packets_sent=self.counts["QUIC_SESSION_PACKET_SENT"],
            packets_received=self.counts["QUIC_SESSION_PACKET_RECEIVED"],
            packets_lost=self.counts["QUIC_SESSION_PACKET_LOST"],
            packets_missing=max(self.numbers, default=-1) + 1 - len(self.numbers),
            bytes_sent=self.counts["bytes_sent"],
            bytes_received=self.counts["bytes_received"],
            smallest_rtt_s=min(self.rtts_s, default=None),
            requests=self.counts["QUIC_CHROMIUM_CLIENT_STREAM_SEND_REQUEST_HEADERS"],
            closed=words.get("closed", ""),
        )

    def http2(self) -> Http2Session:
        return Http2Session(
            host=_text(self.first, "host"),
            protocol=self.words.get("protocol", ""),
            began_s=self.began_s,
            requests=self.counts["HTTP2_SESSION_SEND_HEADERS"],
            bytes_received=self.counts["bytes_received"],
            closed=self.words.get("closed", ""),
        )


_READERS = {
    "QUIC_SESSION_PACKET_SENT": _Session.sent,
    "QUIC_SESSION_PACKET_RECEIVED": _Session.received,
    "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED": _Session.header,
    "QUIC_SESSION_ACK_FRAME_RECEIVED": _Session.acknowledged,
    "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE": _Session.completed,
    "QUIC_CONGESTION_CONTROL_CONFIGURED": _Session.controlled,
    "QUIC_SESSION_VERSION_NEGOTIATED": _Session.keep,
    "QUIC_SESSION_ZERO_RTT_STATE": _Session.keep,
    "QUIC_SESSION_CLOSED": _Session.closed,
    "HTTP2_SESSION_INITIALIZED": _Session.keep,
    "HTTP2_SESSION_RECV_DATA": _Session.received,
    "HTTP2_SESSION_CLOSE": _Session.closed,
}
