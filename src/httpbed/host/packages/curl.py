"""Fetches files from outside with curl, within bounds: from whom, how many bytes, for how long.

curl is this machine's, with what the user set for it (proxies, certificates), or else that of a
root filesystem of the toolbox. It tells where redirects led, which a page's links depend on.
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

from httpbed.experiment.errors import HostError
from httpbed.host.packages import elf, ssrf_guard, toolbox
from httpbed.host.packages.ssrf_guard import Destination

TOOLS = toolbox.Contents("trixie", frozenset({"curl"}))
"""What fetches where there is no curl."""
_AT_ONCE = 6
_MOST_REDIRECTS = 10
_LOOK_S = 0.1
"""How often it is looked whether curl's files are longer than they may be."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Fetched:
    """What came for a URL."""

    url: str
    """Where redirects led."""
    type: str
    """Media type, as it was said; empty where none was."""
    body: bytes
    failed: str = ""
    """Why there is nothing; in words."""


def command(say: Say) -> list[str]:
    """Begin curl's command line.

    Raises:
        HostError: It cannot be had here.
    """
    if own := shutil.which("curl"):
        return [own]
    root = toolbox.ensure(TOOLS, say=say).path
    loading = elf.loading(root, "/usr/bin/curl")
    if loading is None:
        raise HostError("the toolbox's curl cannot be run", "install curl")
    return loading


def fetch(
    program: Sequence[str],
    urls: Sequence[str],
    *,
    most_bytes: int,
    time_limit_s: float,
    may_be_inside: bool = False,
) -> dict[str, Fetched]:
    """Fetch URLs, all together at most ``most_bytes`` long and within ``time_limit_s``.

    Redirects are followed one by one, so that none leads into the user's own network unseen.

    Args:
        program: How curl's command line begins.
        urls: What is fetched, each once.
        most_bytes: On the disk and in memory, of what was packed when it is unpacked.
        time_limit_s: From now.
        may_be_inside: Whether this machine and its own network may be asked.
    """
    ends = time.monotonic() + time_limit_s
    got: dict[str, Fetched] = {}
    at = {url: url for url in urls}
    for _ in range(_MOST_REDIRECTS + 1):
        found = ssrf_guard.destinations(at.values(), may_be_inside=may_be_inside, ends=ends)
        open_ = {
            url: way for url, here in at.items() if isinstance(way := found[here], Destination)
        }
        got |= {
            url: Fetched(here, "", b"", str(found[here]))
            for url, here in at.items()
            if url not in open_
        }
        room = most_bytes - sum(len(one.body) for one in got.values())
        came = _round(program, open_, room, ends) if open_ else {}
        got |= {url: one for url, one in came.items() if isinstance(one, Fetched)}
        at = {url: one for url, one in came.items() if isinstance(one, str)}
    return got | {url: Fetched(here, "", b"", "it leads on and on") for url, here in at.items()}


def _round(
    program: Sequence[str], ways: Mapping[str, Destination], most_bytes: int, ends: float
) -> dict[str, Fetched | str]:
    """Fetch each URL by its way; return what came, or where it leads on."""
    with tempfile.TemporaryDirectory() as scratch:
        files = {url: Path(scratch, str(at)) for at, url in enumerate(ways)}
        pinned = {_pin(way) for way in ways.values() if way.addresses}
        settings = "".join(
            [*sorted(pinned), *(_setting(ways[url].url, files[url]) for url in ways)]
        )
        told = _told(_run(program, settings, Path(scratch), most_bytes, ends))
        answers: dict[str, Fetched | str] = {}
        for url, file in files.items():
            answers[url] = _got(told.get(str(file)), file, most_bytes)
            most_bytes -= len(one.body) if isinstance(one := answers[url], Fetched) else 0
        return answers


def _run(
    program: Sequence[str], settings: str, scratch: Path, most_bytes: int, ends: float
) -> bytes:
    """Run curl until it has all, time is up, or its files are too long; return what it tells."""
    left_s = max(1.0, ends - time.monotonic())
    words = [
        *("--disable", "--silent", "--parallel", "--parallel-max", str(_AT_ONCE)),
        *("--proto", "=http,https", "--compressed", "--max-filesize", str(max(1, most_bytes))),
        *("--globoff", "--max-time", f"{left_s:.0f}", "--write-out", r"%{json}\n"),
        *("--config", "-"),
    ]
    # What a file is longer than may be is told to curl as an error, not by a signal, which Python
    # leaves ignored.
    curl = subprocess.Popen(
        [*program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        restore_signals=False,
    )
    # It does nothing before it has read its settings.
    resource.prlimit(curl.pid, resource.RLIMIT_FSIZE, (most_bytes + 1, most_bytes + 1))
    said: bytes | None = settings.encode(errors="surrogateescape")
    while True:
        try:
            return curl.communicate(said, timeout=_LOOK_S)[0]
        except subprocess.TimeoutExpired:
            said = None
            if time.monotonic() > ends + 1 or _weight(scratch) > most_bytes:
                curl.kill()


def _weight(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _pin(way: Destination) -> str:
    """Hold a name to the addresses that were looked at."""
    shown = ",".join(f"[{one}]" if ":" in one else one for one in way.addresses)
    return f'resolve = "{way.host}:{way.port}:{shown}"\n'


def _setting(url: str, file: Path) -> str:
    quoted = url.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "").replace("\r", "")
    return f'url = "{quoted}"\noutput = "{file}"\n'


def _told(output: bytes) -> dict[str, dict[str, Any]]:
    """Return what curl tells of each transfer, by the file that it wrote."""
    told = {}
    for line in output.decode(errors="replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        told[str(said.get("filename_effective"))] = said
    return told


def _got(told: dict[str, Any] | None, file: Path, most_bytes: int) -> Fetched | str:
    """Return what came for a URL, or the URL that its answer leads to."""
    size = file.stat().st_size if file.exists() else 0
    if size > most_bytes:
        return Fetched("", "", b"", f"is longer than the {most_bytes} bytes that are left")
    if told is None:
        return Fetched("", "", b"", "it was not fetched in time")
    url = str(told.get("url_effective"))
    if told.get("errormsg"):
        return Fetched(url, "", b"", str(told["errormsg"]))
    if told.get("redirect_url"):
        return str(told["redirect_url"])
    status = int(told.get("http_code") or 0)
    if status != _OK:
        return Fetched(url, "", b"", f"its server answered {status}")
    kind = str(told.get("content_type") or "").split(";")[0].strip().lower()
    return Fetched(url, _SAME.get(kind, kind), file.read_bytes() if size else b"")


_OK = 200
_SAME = {
    "application/javascript": "text/javascript",
    "application/x-javascript": "text/javascript",
    "image/jpg": "image/jpeg",
    "application/font-woff": "font/woff",
    "application/font-woff2": "font/woff2",
}
"""Types that are called by several names."""
