"""A real browser with a page of this machine: the Chromium of the toolbox.

It runs in a mount namespace in which the toolbox's root is ``/``, and shares the machine's network,
because the test serves the page on the loopback address.
"""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from httpbed.addons.pages.programs.builtin.browsers.cdp import DevToolsClient
from httpbed.addons.pages.programs.builtin.browsers.chromium_flags import SILENT
from httpbed.bed.toolbox import root_filesystem
from httpbed.programs import catalog as catalogs

SHELL = "chromium-headless-shell"
PROGRAM = "/usr/lib/chromium/chromium-headless-shell"
WAIT_S = 60.0
"""For a page to show something, on a busy machine."""
FIRST_FREE = 10
ENTER = """
mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/tmp"
exec chroot "$@"
"""


class _Pipe:
    """Carries DevTools commands to the browser, and its messages back."""

    def __init__(self, commands: int, messages: int) -> None:
        self._commands, self._messages = commands, messages

    def send(self, message: bytes) -> None:
        """Send a message to the browser."""
        os.write(self._commands, message + b"\0")

    def receive(self, until: float) -> bytes:
        """Return received bytes; empty if none come in time."""
        left_s = max(0.0, until - time.monotonic())
        return (
            os.read(self._messages, 2**20)
            if select.select([self._messages], [], [], left_s)[0]
            else b""
        )


class OpenPage:
    """A page in the browser."""

    def __init__(self, client: DevToolsClient, session: str) -> None:
        self._client, self._session = client, session

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        called = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        result = self._client.call("Runtime.evaluate", self._session, **called)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        before = time.monotonic() + WAIT_S
        while not self.value(expression):
            assert time.monotonic() < before, (expression, self.value("document.body.innerText"))
            time.sleep(0.1)

    def resize(self, width: int, height: int) -> None:
        """Lay the page out for a window of this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._client.call("Emulation.setDeviceMetricsOverride", self._session, **size)


@contextmanager
def opened(address: str) -> Iterator[OpenPage]:
    """Open a page in a browser of its own."""
    contents = catalogs.load()[SHELL].install.contents()
    assert contents
    root = root_filesystem.ensure(contents, say=print).path
    own_to, own_from = _pipe(), _pipe()
    browser = _started(root, own_to[0], own_from[1])
    os.close(own_to[0])
    os.close(own_from[1])
    try:
        page = _attached(DevToolsClient(_Pipe(own_to[1], own_from[0])), address)
        page.until(f"location.href === {address!r} && document.readyState === 'complete'")
        yield page
    finally:
        browser.kill()
        browser.wait()
        os.close(own_to[1])
        os.close(own_from[0])


def _attached(client: DevToolsClient, address: str) -> OpenPage:
    target = client.call("Target.createTarget", url="about:blank")["targetId"]
    session = client.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime"):
        client.call(f"{domain}.enable", session)
    client.call("Page.navigate", session, url=address)
    return OpenPage(client, session)


def _pipe() -> tuple[int, int]:
    """Make a pipe whose ends are not those that the browser uses."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]


def _started(root: Path, commands: int, messages: int) -> subprocess.Popen[bytes]:
    def place() -> None:
        os.dup2(commands, 3)
        os.dup2(messages, 4)

    namespaces = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
    ]
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *SILENT]
    own = ["--user-data-dir=/tmp/profile", "--remote-debugging-pipe", "about:blank"]
    return subprocess.Popen(
        [*namespaces, "/bin/sh", "-c", ENTER, "sh", str(root), PROGRAM, *flags, *own],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=place,  # noqa: PLW1509 - before any thread of the test
        pass_fds=(3, 4),
    )
