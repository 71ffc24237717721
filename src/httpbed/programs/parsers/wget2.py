"""What wget2 prints: ``--stats-site``, and ``--stats-tls`` in a file beside it.

The HTTP version is the one that TLS negotiated (ALPN); without ALPN wget2 speaks HTTP/1.1.
"""

from __future__ import annotations

import csv
from pathlib import Path

from httpbed.base import untrusted_files
from httpbed.programs.parsers.untrusted_values import UNREADABLE, lines_of
from httpbed.programs.protocol import LoggedRequest, ProgramReport

TLS_FILE, ERRORS_FILE = "wget2-tls.csv", "wget2-output.txt"
VERSIONS = {"h2": "2", "http/1.1": "1.1", "": "1.1"}
TLS_VERSIONS = {"5": "TLSv1.3", "4": "TLSv1.2"}
"""GnuTLS's numbers of TLS versions."""
_TLS_VERSION, _RESUMED, _ALPN = 1, 4, 5
"""Columns of a ``--stats-tls`` line."""


def parse(file: Path) -> ProgramReport:
    """Read both files."""
    try:
        rows = [*csv.DictReader(untrusted_files.lines(file, errors="strict"))]
        tls = [*csv.reader(lines_of(file.with_name(TLS_FILE)))]
        requests = tuple(_request(row, tls[0]) for row in rows)
    except FileNotFoundError:
        return ProgramReport(complaint="wget2 wrote no statistics")
    except UNREADABLE as error:
        return ProgramReport(complaint=f"wget2's statistics are unreadable: {error!r}")
    if not requests:
        last = untrusted_files.last_line(file.parent, ERRORS_FILE)
        return ProgramReport(complaint=last or "wget2 sent no request")
    return ProgramReport(requests=requests)


def _request(row: dict[str, str], tls: list[str]) -> LoggedRequest:
    alpn = tls[_ALPN]
    return LoggedRequest(
        http_version=VERSIONS.get(alpn, alpn),
        status=int(row["Status"]),
        body_bytes=int(row["Size"]),
        tls_version=TLS_VERSIONS.get(tls[_TLS_VERSION], ""),
        resumed=tls[_RESUMED] == "1",
        path="/" + row["URL"].split("/", 3)[-1],
    )
