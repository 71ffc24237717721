"""Load the ten pages in Chromium and keep its traces.

``unshare -Urn python -m bench.speed_index.record FOLDER --browser PROGRAM``. The traces are kept
as the browser told them, screenshots included, compressed with xz. It runs in a network namespace
of its own, where there is nothing but loopback. ``Tracing`` is told to the page: told to the whole
browser, it gives no screenshots.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import lzma
import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.speed_index import sites

CATEGORIES = ("disabled-by-default-devtools.screenshot", "blink.user_timing", "rail")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")
LIMIT_S = 30.0
_FIRST_FREE = 20


class Browser:
    """A Chromium that is told what to do over a pipe."""

    def __init__(self, program: Path, profile: Path) -> None:
        told_from, self._tell = os.pipe()
        self._hear, heard_from = os.pipe()

        def join() -> None:
            # Away first: either may be the other's number already.
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, _FIRST_FREE) for end in (told_from, heard_from)]
            for number, end in enumerate(ends, start=3):
                os.dup2(end, number)

        self._process = subprocess.Popen(
            [program, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            preexec_fn=join,  # noqa: PLW1509  # what it does between is safe
            close_fds=False,
            env={"HOME": str(profile)},
            stderr=subprocess.DEVNULL,
        )
        os.close(told_from)
        os.close(heard_from)
        self._rest = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        self._answers: dict[int, dict[str, Any]] = {}

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Ask for something, and wait for the answer."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        message |= {"sessionId": session} if session else {}
        os.write(self._tell, json.dumps(message).encode() + b"\0")
        self.wait(lambda: number in self._answers)
        answer: dict[str, Any] = self._answers.pop(number)
        return dict(answer["result"])

    def wait(self, is_so: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
        """Listen until something is so, or for as long."""
        end = time.monotonic() + limit_s
        while not is_so() and (left := end - time.monotonic()) > 0:
            if select.select([self._hear], [], [], left)[0]:
                *messages, self._rest = (self._rest + os.read(self._hear, 2**20)).split(b"\0")
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._answers[message["id"]] = message
                    else:
                        self.events.append(message)

    def has_told(self, method: str) -> bool:
        """Whether an event has come."""
        return any(event["method"] == method for event in self.events)

    def end(self) -> None:
        """Close the pipe, which ends it."""
        os.close(self._tell)
        os.close(self._hear)
        self._process.wait(LIMIT_S)


@contextlib.contextmanager
def browser(program: Path) -> Iterator[Browser]:
    """Run a browser with a profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        running = Browser(program, Path(profile))
        try:
            yield running
        finally:
            running.end()


def trace(running: Browser, url: str, watched_s: float) -> list[dict[str, Any]]:
    """Load a page, and return the events of its trace."""
    page = running.call("Target.createTarget", url="about:blank")["targetId"]
    session = running.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    running.call("Page.enable", session)
    screen = {"width": 1366, "height": 768, "deviceScaleFactor": 1, "mobile": False}
    running.call("Emulation.setDeviceMetricsOverride", session, **screen)
    what = {"includedCategories": CATEGORIES, "excludedCategories": ["*"]}
    running.call("Tracing.start", session, traceConfig=what, transferMode="ReportEvents")
    running.events.clear()
    running.call("Page.navigate", session, url=url)
    running.wait(lambda: running.has_told("Page.loadEventFired"))
    running.wait(lambda: False, watched_s)
    running.call("Tracing.end", session)
    running.wait(lambda: running.has_told("Tracing.tracingComplete"))
    told = [event["params"]["value"] for event in running.events if "Collected" in event["method"]]
    return [event for some in told for event in some]


def main() -> None:
    """Record them all."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--browser", type=Path, required=True)
    arguments.add_argument("--only", default="")
    said = arguments.parse_args()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = sites.serve()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, site in sites.all_sites().items():
        if said.only in ("", name):
            sites.Handler.site = site
            with browser(said.browser) as running:
                url = f"http://127.0.0.1:{server.server_port}/"
                events = trace(running, url, site.watched_s)
            file = said.folder / f"{name}.json.xz"
            file.write_bytes(lzma.compress(json.dumps({"traceEvents": events}).encode(), preset=9))
            shots = sum(event["name"] == "Screenshot" for event in events)
            print(f"{name}: {shots} screenshots, {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
