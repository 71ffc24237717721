"""What h2load prints: a summary, and the file of ``--log-file``.

The log has a line per request: start (microseconds since 1970), status, duration (microseconds).
Only the summary has bytes, for all requests together.
"""

from __future__ import annotations

import re
from pathlib import Path

from httpbed.base import untrusted_files
from httpbed.experiment.metric import Observation
from httpbed.programs.parsers import UNREADABLE, VERSIONS, lines_of, reason
from httpbed.programs.part import LoggedRequest, ProgramReport

LOG_FILE = "h2load-requests.tsv"
_PROTOCOL = re.compile(r"^Application protocol: (?P<alpn>\S+)$", re.MULTILINE)
_TLS = re.compile(r"^TLS Protocol: (?P<tls>\S+)$", re.MULTILINE)
_CIPHER = re.compile(r"^Cipher: (?P<cipher>\S+)$", re.MULTILINE)
_COUNTS = re.compile(
    r"^requests: (?P<total>\d+) total, .* (?P<succeeded>\d+) succeeded, (?P<failed>\d+) failed",
    re.MULTILINE,
)
_DATA = re.compile(r"^traffic: .* \((?P<bytes>\d+)\) data$", re.MULTILINE)


def parse(file: Path) -> ProgramReport:
    """Read both files."""
    text = untrusted_files.text(file)
    counts, data = _COUNTS.search(text), _DATA.search(text)
    if counts is None or data is None:
        return ProgramReport(complaint="h2load printed no summary")
    try:
        requests = _requests(text, file.with_name(LOG_FILE), int(data["bytes"]))
    except UNREADABLE as error:
        return ProgramReport(complaint=f"h2load's log of requests is unreadable: {reason(error)}")
    failed = int(counts["failed"])
    complaint = f"{failed} of {counts['total']} requests failed" if failed else ""
    total = max((request.ended_s or 0.0 for request in requests), default=0.0)
    observations = (
        (Observation(metric="client_total_time", value=total, source="client"),) if total else ()
    )
    return ProgramReport(observations, requests, complaint)


def _requests(text: str, log: Path, body_bytes: int) -> tuple[LoggedRequest, ...]:
    """Read the log; each request has an equal share of the bytes, as all files have one size."""
    rows = [[int(word) for word in line.split("\t")] for line in lines_of(log)]
    origin = min((began for began, _, _ in rows), default=0)
    alpn = _word(_PROTOCOL, text, "alpn")
    return tuple(
        LoggedRequest(
            http_version=VERSIONS.get(alpn, alpn),
            status=status,
            body_bytes=body_bytes // len(rows),
            tls_version=_word(_TLS, text, "tls"),
            cipher=_word(_CIPHER, text, "cipher"),
            began_s=(began - origin) / 1e6,
            ended_s=(began - origin + took) / 1e6,
        )
        for began, status, took in rows
    )


def _word(pattern: re.Pattern[str], text: str, group: str) -> str:
    match = pattern.search(text)
    return match[group] if match else ""
