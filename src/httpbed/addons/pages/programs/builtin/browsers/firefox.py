"""Load a page in Firefox, and write down what it reports in the form of Chromium's driver.

The exit status is 0 if load.json says how the load ended, whatever the page or the browser did.
Otherwise it is 1, with the reason on standard error.

There are no pictures, and so no Speed Index: Firefox reports no frames, and each screenshot makes
it paint what it has. The first contentful paint of every page was then that of its bare text.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from . import firefox_profile, load_record
from .bidi_events import MS, PAGE, Json, Translator
from .bounded_files import MAX_EVENT_BYTES, BoundedLines, TraceFiles
from .browser import Browser, BrowserEndedError
from .cdp import MAX_MESSAGE_BYTES, CommandError, DevToolsClient
from .load_end import MAX_WORDS, Ending, Watch
from .load_record import LoadRecord

READY_S = 30.0
"""Time for a browser to listen."""
LOOK_S = 0.02
AFTER_S = 10.0
"""Time for all work after a load."""
NOWHERE = "https://127.0.0.1:65535/"
BODIES_ONLY = "bytes are those of bodies: over HTTP/2 and 3, Firefox does not count headers as sent"
ENVIRONMENT = {"MOZ_REMOTE_SETTINGS_DEVTOOLS": "1"}
"""Without it, a release ignores the preference that names no server of settings."""
EVENTS = (
    "browsingContext.contextCreated",
    "browsingContext.downloadWillBegin",
    "browsingContext.load",
    "browsingContext.navigationCommitted",
    "browsingContext.navigationFailed",
    "browsingContext.userPromptOpened",
    "network.beforeRequestSent",
    "network.fetchError",
    "network.responseCompleted",
    "network.responseStarted",
)
SEEN = """new Promise((done) => {
  const largest = [];
  const tell = () => done(JSON.stringify({
    origin: performance.timeOrigin,
    parsed: performance.getEntriesByType("navigation")[0].domContentLoadedEventStart,
    loaded: performance.getEntriesByType("navigation")[0].loadEventStart,
    first: performance.getEntriesByName("first-contentful-paint").map((one) => one.startTime)[0],
    largest: largest.map((one) => {
      const image = one.url && performance.getEntriesByName(one.url)[0];
      return {at: one.startTime, image: image && [image.startTime, image.responseEnd]};
    }).at(-1),
    title: document.title,
    screen: {inner: [innerWidth, innerHeight], screen: [screen.width, screen.height],
      pixel_ratio: devicePixelRatio, user_agent: navigator.userAgent},
  }));
  new PerformanceObserver((list) => largest.push(...list.getEntries()))
    .observe({type: "largest-contentful-paint", buffered: true});
  setTimeout(tell, 50);
})"""
"""What a script sees after the load, in a sandbox that the page cannot change."""


class WebSocketPipe:
    """Carries messages to and from the browser; a zero byte ends each, as of Chromium's pipe."""

    def __init__(self, port: int) -> None:
        """Connect to the browser's port on loopback.

        Raises:
            OSError: Nothing listens there.
        """
        url = f"ws://127.0.0.1:{port}/session"
        self._socket = connect(url, max_size=MAX_MESSAGE_BYTES, proxy=None)

    def send(self, message: bytes) -> None:
        """Send a message to the browser."""
        try:
            self._socket.send(message, text=True)
        except (ConnectionClosed, OSError) as error:
            raise BrowserEndedError(f"it took no more commands: {error}") from None

    def receive(self, until: float) -> bytes:
        """Return a whole message; empty if none comes before the clock shows ``until``."""
        try:
            text = self._socket.recv(timeout=max(0.0, until - time.monotonic()), decode=False)
        except TimeoutError:
            return b""
        except (ConnectionClosed, OSError) as error:
            raise BrowserEndedError(f"it closed the connection: {error}") from None
        return bytes(text) + b"\0"


