"""The far end of tunnels that carry UDP (CONNECT-UDP, RFC 9298): its access log in our words.

A line is a tunnel, not a request of the client's: one tunnel carries all requests of a connection,
encrypted, and ends by being reset. So no request comes of it; a tunnel that was refused does tell.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from httpbed.programs.parsers import access_log
from httpbed.programs.protocol import ProgramReport

OPENED = 200


def parse(file: Path) -> ProgramReport:
    """Read every line; complain of a tunnel that was not opened, and if there was none."""
    found = access_log.parse(file)
    refused = [one.status for one in found.requests if one.status != OPENED]
    none = "" if found.requests else "no tunnel was logged"
    complaint = f"a tunnel was refused with status {refused[0]}" if refused else found.complaint
    complaint = complaint or none
    return replace(found, requests=(), complaint=complaint)
