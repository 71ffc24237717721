"""What Chromium's net-log tells of its connections: QUIC and HTTP/2 sessions.

``--log-net-log`` writes a line of constants, which number the names of events and sources, and then
an event on each line. A browser that was ended leaves it without its end, so lines are read one by
one up to the first that is torn. Event times are CLOCK_MONOTONIC in milliseconds (on Linux), as are
CDP's; of packets sent the microsecond is told.

Two figures are reckoned, as the log has neither. The round trip is the smallest from a packet's
sending to the acknowledgement that first reports it as the largest, less the delay that the peer
says it made (RFC 9002, 5.1); it is coarse by the millisecond of event times. Packets that never
came are numbers missing among those received with 1-RTT keys: the peer sends consecutive ones, but
may skip some on purpose (RFC 9000, 21.4), so it is the most that were lost.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_EVENTS = 2_000_000
"""That are read; a load has some hundreds for each request."""
MOST_SESSIONS = 1000
_QUIC, _HTTP2 = "QUIC_SESSION", "HTTP2_SESSION"
_Params = Mapping[str, Any]


@dataclass(frozen=True)
class QuicSession:
    """A QUIC connection of the browser's, or its attempt at one."""

    host: str
    port: int
    connection_id: str
    """Of the destination, which the client chose first; hexadecimal."""
    version: str
    """As Chromium names it: ``RFCv1``; empty where the peer never answered."""
    began_s: float
    """CLOCK_MONOTONIC, in seconds."""
    handshake_s: float | None
    """From its beginning to the handshake's completion; None where that never came."""
    early_data: str
    """In Chromium's words: ``NotAttempted``, ``AttemptedAndSucceeded``, ...; empty if not told."""
    congestion_control: str
    """The client's own, as a sender; the server's cannot be seen here."""
    initial_window_packets: int | None
    packets_sent: int
    packets_received: int
    packets_lost: int
    """Of those sent, by the client's loss detection."""
    packets_missing: int
    """Of those sent to the client: numbers that never came (see above)."""
    bytes_sent: int
    """Of UDP payload, as ``bytes_received``."""
    bytes_received: int
    smallest_rtt_s: float | None
    requests: int
    closed: str
    """Why, in Chromium's words; empty where the log ends before."""


@dataclass(frozen=True)
class Http2Session:
    """An HTTP/2 connection of the browser's."""

    host: str
    """With the port."""
    protocol: str
    """As ALPN names it."""
    began_s: float
    """CLOCK_MONOTONIC, in seconds, after TLS."""
    requests: int
    bytes_received: int
    """Of DATA frames' payload."""
    closed: str


@dataclass(frozen=True)
class NetLog:
    """What could be read of a net-log."""

    product: str = ""
    """Name and version of the browser."""
    quic: tuple[QuicSession, ...] = ()
    """In the order in which they began, as all sessions."""
    http2: tuple[Http2Session, ...] = ()
    is_truncated: bool = False
    """Whether its end is missing, or more was in it than is read."""


def read(text: str) -> NetLog:
    """Read a net-log, of which the end may be missing; of what is none, nothing is told."""
    lines = iter(text.splitlines())
    constants = _constants(next(lines, ""))
    if constants is None:
        return NetLog(is_truncated=True)
    sources, types = (_names(constants.get(key)) for key in ("logSourceType", "logEventTypes"))
    found: dict[tuple[str, int], _Session] = {}
    ended = False
    for number, event in enumerate(_events(lines)):
        if event is None or number >= MOST_EVENTS:
            ended = event is None
            break
        _take(event, sources, types, found)
    quic = tuple(one.quic() for (kind, _), one in found.items() if kind == _QUIC)
    http2 = tuple(one.http2() for (kind, _), one in found.items() if kind == _HTTP2)
    return NetLog(_product(constants), quic, http2, is_truncated=not ended)


def _constants(line: str) -> Mapping[str, Any] | None:
    said = _parsed(line.rstrip().rstrip(",") + "}")
    constants = said.get("constants") if isinstance(said, Mapping) else None
    return constants if isinstance(constants, Mapping) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _names(numbers: Any) -> dict[int, str]:
    said = numbers.items() if isinstance(numbers, Mapping) else ()
    return {number: name for name, number in said if isinstance(number, int)}


def _product(constants: Mapping[str, Any]) -> str:
    about = constants.get("clientInfo")
    said = about if isinstance(about, Mapping) else {}
    return f"{_text(said, 'name')}/{_text(said, 'version')}".strip("/")


def _events(lines: Iterator[str]) -> Iterator[Mapping[str, Any] | None]:
    """Yield events until one is torn; None where the log says that they are all."""
    for line in lines:
        text = line.strip()
        if text == '"events": [':
            continue
        # The last one is followed by the list's end, on its own line.
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
    found: dict[tuple[str, int], _Session],
) -> None:
    source, params = event.get("source"), event.get("params")
    about = source if isinstance(source, Mapping) else {}
    kind, number = sources.get(_whole(about, "type", -1), ""), _whole(about, "id", -1)
    if kind not in (_QUIC, _HTTP2):
        return
    if (kind, number) not in found and len(found) >= MOST_SESSIONS:
        return
    at_s = _whole(event, "time", 0) / 1e3
    session = found.setdefault((kind, number), _Session(at_s))
    name = types.get(_whole(event, "type", -1), "")
    session.take(name, at_s, params if isinstance(params, Mapping) else {})


def _whole(said: Mapping[str, Any], key: str, otherwise: int) -> int:
    """Read a count, which a log may have as a text, too; nothing is larger than a time in us."""
    value = said.get(key)
    if isinstance(value, str) and len(value) <= 18 and value.isascii() and value.isdecimal():  # noqa: PLR2004 - of 64 bits
        return int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if is_count and isinstance(value, int) else otherwise


def _text(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
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
        """Read an event; of most kinds it is enough to count them."""
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

    def told(self, _: float, params: _Params) -> None:
        self.words |= {key: told for key in params if (told := _text(params, key))}

    def closed(self, _: float, params: _Params) -> None:
        self.words["closed"] = _text(params, "details") or _text(params, "description")

    def quic(self) -> QuicSession:
        said = self.words
        return QuicSession(
            host=_text(self.first, "host"),
            port=_whole(self.first, "port", 0),
            connection_id=_text(self.first, "connection_id"),
            version=said.get("version", ""),
            began_s=self.began_s,
            handshake_s=self.handshake_s,
            early_data=said.get("state", ""),
            congestion_control=said.get("control", ""),
            initial_window_packets=self.window,
            packets_sent=self.counts["QUIC_SESSION_PACKET_SENT"],
            packets_received=self.counts["QUIC_SESSION_PACKET_RECEIVED"],
            packets_lost=self.counts["QUIC_SESSION_PACKET_LOST"],
            packets_missing=max(self.numbers, default=-1) + 1 - len(self.numbers),
            bytes_sent=self.counts["bytes_sent"],
            bytes_received=self.counts["bytes_received"],
            smallest_rtt_s=min(self.rtts_s, default=None),
            requests=self.counts["QUIC_CHROMIUM_CLIENT_STREAM_SEND_REQUEST_HEADERS"],
            closed=said.get("closed", ""),
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
    "QUIC_SESSION_VERSION_NEGOTIATED": _Session.told,
    "QUIC_SESSION_ZERO_RTT_STATE": _Session.told,
    "QUIC_SESSION_CLOSED": _Session.closed,
    "HTTP2_SESSION_INITIALIZED": _Session.told,
    "HTTP2_SESSION_RECV_DATA": _Session.received,
    "HTTP2_SESSION_CLOSE": _Session.closed,
}