@dataclass
class FirefoxLoad:
    """One load in one browser."""

    options: argparse.Namespace
    profile: Path

    def run(self) -> LoadRecord:
        """Load the page, and return how the load ended."""
        options = self.options
        self.give_up_s = time.monotonic() + options.time_limit
        argv = [options.browser, "--headless", "--no-remote", "--profile", str(self.profile)]
        argv += ["--remote-debugging-port", "0"]
        self.record = LoadRecord(
            arguments=argv, url=options.url, visit="cold", http_version=options.http_version
        )
        firefox_profile.make(self.profile, options)
        os.environ.update(ENVIRONMENT)
        self.record.began_ns = time.monotonic_ns()
        self.browser = Browser(argv, options.folder / "browser.txt")
        self.events = BoundedLines(options.folder / "cdp.jsonl", MAX_EVENT_BYTES)
        self.trace = TraceFiles(options.folder)
        try:
            ending = self._measure()
        except BrowserEndedError as error:
            ending = Ending("browser ended", f"{error}{self.browser.last_words()}")
        finally:
            self.record.ended_ns = self.record.ended_ns or time.monotonic_ns()
            self.record.cpu_s = self.browser.end()
            self.record.trace_cut |= self.trace.close()
            self.events.close()
        self.record.ended, self.record.reason = ending.kind, ending.reason
        self.record.truncated |= self.events.truncated
        return self.record

    def _measure(self) -> Ending:
        self.bidi = DevToolsClient(WebSocketPipe(self._port()))
        capabilities = {"alwaysMatch": {"unhandledPromptBehavior": {"default": "dismiss"}}}
        made = self.bidi.call("session.new", capabilities=capabilities)["capabilities"]
        self.record.product = f"Firefox/{made['browserVersion']}"
        self.record.ready_ns = time.monotonic_ns()
        context = self.bidi.call("browsingContext.getTree")["contexts"][0]["context"]
        width, height = self.options.viewport
        self.bidi.call(
            "browsingContext.setViewport", context=context,
            viewport={"width": width, "height": height},
        )  # fmt: skip
        with contextlib.suppress(CommandError):  # the trial's folder is bounded anyway
            self.bidi.call("browser.setDownloadBehavior", downloadBehavior={"type": "denied"})
        self._load_tls(context)
        self.bidi.call("session.subscribe", events=[*EVENTS])
        self.translator = Translator(context, time.monotonic() - time.time())
        self.watch = Watch(self.options.names, PAGE, context, time.time())
        self.record.navigated_ns = time.monotonic_ns()
        ending = self._follow(context)
        self.record.ended_ns = time.monotonic_ns()
        self.record.dialogs = self.watch.dialogs
        if self.options.http_version != "1.1":
            self.record.notes.append(BODIES_ONLY)
        self._after(context)
        return ending

    def _load_tls(self, context: str) -> None:
        """Have the browser load its TLS library: before that, it uses no HTTP/3.

        Any attempt of a connection does so, here one that loopback refuses.
        """
        with contextlib.suppress(CommandError):
            self.bidi.call(
                "browsingContext.navigate", context=context, url=NOWHERE, wait="complete"
            )

    def _port(self) -> int:
        """Wait until the browser listens; return its port.

        Raises:
            CommandError: It does not.
        """
        file = self.profile / "WebDriverBiDiServer.json"
        until = min(time.monotonic() + READY_S, self.give_up_s)
        while time.monotonic() < until:
            try:
                return int(json.loads(file.read_text())["ws_port"])
            except (OSError, ValueError, KeyError):  # not there yet, or half written
                time.sleep(LOOK_S)
        raise CommandError(f"it did not listen within {READY_S:g} s{self.browser.last_words()}")

    def _follow(self, context: str) -> Ending:
        """Navigate, and record all events until the load is over."""
        self.is_committed = False
        command = self.bidi.send(
            "browsingContext.navigate", context=context, url=self.options.url, wait="none"
        )
        while (now := time.monotonic()) < self.give_up_s and not self.watch.look(now):
            message = self.bidi.next(min(self.give_up_s, self.watch.due()))
            if message and message.fields.get("id") == command:
                self.watch.answer(_answer(message.fields))
            elif message:
                self._take(message.fields)
        return self.watch.ending or Ending("time limit", self.watch.unfinished())

    def _take(self, message: Json) -> None:
        for event in self.translator.events(message):
            if event["method"] != "Page.loadEventFired":  # the page's own clock is more precise
                self.events.write(json.dumps(event).encode())
            self.watch.take(event["method"], event["params"], event["sessionId"], time.monotonic())
        params = message.get("params", {})
        self.is_committed |= message.get("method") == "browsingContext.navigationCommitted"
        if message.get("method") == "browsingContext.navigationFailed" and not self.is_committed:
            self.watch.answer(
                {"error": {"message": params.get("message") or "it cannot be loaded"}}
            )
        if message.get("method") == "browsingContext.contextCreated" and params["originalOpener"]:
            self.bidi.send("browsingContext.close", context=params["context"])

    def _after(self, context: str) -> None:
        """Ask the page for its times and close; a failure does not change how the load ended."""
        self.bidi.give_up_s = time.monotonic() + AFTER_S
        try:
            answer = self.bidi.call(
                "script.evaluate", expression=SEEN, awaitPromise=True,
                target={"context": context, "sandbox": "httpbed"},
            )  # fmt: skip
            self._keep_times(json.loads(answer["result"]["value"]))
            self.bidi.send("browser.close")
            self.browser.await_end(self.bidi.give_up_s)
        except (BrowserEndedError, CommandError, KeyError, TypeError, ValueError) as error:
            self.record.trace_cut = True
            self.record.notes.append(f"after the load: {error}")

    def _keep_times(self, seen: dict[str, Any]) -> None:
        """Write the page's times as Chromium's events and trace have them."""
        self.record.title, self.record.screen = str(seen["title"])[:MAX_WORDS], seen["screen"]
        origin_s = self.translator.clock_s(float(seen["origin"]))
        named = {"Page.domContentEventFired": seen["parsed"], "Page.loadEventFired": seen["loaded"]}
        for method, at_ms in named.items():
            if at_ms:
                event = {"method": method, "params": {"timestamp": origin_s + at_ms * MS}}
                self.events.write(json.dumps({**event, "sessionId": PAGE}).encode())
        self.trace.take([*self._marks(seen, origin_s)])

    def _marks(self, seen: dict[str, Any], origin_s: float) -> Iterator[Json]:
        largest = seen.get("largest") or {}
        image = largest.get("image") or (None, None)
        marks: list[tuple[str, float | None, Json]] = [
            ("navigationStart", 0.0, {}),
            ("firstContentfulPaint", seen.get("first"), {}),
            (
                "largestContentfulPaint::Candidate",
                largest.get("at"),
                {"imageLoadStart": image[0], "imageLoadEnd": image[1]},
            ),
        ]
        for name, at_ms, about in marks:
            if at_ms is not None:
                data = {"navigationId": self.translator.navigation, **about}
                at_us = (origin_s + at_ms * MS) * 1e6
                yield {"name": name, "ts": at_us, "args": {"frame": "page", "data": data}}


def _answer(message: Json) -> Json:
    """Return the response to the navigation in the form of the DevTools Protocol's."""
    if "error" in message:
        return {"error": {"message": message.get("message", "refused")}}
    return {"result": {}}


def read() -> argparse.Namespace:
    """Read the command line."""
    parser = load_record.parser(__doc__)
    parser.add_argument("--ca", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    """Load the page and write load.json, or exit with the reason why not."""
    options = read()
    load_record.keep(options, lambda profile: FirefoxLoad(options, profile).run())


if __name__ == "__main__":
    main()
