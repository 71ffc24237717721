"""Fetches files from outside with curl, within bounds: how many bytes each, and for how long.

curl is this machine's, with what the user set for it (proxies, certificates), or else that of a
root filesystem of the toolbox. It tells where redirects led, which a page's links depend on.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.host import elf, toolbox
from httpbed.model.errors import HostError

TOOLS = toolbox.Contents("trixie", frozenset({"curl"}))
"""What fetches where there is no curl."""
_AT_ONCE = 6

Say = Callable[[str], None]


@dataclass(frozen=True)
class Got:
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
    program: Sequence[str], urls: Sequence[str], *, most_bytes: int, time_limit_s: float
) -> dict[str, Got]:
    """Fetch URLs, each at most ``most_bytes`` long, all within ``time_limit_s``."""
    with tempfile.TemporaryDirectory() as scratch:
        files = [Path(scratch, str(at)) for at in range(len(urls))]
        settings = "".join(map(_setting, urls, files))
        words = [
            *("--disable", "--silent", "--parallel", "--parallel-max", str(_AT_ONCE)),
            *("--location", "--max-redirs", "10", "--proto", "=http,https"),
            *("--compressed", "--max-filesize", str(most_bytes), "--globoff"),
            *("--max-time", f"{time_limit_s:.0f}", "--write-out", r"%{json}\n", "--config", "-"),
        ]
        try:
            done = subprocess.run(
                [*program, *words],
                input=settings.encode(),
                check=False,
                capture_output=True,
                timeout=time_limit_s + 5,
            )
            told = _told(done.stdout)
        except subprocess.TimeoutExpired:
            told = {}
        return {
            url: _got(told.get(str(file)), file, most_bytes)
            for url, file in zip(urls, files, strict=True)
        }


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


def _got(told: dict[str, Any] | None, file: Path, most_bytes: int) -> Got:
    if told is None:
        return Got("", "", b"", "it was not fetched in time")
    url = str(told.get("url_effective"))
    if told.get("errormsg"):
        return Got(url, "", b"", str(told["errormsg"]))
    status = int(told.get("http_code") or 0)
    if status != _OK:
        return Got(url, "", b"", f"its server answered {status}")
    body = file.read_bytes() if file.exists() else b""
    if len(body) > most_bytes:  # of a body without an announced length
        return Got(url, "", b"", f"is longer than {most_bytes} bytes")
    kind = str(told.get("content_type") or "").split(";")[0].strip().lower()
    return Got(url, _SAME.get(kind, kind), body)


_OK = 200
_SAME = {
    "application/javascript": "text/javascript",
    "application/x-javascript": "text/javascript",
    "image/jpg": "image/jpeg",
    "application/font-woff": "font/woff",
    "application/font-woff2": "font/woff2",
}
"""Types that are called by several names."""
