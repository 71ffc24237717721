"""What wget prints for one file with ``--server-response``, in the C locale.

With ``--no-verbose`` it prints one line at the end. Without, each attempt begins with its own line.
It ends with a byte count from the beginning of the file, wherever the attempt began::

    --2026-11-21 21:39:51--  (try: 2)  https://server/5M.txt
      HTTP/1.1 206 Partial Content
      Content-Range: bytes 1998602-4999999/5000000
    2026-11-21 21:39:53 (2.00 MB/s) - '/bodies/5M.txt' saved [5000000/5000000]
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

from httpbed.base import untrusted_files
from httpbed.programs.parsers import VERSIONS, lines_of, path_of
from httpbed.programs.part import LoggedRequest, ProgramReport

_ATTEMPT = re.compile(
    r"^--\d{4}-\d\d-\d\d [0-9:]{8}--  (?:\(try: *\d+\)  )?(?P<url>\S+)$", re.MULTILINE
)
_STATUS = re.compile(r"^ {2}HTTP/(?P<version>[0-9.]+) (?P<status>[0-9]{3})\b", re.MULTILINE)
_FROM = re.compile(
    r"^ {2}Content-Range: bytes (?P<first>[0-9]{1,18})-", re.MULTILINE | re.IGNORECASE
)
_SAVED = re.compile(
    r'^\S+ \S+ URL:(?P<url>\S+) \[(?P<bytes>[0-9]+)(?:/[0-9]+)?\] -> "', re.MULTILINE
)
_CAME_TO = re.compile(
    r"^\S+ \S+ \([^()]*\) - (?:.* (?P<whole>saved) \[|(?P<wrong>(?:Read error|Connection closed)"
    r" at byte ))(?P<bytes>[0-9]{1,18})\b(?P<rest>.*)$",
    re.MULTILINE,
)
_WRONG = re.compile(
    r"^(?:.*\bERROR\b:? ?)(?P<reason>.+)$|^(?P<other>\S.*(?:failed|unable).*|failed: .+)$",
    re.MULTILINE,
)

_MAX_REASONS = 1000


def parse(file: Path) -> ProgramReport:
    """Read wget's output."""
    text = untrusted_files.text(file)
    most = untrusted_files.MAX_LINES
    begins = [match.start() for match in islice(_ATTEMPT.finditer(text), most + 1)]
    if len(begins) > most:
        return ProgramReport(complaint=f"wget's output has more than {most} attempts")
    attempts = [text[begin:end] for begin, end in pairwise([*begins, len(text)])]
    return _attempts(attempts) if attempts else _single_attempt(text)


def _attempts(attempts: list[str]) -> ProgramReport:
    """Read the attempts of one or several runs; only a failure of the last one is a complaint."""
    requests = tuple(request for attempt in attempts for request in _request(attempt))
    ended = _CAME_TO.search(attempts[-1])
    if ended and ended["whole"]:
        return ProgramReport(requests=requests)
    short = f"{ended['wrong']}{ended['bytes']}{ended['rest']}" if ended else ""
    return ProgramReport(
        requests=requests, complaint=short or _complaint(attempts[-1]) or "wget saved nothing"
    )


def _request(attempt: str) -> Iterator[LoggedRequest]:
    """Yield the request of an answered attempt; a killed attempt has no length."""
    url, status, ended = _ATTEMPT.search(attempt), _STATUS.search(attempt), _CAME_TO.search(attempt)
    if url is None or status is None:
        return
    begun = _FROM.search(attempt)
    first = int(begun["first"]) if begun else 0
    body_bytes = max(0, int(ended["bytes"]) - first) if ended else None
    yield LoggedRequest(
        status["version"], int(status["status"]), body_bytes, path=path_of(url["url"])
    )


def _single_attempt(text: str) -> ProgramReport:
    """Read the single attempt of a ``--no-verbose`` run."""
    saved, status = _SAVED.search(text), _STATUS.search(text)
    if status is None:
        return ProgramReport(complaint=_complaint(text) or "wget printed no response header")
    body_bytes = int(saved["bytes"]) if saved else 0
    path = path_of(saved["url"]) if saved else ""
    request = LoggedRequest(status["version"], int(status["status"]), body_bytes, path=path)
    wrong = "" if saved else _complaint(text) or "wget saved nothing"
    return ProgramReport(requests=(request,), complaint=wrong)


def _complaint(text: str) -> str:
    reasons = [
        match["reason"] or match["other"] for match in islice(_WRONG.finditer(text), _MAX_REASONS)
    ]
    return "; ".join(dict.fromkeys(reasons))


# What wget2 prints: ``--stats-site``, and ``--stats-tls`` in a file beside it.
#
# The HTTP version is the one that TLS negotiated (ALPN); without ALPN wget2 speaks HTTP/1.1.


TLS_FILE, ERRORS_FILE = "wget2-tls.csv", "wget2-output.txt"
TLS_VERSIONS = {"5": "TLSv1.3", "4": "TLSv1.2"}
"""GnuTLS's numbers of TLS versions."""
_TLS_VERSION, _RESUMED, _ALPN = 1, 4, 5
"""Columns of a ``--stats-tls`` line."""


def parse_wget2(file: Path) -> ProgramReport:
    """Read both files."""
    rows = [*csv.DictReader(untrusted_files.lines(file, errors="strict"))]
    tls = [*csv.reader(lines_of(file.with_name(TLS_FILE)))]
    requests = tuple(_wget2_request(row, tls[0]) for row in rows)
    if not requests:
        last = untrusted_files.last_line(file.parent, ERRORS_FILE)
        return ProgramReport(complaint=last or "wget2 sent no request")
    return ProgramReport(requests=requests)


def _wget2_request(row: dict[str, str], tls: list[str]) -> LoggedRequest:
    alpn = tls[_ALPN] or "http/1.1"
    return LoggedRequest(
        http_version=VERSIONS.get(alpn, alpn),
        status=int(row["Status"]),
        body_bytes=int(row["Size"]),
        tls_version=TLS_VERSIONS.get(tls[_TLS_VERSION], ""),
        resumed=tls[_RESUMED] == "1",
        path=path_of(row["URL"]),
    )
