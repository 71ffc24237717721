"""Load a page, or one file, and write down what the browser reports.

The exit status is 0 if load.json says how the load ended, whatever the page or the browser did.
Otherwise it is 1, with the reason on standard error.

Times are nanoseconds of CLOCK_MONOTONIC, the browser's own clock.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from pathlib import Path
from typing import Any

from . import load_record, sockets
from . import visit as visits
from .bounded_files import BUFFERS, MAX_EVENT_BYTES, Bodies, BoundedLines, TraceFiles
from .browser import Browser, BrowserEndedError
from .cdp import CommandError, DevToolsClient, Message
from .chromium_flags import arguments, make_profile
from .load_end import MAX_WORDS, Ending, Watch
from .load_record import LoadRecord

MAX_STARTS = 3
"""Number of browsers started until one answers."""
QUIT_S = 10.0
"""Time for a browser to end after the command to close."""
AFTER_S = 10.0
"""Time for all work after a load: collecting its trace and closing the browser."""
MAX_DUMPS = 5
"""How often open connections are listed and ended; one listing misses those opened meanwhile."""
SESSION_COMMANDS = ("Network.enable", "Page.enable", "Runtime.runIfWaitingForDebugger")
CATEGORIES = ("blink.user_timing", "disabled-by-default-devtools.screenshot", "rail")
"""Trace categories: marks of navigation and paint, and pictures."""


SCREEN = (
    "({inner: [innerWidth, innerHeight], screen: [screen.width, screen.height],"
    " pixel_ratio: devicePixelRatio, user_agent: navigator.userAgent})"
)


class LoadDriver:
    """Drives one load in one browser."""

    def __init__(self, options: argparse.Namespace, profile: Path) -> None:
        self.options = options
        self.give_up_s = time.monotonic() + options.time_limit
        self.record = LoadRecord(
            arguments=arguments(options, profile),
            url=options.url,
            visit=options.visit,
            http_version=options.http_version,
        )
        self.events = BoundedLines(options.folder / "cdp.jsonl", MAX_EVENT_BYTES)
        self.bodies = Bodies(options.folder) if options.record else None
        self.watch: Watch | None = None
        self.context: dict[str, str] = {}
        self._start()

    def run(self) -> LoadRecord:
        """Load the page, and return how the load ended."""
        try:
            ending = self._perform()
        except BrowserEndedError as error:
            ending = Ending("browser ended", f"{error}{self.browser.last_words()}")
        finally:
            self.record.ended_ns = self.record.ended_ns or time.monotonic_ns()
            self.record.cpu_s = self.browser.end()
            self.events.close()
        self.record.ended, self.record.reason = ending.kind, ending.reason
        self.record.truncated |= self.events.truncated
        if self.watch:
            self.record.dialogs = self.watch.dialogs
            if self.watch.dropped_dialogs:
                self.record.notes.append(f"{self.watch.dropped_dialogs} further dialogs")
        return self.record

    def _perform(self) -> Ending:
        self._await_browser()
        if self.options.visit != visits.COLD:
            began_ns, used_s = time.monotonic_ns(), self.browser.used_s()
            ending = self._visit_before()
            if ending.kind != "loaded":
                return Ending(ending.kind, f"before the measured visit: {ending.reason}")
            if self.options.visit != visits.REPEAT_VIEW:  # a repeat view starts another browser
                self.record.before_ns = time.monotonic_ns() - began_ns
                self.record.before_cpu_s = self.browser.used_s() - used_s
        return self._measure()

    def _start(self) -> None:
        self.record.began_ns = time.monotonic_ns()
        self.browser = Browser(self.record.arguments, self.options.folder / "browser.txt")
        self.cdp = DevToolsClient(self.browser)

    def _await_browser(self) -> None:
        """Wait until the browser answers, and make a context that stores nothing on disk.

        A repeat view needs the disk cache, so its pages are in the browser's profile instead.
        """
        self.record.product = self._first_answer()
        self.record.ready_ns = time.monotonic_ns()
        if self.options.visit != visits.REPEAT_VIEW:
            made = self.cdp.call("Target.createBrowserContext")
            self.context = {"browserContextId": made["browserContextId"]}

    def _first_answer(self) -> str:
        """Return the browser's name and version.

        About one start in some hundreds of Chromium 156 fails: the browser never answers. It has
        requested no page yet, so the driver starts another one, and records that it did.
        """
        while True:
            try:
                return str(self.cdp.call("Browser.getVersion")["product"])
            except CommandError as error:
                if self.record.starts == MAX_STARTS:
                    raise
                self.record.notes.append(f"start {self.record.starts}: {error}")
            self.browser.end()
            self.record.starts += 1
            self._start()

    def _visit_before(self) -> Ending:
        """Make the visit before the measured one, and keep the state that the visit needs."""
        options = self.options
        events = BoundedLines(options.folder / "cdp-before.jsonl", MAX_EVENT_BYTES)
        ending = Ending("loaded")
        for url in visits.before(options.visit, options.url, options.names, options.port):
            if ending.kind == "loaded":
                ending = self._load_before(url, events)
        events.close()
        self.record.truncated |= events.truncated
        if ending.kind == "loaded":
            self._drop_state()
        return ending

    def _load_before(self, url: str, events: BoundedLines) -> Ending:
        """Load a URL in a page of its own, and close the page."""
        watch = self._open_page()
        if self.options.visit != visits.REPEAT_VIEW:
            self._forbid_icons(watch)
        ending = self._follow(watch, url, events)
        if ending.kind == "loaded":
            self.cdp.call("Target.closeTarget", targetId=watch.target)
        return ending

    def _forbid_icons(self, watch: Watch) -> None:
        """Keep the browser from requesting an icon that no document names."""
        icons = visits.icons(self.options.names, self.options.port)
        self.cdp.call("Network.setBlockedURLs", watch.session, urls=icons)

    def _drop_state(self) -> None:
        """Drop the state that the visit must not have: connections, or all but the disk cache."""
        options = self.options
        if transport := visits.ended_transport(options.visit, options.http_version):
            self._disconnect(transport)
        elif options.visit == visits.REPEAT_VIEW:
            if not self._quit():
                raise CommandError(f"Browser.close did not end it within {QUIT_S:g} s")
            self.browser.end()
            self._start()
            self._await_browser()

    def _disconnect(self, transport: str) -> None:
        """End the browser's connections until none is left."""
        ended = 0
        for number in range(MAX_DUMPS):
            ports = sockets.local_ports(transport, self.options.port, self.browser.pids())
            if ended and not ports:
                return
            if ports and not sockets.have_ended(self.options.folder, number, transport, ports):
                raise CommandError("httpbed did not end the connections of the visit before")
            ended += len(ports)
        left = "it keeps opening new ones" if ended else f"none was over {transport}"
        raise CommandError(f"the connections of the visit before cannot be ended: {left}")

    def _quit(self) -> bool:
        """Close the browser as a user would; return whether it ended.

        Only then are its disk cache and its log complete.
        """
        self.cdp.send("Browser.close")
        until = min(time.monotonic() + QUIT_S, self.cdp.give_up_s)
        with contextlib.suppress(BrowserEndedError):
            while self.cdp.next(until):
                pass
        return self.browser.await_end(until)

    def _measure(self) -> Ending:
        self.watch = self._open_page()
        if self.options.no_icon or self.options.download:  # a file names no icon
            self._forbid_icons(self.watch)
        if not self.options.download:
            self._begin_trace(self.watch.session)
        self.record.navigated_ns = time.monotonic_ns()
        ending = self._follow(self.watch, self.options.url, self.events)
        self.record.ended_ns = time.monotonic_ns()
        self._after(self.watch)
        return ending

    def _after(self, watch: Watch) -> None:
        """Collect the trace and close; a failure here does not change how the load ended."""
        self.cdp.give_up_s = time.monotonic() + AFTER_S
        try:
            if self.bodies:
                self.bodies.await_rest(self.cdp)
            if not self.options.download:
                self._collect_trace(watch)
                self._look_at_screen(watch.session)
            self._close()
        except (BrowserEndedError, CommandError) as error:
            self.record.notes.append(f"after the load: {error}")

    def _close(self) -> None:
        """Have the browser close its connections properly, which takes a living browser."""
        if self.context:
            self.cdp.call("Target.disposeBrowserContext", **self.context)
        if (self.options.net_log or not self.context) and not self._quit():
            self.record.notes.append(
                "after the load: the browser did not end after the command to close"
            )

    def _open_page(self) -> Watch:
        """Open an empty page of the requested size, and enable its events."""
        width, height = self.options.viewport
        created = self.cdp.call(
            "Target.createTarget", url="about:blank", newWindow=True,
            width=width, height=height, **self.context
        )  # fmt: skip
        target = created["targetId"]
        session = self.cdp.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._listen(session)
        for method in ("Log.enable", "Inspector.enable"):
            self.cdp.send(method, session)
        self.cdp.send("Page.setLifecycleEventsEnabled", session, enabled=True)
        self.cdp.send("Target.setDiscoverTargets", discover=True)
        self.cdp.send(
            "Browser.setDownloadBehavior",
            behavior="deny", eventsEnabled=True, **self.context
        )  # fmt: skip
        self._emulate(session)
        return Watch(self.options.names, session, target, time.time(), self.options.download)

    def _emulate(self, session: str) -> None:
        """Give a page its screen."""
        options = self.options
        width, height = self.options.viewport
        touch = {"screenWidth": width, "screenHeight": height} if options.touch else {}
        self.cdp.call(
            "Emulation.setDeviceMetricsOverride", session,
            width=width, height=height, deviceScaleFactor=options.pixel_ratio,
            mobile=options.touch, **touch,
        )  # fmt: skip
        if options.touch:
            self.cdp.call("Emulation.setTouchEmulationEnabled", session, enabled=True)

    def _look_at_screen(self, session: str) -> None:
        """Record what a script sees of the screen, in a world that the page cannot change."""
        tree = self.cdp.call("Page.getFrameTree", session)["frameTree"]
        world = self.cdp.call("Page.createIsolatedWorld", session, frameId=tree["frame"]["id"])
        seen = self.cdp.call(
            "Runtime.evaluate", session, expression=SCREEN, returnByValue=True,
            contextId=world["executionContextId"],
        )  # fmt: skip
        self.record.screen = dict(seen["result"]["value"])

    def _listen(self, session: str) -> None:
        """Enable the events of a target, and of the frames and workers that it starts."""
        self.cdp.send(
            "Target.setAutoAttach", session, autoAttach=True, flatten=True,
            waitForDebuggerOnStart=True,
        )  # fmt: skip
        for method in SESSION_COMMANDS:
            recorded = BUFFERS if self.bodies and method == "Network.enable" else {}
            self.cdp.send(method, session, **recorded)

    def _begin_trace(self, session: str) -> None:
        """Trace the page; the browser's own session would have no pictures."""
        config: dict[str, Any] = {"recordMode": "recordAsMuchAsPossible"}
        config |= {"includedCategories": list(CATEGORIES), "excludedCategories": ["*"]}
        self.cdp.call("Tracing.start", session, transferMode="ReportEvents", traceConfig=config)

    def _follow(self, watch: Watch, url: str, events: BoundedLines) -> Ending:
        """Navigate, and record all events until the load is over."""
        self.cdp.drop()
        number = self.cdp.send("Page.navigate", watch.session, url=url)
        while (now := time.monotonic()) < self.give_up_s and not watch.look(now):
            message = self.cdp.next(min(self.give_up_s, watch.due()))
            if message and message.fields.get("id") == number:
                watch.answer(message.fields)
            elif message and self.bodies and self.bodies.keep(message):
                pass
            elif message and message.method:
                events.write(message.raw)
                self._take(watch, message)
        return watch.ending or Ending("time limit", watch.unfinished())

    def _take(self, watch: Watch, message: Message) -> None:
        watch.take(message.method, message.params, message.session, time.monotonic())
        if message.method == "Page.javascriptDialogOpening":
            self.cdp.send("Page.handleJavaScriptDialog", message.session, accept=False)
        elif message.method == "Network.loadingFinished" and self.bodies:
            self.bodies.ask(self.cdp, message)
        elif message.method == "Target.attachedToTarget":
            self._listen(message.params["sessionId"])
        elif message.method == "Target.targetCreated":
            self._close_window(message.params["targetInfo"])

    def _close_window(self, about: dict[str, Any]) -> None:
        if about.get("type") == "page" and about.get("openerId"):
            self.cdp.send("Target.closeTarget", targetId=about["targetId"])

    def _collect_trace(self, watch: Watch) -> None:
        trace, is_whole = TraceFiles(self.options.folder), False
        try:
            is_whole = self._await_trace(watch, trace)
        finally:
            self.record.trace_cut = trace.close() or not is_whole
            self.record.pictures_cut = trace.pictures_cut or not is_whole
        about = self.cdp.call("Target.getTargetInfo", targetId=watch.target)["targetInfo"]
        self.record.title = str(about["title"])[:MAX_WORDS]

    def _await_trace(self, watch: Watch, trace: TraceFiles) -> bool:
        """End the trace and keep its events; return whether the trace is complete."""
        self.cdp.send("Tracing.end", watch.session)
        while message := self.cdp.next(self.cdp.give_up_s):
            if message.method == "Tracing.dataCollected":
                trace.take(message.params["value"])
            elif message.method == "Tracing.tracingComplete":
                return not message.params.get("dataLossOccurred", False)
        return False


def read() -> argparse.Namespace:
    """Read the command line."""
    parser = load_record.parser(__doc__)
    parser.add_argument("--visit", choices=visits.VISITS, default="cold")
    parser.add_argument("--spki", type=Path, required=True)
    parser.add_argument("--pixel-ratio", type=float, default=1.0)
    parser.add_argument("--user-agent", default="")
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--net-log", action="store_true")
    parser.add_argument("--download", action="store_true")
    parser.add_argument("--record", type=int, metavar="PORT")
    options = parser.parse_args()
    options.spki = "" if options.record else options.spki.read_text().strip()
    return options


def main() -> None:
    """Load the page and write load.json, or exit with the reason why not."""
    options = read()

    def load(profile: Path) -> LoadRecord:
        make_profile(profile)
        return LoadDriver(options, profile).run()

    load_record.keep(options, load)


if __name__ == "__main__":
    main()
