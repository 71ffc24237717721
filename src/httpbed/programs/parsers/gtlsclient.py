"""What ngtcp2's gtlsclient prints: every packet and every header.

Lines of the transport carry its clock, in milliseconds since the start; what HTTP says stands
between them and happened at the time of the transport's last line::

    I00000001 0x12.. frm tx 17 1RTT STREAM(0x0b) id=0x0 fin=1 offset=0 len=49 uni=0
    http: stream 0x0 submit request headers
    [:path: /1000.txt]
    I00000026 0x12.. frm rx 3 1RTT STREAM(0x0e) id=0x0 fin=0 offset=0 len=330 uni=0
    http: stream 0x0 [:status: 200]
    HTTP stream 0 closed with error code 256

It ends with status 0 whatever happened. It prints no version of TLS, and no length of a body: that
of its stream has HTTP/3's frames in it. With ``--quiet`` it prints nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from httpbed.experiment.metric import Observation
from httpbed.host.sandbox import untrusted_files
from httpbed.programs.parsers.untrusted_values import UNREADABLE
from httpbed.programs.protocol import LoggedRequest, ProgramReport

NO_ERROR = 0x100
"""H3_NO_ERROR (RFC 9114 section 8.1)."""
CIPHERS = {
    "AES-128-GCM": "TLS_AES_128_GCM_SHA256",
    "AES-256-GCM": "TLS_AES_256_GCM_SHA384",
    "CHACHA20-POLY1305": "TLS_CHACHA20_POLY1305_SHA256",
}
"""As GnuTLS calls them -> as TLS does."""
MOST_BYTES = 2**30
"""It is read line by line, and several lines tell of each packet."""
_LINE = re.compile(
    r"I(?P<ms>[0-9]{8,12}) "
    r"(?:.* frm tx [0-9]+ 0RTT STREAM\(.*\) id=0x(?P<early>[0-9a-f]+))?"
    r"|http: stream 0x(?P<asked>[0-9a-f]+) submit request headers"
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
    """What has been read so far."""

    lines: int = 0
    clock_s: float = 0.0
    handshake_s: float | None = None
    streams: dict[int, _Stream] = field(default_factory=dict)
    last: _Stream | None = None
    alpn: str = ""
    cipher: str = ""
    rejected: bool = False
    errors: list[str] = field(default_factory=list)

    def read(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.lines += 1
            match = _LINE.match(line)
            if match is not None:
                self._take({name: said for name, said in match.groupdict().items() if said})

    def _take(self, said: dict[str, str]) -> None:
        self._take_clock(said)
        self._take_request(said)
        self._take_answer(said)
        self.cipher = said.get("cipher", self.cipher)
        self.alpn = said.get("alpn", self.alpn)
        self.rejected = self.rejected or "rejected" in said
        self.errors += [said["error"]] if "error" in said else []

    def _take_clock(self, said: dict[str, str]) -> None:
        if "ms" in said:
            self.clock_s = int(said["ms"]) / 1e3
        if "handshake" in said:
            self.handshake_s = self.clock_s

    def _take_request(self, said: dict[str, str]) -> None:
        if "asked" in said:
            self.last = self.streams[int(said["asked"], 16)] = _Stream(self.clock_s)
        if "path" in said and self.last is not None:
            self.last.path = said["path"]
        if "early" in said and (stream := self.streams.get(int(said["early"], 16))):
            stream.early = True

    def _take_answer(self, said: dict[str, str]) -> None:
        if "answered" in said and (stream := self.streams.get(int(said["answered"], 16))):
            stream.first_byte_s = stream.first_byte_s or self.clock_s
            stream.status = int(said["status"])
        if "closed" in said and (stream := self.streams.get(int(said["closed"]))):
            stream.code, stream.ended_s = int(said["code"]), self.clock_s


def parse(file: Path) -> ProgramReport:
    """Read every line; a stream that was not closed well is a complaint."""
    story = _Transcript()
    try:
        with untrusted_files.opened(file, MOST_BYTES) as lines:
            story.read(lines)
    except FileNotFoundError:
        return ProgramReport(complaint="gtlsclient printed nothing")
    except UNREADABLE as error:
        return ProgramReport(complaint=f"gtlsclient printed what is not its own: {error!r}")
    if not story.lines:
        return ProgramReport()
    done = [stream for stream in story.streams.values() if stream.code == NO_ERROR]
    return ProgramReport(
        observations=tuple(_observations(story, done)),
        requests=tuple(_request(story, stream) for stream in done),
        complaint=_complaint(story, done),
    )


def _complaint(story: _Transcript, done: list[_Stream]) -> str:
    if story.streams and len(done) == len(story.streams):
        return ""
    codes = [f"error {s.code:#x}" for s in story.streams.values() if s.code and s not in done]
    unfinished = f"{len(story.streams) - len(done)} of {len(story.streams)} requests unfinished"
    reasons = dict.fromkeys((*story.errors, *codes))
    return "; ".join((unfinished if story.streams else "asked for nothing", *reasons))


def _request(story: _Transcript, stream: _Stream) -> LoggedRequest:
    early = stream.early and not story.rejected
    return LoggedRequest(
        http_version="3" if story.alpn == "h3" else story.alpn or "unknown",
        status=stream.status,
        body_bytes=None,
        connection="1",
        cipher=CIPHERS.get(story.cipher, story.cipher),
        resumed=True if early else None,
        early_data=early,
        path=stream.path,
        began_s=stream.began_s,
        ended_s=stream.ended_s,
    )


def _observations(story: _Transcript, done: list[_Stream]) -> list[Observation]:
    values = {
        "client_total_time": max((s.ended_s for s in done if s.ended_s is not None), default=None),
        "client_handshake_time": story.handshake_s,
        "time_to_first_byte": min((s.first_byte_s for s in done if s.first_byte_s), default=None),
    }
    return [
        Observation(metric=metric, value=value, source="client")
        for metric, value in values.items()
        if value
    ]
