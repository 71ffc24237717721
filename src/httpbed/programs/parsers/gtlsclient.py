"""What ngtcp2's gtlsclient prints: every packet and every header.

A transport line begins with the clock, in milliseconds since the start. An HTTP line has no clock;
its event happened at the time of the last transport line::

    I00000001 0x12.. frm tx 17 1RTT STREAM(0x0b) id=0x0 fin=1 offset=0 len=49 uni=0
    http: stream 0x0 submit request headers
    [:path: /1000.txt]
    I00000026 0x12.. frm rx 3 1RTT STREAM(0x0e) id=0x0 fin=0 offset=0 len=330 uni=0
    http: stream 0x0 [:status: 200]
    HTTP stream 0 closed with error code 256

The exit status is 0 whatever happens. There is no TLS version and no body length: a stream's length
includes HTTP/3 frames. With ``--quiet`` gtlsclient prints nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from httpbed.base import untrusted_files
from httpbed.experiment.metric import Observation
from httpbed.programs.parsers import VERSIONS
from httpbed.programs.part import LoggedRequest, ProgramReport

NO_ERROR = 0x100
"""H3_NO_ERROR (RFC 9114 section 8.1)."""
CIPHERS = {
    "AES-128-GCM": "TLS_AES_128_GCM_SHA256",
    "AES-256-GCM": "TLS_AES_256_GCM_SHA384",
    "CHACHA20-POLY1305": "TLS_CHACHA20_POLY1305_SHA256",
}
"""GnuTLS's name -> TLS's name."""
MAX_BYTES = 2**30
"""Large, because several lines describe each packet; the file is read line by line."""
MAX_LINE = 4096
"""Characters of a line; a longer one is read in pieces. Matching takes time that grows with the
square of the length, and the program may print one line of all its output."""
_LINE = re.compile(
    r"I(?P<ms>[0-9]{8,12}) "
    r"(?:.* frm tx [0-9]+ 0RTT STREAM\(.*\) id=0x(?P<early>[0-9a-f]+))?"
    r"|http: stream 0x(?P<requested>[0-9a-f]+) submit request headers"
    r"|\[:path: (?P<path>.*)\]"
    r"|http: stream 0x(?P<answered>[0-9a-f]+)"
    r" \[:status: (?P<status>[0-9]+)\]"
    r"|HTTP stream (?P<closed>[0-9]+) closed with error code (?P<code>[0-9]+)"
    r"|Negotiated cipher suite is (?P<cipher>\S+)"
    r"|Negotiated ALPN is (?P<alpn>\S+)"
    r"|(?P<handshake>QUIC handshake has completed)"
    r"|.*(?P<rejected>[Ee]arly data was rejected)"
    r"|(?:\S+: )?(?P<error>ERR_\S+)"
)


@dataclass
class _Stream:
    began_s: float
    path: str = ""
    status: int = 0
    early: bool = False
    code: int | None = None
    first_byte_s: float | None = None
    ended_s: float | None = None


@dataclass
class _Transcript:
    """What the lines read so far report."""

    lines: int = 0
    clock_s: float = 0.0
    handshake_s: float | None = None
    streams: dict[int, _Stream] = field(default_factory=dict)
    last: _Stream | None = None
    alpn: str = ""
    cipher: str = ""
    rejected: bool = False
    errors: list[str] = field(default_factory=list)

    def read(self, lines: TextIO) -> None:
        while line := lines.readline(MAX_LINE):
            self.lines += 1
            if len(self.streams) + len(self.errors) > untrusted_files.MAX_LINES:
                raise untrusted_files.UnreadableError("it", "has too many streams and errors")
            parts = _LINE.match(line)
            if parts is not None:
                self._take({name: part for name, part in parts.groupdict().items() if part})

    def _take(self, match: dict[str, str]) -> None:
        self._take_clock(match)
        self._take_request(match)
        self._take_response(match)
        self.cipher = match.get("cipher", self.cipher)
        self.alpn = match.get("alpn", self.alpn)
        self.rejected = self.rejected or "rejected" in match
        self.errors += [match["error"]] if "error" in match else []

    def _take_clock(self, match: dict[str, str]) -> None:
        if "ms" in match:
            self.clock_s = int(match["ms"]) / 1e3
        if "handshake" in match:
            self.handshake_s = self.clock_s

    def _take_request(self, match: dict[str, str]) -> None:
        if "requested" in match:
            self.last = self.streams[int(match["requested"], 16)] = _Stream(self.clock_s)
        if "path" in match and self.last is not None:
            self.last.path = match["path"]
        if "early" in match and (stream := self.streams.get(int(match["early"], 16))):
            stream.early = True

    def _take_response(self, match: dict[str, str]) -> None:
        if "answered" in match and (stream := self.streams.get(int(match["answered"], 16))):
            stream.first_byte_s = stream.first_byte_s or self.clock_s
            stream.status = int(match["status"])
        if "closed" in match and (stream := self.streams.get(int(match["closed"]))):
            stream.code, stream.ended_s = int(match["code"]), self.clock_s


def parse(file: Path) -> ProgramReport:
    """Read every line; a stream that did not close without error is a complaint."""
    transcript = _Transcript()
    with untrusted_files.opened(file, MAX_BYTES) as log:
        transcript.read(log)
    if not transcript.lines:
        return ProgramReport()
    done = [stream for stream in transcript.streams.values() if stream.code == NO_ERROR]
    return ProgramReport(
        observations=tuple(_observations(transcript, done)),
        requests=tuple(_request(transcript, stream) for stream in done),
        complaint=_complaint(transcript, done),
    )


def _complaint(transcript: _Transcript, done: list[_Stream]) -> str:
    if transcript.streams and len(done) == len(transcript.streams):
        return ""
    codes = [f"error {s.code:#x}" for s in transcript.streams.values() if s.code and s not in done]
    unfinished = (
        f"{len(transcript.streams) - len(done)} of {len(transcript.streams)} requests unfinished"
    )
    reasons = dict.fromkeys((*transcript.errors, *codes))
    return "; ".join((unfinished if transcript.streams else "no request was sent", *reasons))


def _request(transcript: _Transcript, stream: _Stream) -> LoggedRequest:
    early = stream.early and not transcript.rejected
    return LoggedRequest(
        http_version=VERSIONS.get(transcript.alpn, transcript.alpn or "unknown"),
        status=stream.status,
        body_bytes=None,
        connection="1",
        cipher=CIPHERS.get(transcript.cipher, transcript.cipher),
        resumed=True if early else None,
        early_data=early,
        path=stream.path,
        began_s=stream.began_s,
        ended_s=stream.ended_s,
    )


def _observations(transcript: _Transcript, done: list[_Stream]) -> list[Observation]:
    values = {
        "client_total_time": max((s.ended_s for s in done if s.ended_s is not None), default=None),
        "client_handshake_time": transcript.handshake_s,
        "time_to_first_byte": min((s.first_byte_s for s in done if s.first_byte_s), default=None),
    }
    return [
        Observation(metric=metric, value=value, source="client")
        for metric, value in values.items()
        if value
    ]
