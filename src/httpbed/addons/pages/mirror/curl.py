"""Fetches files from the Internet with curl, within limits of hosts, bytes and time.

curl is this machine's, with the user's settings for proxies and certificates, or else that of a
root filesystem of the toolbox.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.pages.mirror import ssrf_guard
from httpbed.addons.pages.mirror.ssrf_guard import Destination, Permission
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import root_files, toolbox

TOOLS = toolbox.Contents("trixie", frozenset({"curl"}))
"""The root filesystem that is used if this machine has no curl."""
_AT_ONCE = 6
_MOST_REDIRECTS = 10
_LOOK_S = 0.1
"""Interval at which the size of curl's files is checked."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Fetched:
    """The result of fetching a URL."""

    url: str
    """The URL after all redirects."""
    type: str
    """Media type of the response; empty if it has none."""
    body: bytes
    failed: str = ""
    """Why the fetch failed; empty if it succeeded."""


def command(say: Say) -> list[str]:
    """Return the beginning of curl's command line.

    Raises:
        HostError: curl cannot be installed or run.
    """
    if own := shutil.which("curl"):
        return [own]
    root = toolbox.ensure(TOOLS, say=say).path
    loading = root_files.loading(root, "/usr/bin/curl")
    if loading is None:
        raise HostError("the toolbox's curl cannot be run", "install curl")
    return loading


def fetch(
    program: Sequence[str],
    urls: Sequence[str],
    *,
    most_bytes: int,
    time_limit_s: float,
    permission: Permission = ssrf_guard.NOTHING,
) -> dict[str, Fetched]:
    """Fetch URLs within a total size and time.

    Each redirect is checked before it is followed: none leads to a place that a URL may not name.

    Args:
        program: The beginning of curl's command line.
        urls: The URLs, each once.
        most_bytes: Limit of all bodies together, after decompression.
        time_limit_s: Limit in seconds from now.
        permission: What of this machine's own network is permitted.
    """
    ends = time.monotonic() + time_limit_s
    results: dict[str, Fetched] = {}
    redirected = {url: url for url in urls}
    for _ in range(_MOST_REDIRECTS + 1):
        permitted: dict[str, Destination] = {}
        checked = ssrf_guard.destinations(redirected.values(), permission, ends=ends)
        for url, current in redirected.items():
            destination = checked[current]
            if isinstance(destination, Destination):
                permitted[url] = destination
            else:
                results[url] = Fetched(current, "", b"", str(destination))
        left_bytes = most_bytes - sum(len(result.body) for result in results.values())
        answers = _fetch_once(program, permitted, left_bytes, ends) if permitted else {}
        results |= {url: one for url, one in answers.items() if isinstance(one, Fetched)}
        redirected = {url: one for url, one in answers.items() if isinstance(one, str)}
    too_many = f"more than {_MOST_REDIRECTS} redirects"
    return results | {
        url: Fetched(current, "", b"", too_many) for url, current in redirected.items()
    }


def _fetch_once(
    program: Sequence[str], destinations: Mapping[str, Destination], most_bytes: int, ends: float
) -> dict[str, Fetched | str]:
    """Fetch each URL from its destination; return the result, or the URL of a redirect."""
    with tempfile.TemporaryDirectory() as scratch:
        files = {url: Path(scratch, str(number)) for number, url in enumerate(destinations)}
        pins = {_pin(one) for one in destinations.values() if one.addresses}
        transfers = (_setting(one.url, files[url]) for url, one in destinations.items())
        settings = "".join([*sorted(pins), *transfers])
        reports = _reports(_run(program, settings, Path(scratch), most_bytes, ends))
        answers: dict[str, Fetched | str] = {}
        for url, file in files.items():
            answers[url] = _result(reports.get(str(file)), file, most_bytes)
            most_bytes -= len(one.body) if isinstance(one := answers[url], Fetched) else 0
        return answers


def _run(
    program: Sequence[str], settings: str, scratch: Path, most_bytes: int, ends: float
) -> bytes:
    """Run curl until it ends, or exceeds the time or size limit; return its reports."""
    left_s = max(1.0, ends - time.monotonic())
    words = [
        *("--disable", "--silent", "--parallel", "--parallel-max", str(_AT_ONCE)),
        *("--proto", "=http,https", "--compressed", "--max-filesize", str(max(1, most_bytes))),
        *("--globoff", "--max-time", f"{left_s:.0f}", "--write-out", r"%{json}\n"),
        *("--config", "-"),
    ]
    # With restored signals, SIGXFSZ would kill curl at the size limit; ignored, curl gets an error.
    curl = subprocess.Popen(
        [*program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        restore_signals=False,
    )
    # curl does nothing before it has read its settings.
    resource.prlimit(curl.pid, resource.RLIMIT_FSIZE, (most_bytes + 1, most_bytes + 1))
    config: bytes | None = settings.encode(errors="surrogateescape")
    while True:
        try:
            return curl.communicate(config, timeout=_LOOK_S)[0]
        except subprocess.TimeoutExpired:
            config = None
            if time.monotonic() > ends + 1 or _weight(scratch) > most_bytes:
                curl.kill()


def _weight(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _pin(destination: Destination) -> str:
    """Return the setting that pins a name to the checked addresses."""
    shown = ",".join(f"[{one}]" if ":" in one else one for one in destination.addresses)
    return f'resolve = "{destination.host}:{destination.port}:{shown}"\n'


def _setting(url: str, file: Path) -> str:
    quoted = url.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "").replace("\r", "")
    return f'url = "{quoted}"\noutput = "{file}"\n'


def _reports(output: bytes) -> dict[str, dict[str, Any]]:
    """Return curl's report of each transfer, by the file that curl wrote."""
    reports = {}
    for line in output.decode(errors="replace").splitlines():
        try:
            report = json.loads(line)
        except ValueError:
            continue
        reports[str(report.get("filename_effective"))] = report
    return reports


def _result(report: dict[str, Any] | None, file: Path, most_bytes: int) -> Fetched | str:
    """Return the result of a transfer, or the URL of its redirect."""
    size = file.stat().st_size if file.exists() else 0
    if size > most_bytes:
        return Fetched("", "", b"", f"is longer than the remaining {most_bytes} bytes")
    if report is None:
        return Fetched("", "", b"", "it was not fetched in time")
    url = str(report.get("url_effective"))
    if report.get("errormsg"):
        return Fetched(url, "", b"", str(report["errormsg"]))
    if report.get("redirect_url"):
        return str(report["redirect_url"])
    status = int(report.get("http_code") or 0)
    if status != _OK:
        return Fetched(url, "", b"", f"the server responded with status {status}")
    kind = str(report.get("content_type") or "").split(";")[0].strip().lower()
    return Fetched(url, _SAME.get(kind, kind), file.read_bytes() if size else b"")


_OK = 200
_SAME = {
    "application/javascript": "text/javascript",
    "application/x-javascript": "text/javascript",
    "image/jpg": "image/jpeg",
    "application/font-woff": "font/woff",
    "application/font-woff2": "font/woff2",
}
"""Media types with several names."""
