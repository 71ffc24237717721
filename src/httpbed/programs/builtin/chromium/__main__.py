"""Load a page, or one file, and leave what the browser told of it.

It ends with status 0 where it could tell how the load ended, whatever the page or the browser did:
load.json has it. Else it says on standard error why not, with status 1.

Times are of CLOCK_MONOTONIC in nanoseconds, on which the browser's own are, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import sockets
from . import visit as visits
from .bounded_files import MOST_EVENT_BYTES, BoundedLines, TraceFiles
from .browser import Browser, BrowserEndedError
from .cdp import CommandError, DevToolsClient, Message
from .flags import BrowserOptions, arguments, make_profile
from .load_end import MOST_WORDS, Ending, Watch

MOST_STARTS = 3
"""Of browsers, until one answers."""
QUIT_S = 10.0
"""Within which a browser that was told to ends by itself."""
AFTER_S = 10.0
"""For all that is done once a load is over: its trace is collected, and leave is taken."""
MOST_DUMPS = 5
"""How often it is looked whether all connections are ended: what is opened meanwhile is missed."""
SESSION_COMMANDS = ("Network.enable", "Page.enable", "Runtime.runIfWaitingForDebugger")
CATEGORIES = ("blink.user_timing", "disabled-by-default-devtools.screenshot", "rail")
"""Of the trace: marks of navigation and paint, and pictures."""


@dataclass(kw_only=True)
class LoadRecord:
    """What load.json says."""

    schema: int = 1
    product: str = ""
    arguments: list[str]
    url: str
    title: str = ""
    """Of the page, when the load was over."""
    visit: str
    http_version: str
    started_ns: int = field(default_factory=time.monotonic_ns)
    starts: int = 1
    """How many browsers were started until one answered."""
    began_ns: int = 0
    ready_ns: int | None = None
    navigated_ns: int | None = None
    ended_ns: int | None = None
    ended: str = ""
    reason: str = ""
    dialogs: list[dict[str, str]] = field(default_factory=list)
    cpu_s: float = 0.0
    before_ns: int = 0
    """How long the browser was at the visit before; ``before_cpu_s``: what it used for that."""
    before_cpu_s: float = 0.0
    truncated: bool = False
    """Whether there were more events than are kept: requests may be missing."""
    trace_cut: bool = False
    """Whether marks of paint may be missing."""
    pictures_cut: bool = False
    """Whether the pictures end before the load did."""
    notes: list[str] = field(default_factory=list)
    """What else is missing, that no request depends on."""


class LoadDriver:
    """One load in one browser."""

    def __init__(self, options: argparse.Namespace, profile: Path) -> None:
        self.options = options
        self.give_up_s = time.monotonic() + options.time_limit
        self.wanted = browser_options(options, profile)
        self.told = LoadRecord(
            arguments=arguments(self.wanted),
            url=options.url,
            visit=options.visit,
            http_version=options.http_version,
        )
        self.events = BoundedLines(options.folder / "cdp.jsonl", MOST_EVENT_BYTES)
        self.watch: Watch | None = None
        self.context: dict[str, str] = {}
        self._start()

    def run(self) -> LoadRecord:
        """Load it, and say how it ended."""
        try:
            ending = self._perform()
        except BrowserEndedError as error:
            ending = Ending("browser ended", f"{error}{self.browser.last_words()}")
        finally:
            self.told.ended_ns = self.told.ended_ns or time.monotonic_ns()
            self.told.cpu_s = self.browser.end()
            self.events.close()
        self.told.ended, self.told.reason = ending.kind, ending.reason
        self.told.truncated |= self.events.truncated
        if self.watch:
            self.told.dialogs = self.watch.dialogs
            if self.watch.untold:
                self.told.notes.append(f"{self.watch.untold} further dialogs")
        return self.told

    def _perform(self) -> Ending:
        self._greet()
        if self.options.visit != visits.COLD:
            began_ns, used_s = time.monotonic_ns(), self.browser.used_s()
            ending = self._come_before()
            if ending.kind != "loaded":
                return Ending(ending.kind, f"before what was to be measured: {ending.reason}")
            if self.options.visit != visits.REPEAT_VIEW:  # of which another browser took care
                self.told.before_ns = time.monotonic_ns() - began_ns
                self.told.before_cpu_s = self.browser.used_s() - used_s
        return self._measure()

    def _start(self) -> None:
        self.told.began_ns = time.monotonic_ns()
        self.browser = Browser(self.told.arguments, self.options.folder / "browser.txt")
        self.cdp = DevToolsClient(self.browser)

    def _greet(self) -> None:
        """Wait until it answers; have a place for pages that keeps nothing on the disk.

        Only what is to be found again by another browser is kept in its profile.
        """
        self.told.product = self._first_answer()
        self.told.ready_ns = time.monotonic_ns()
        if self.options.visit != visits.REPEAT_VIEW:
            made = self.cdp.call("Target.createBrowserContext")
            self.context = {"browserContextId": made["browserContextId"]}

    def _first_answer(self) -> str:
        """Return which browser it is.

        About one start in some hundreds of Chromium 156 comes to nothing: it never answers. It has
        been asked for no page yet, so another is started in its place, which is told and counted.
        """
        while True:
            try:
                return str(self.cdp.call("Browser.getVersion")["product"])
            except CommandError as error:
                if self.told.starts == MOST_STARTS:
                    raise
                self.told.notes.append(f"start {self.told.starts}: {error}")
            self.browser.end()
            self.told.starts += 1
            self._start()

    def _come_before(self) -> Ending:
        """Load what is to be loaded before, and keep of it what the visit is to begin with."""
        options = self.options
        events = BoundedLines(options.folder / "cdp-before.jsonl", MOST_EVENT_BYTES)
        ending = Ending("loaded")
        for url in visits.before(options.visit, options.url, options.names, options.port):
            if ending.kind == "loaded":
                ending = self._load_before(url, events)
        events.close()
        self.told.truncated |= events.truncated
        if ending.kind == "loaded":
            self._leave()
        return ending

    def _load_before(self, url: str, events: BoundedLines) -> Ending:
        """Load something in a page of its own, which is closed."""
        watch = self._open_page()
        if self.options.visit != visits.REPEAT_VIEW:
            self._forbid_icons(watch)
        ending = self._follow(watch, url, events)
        if ending.kind == "loaded":
            self.cdp.call("Target.closeTarget", targetId=watch.target)
        return ending

    def _forbid_icons(self, watch: Watch) -> None:
        """Keep the browser from asking for an icon that no document names."""
        icons = visits.icons(self.options.names, self.options.port)
        self.cdp.call("Network.setBlockedURLs", watch.session, urls=icons)

    def _leave(self) -> None:
        """Take away what the visit is to be without: connections, or all but the disk's cache."""
        options = self.options
        if transport := visits.ended_transport(options.visit, options.http_version):
            self._disconnect(transport)
        elif options.visit == visits.REPEAT_VIEW:
            if not self._quit():
                raise CommandError(f"Browser.close did not end it within {QUIT_S:g} s")
            self.browser.end()
            self._start()
            self._greet()

    def _disconnect(self, transport: str) -> None:
        """End its connections, until there are none."""
        ended = 0
        for number in range(MOST_DUMPS):
            ports = sockets.local_ports(transport, self.options.port, self.browser.pids())
            if ended and not ports:
                return
            if ports and not sockets.have_ended(self.options.folder, number, transport, ports):
                raise CommandError("the bed did not end the connections of the visit before")
            ended += len(ports)
        left = "it goes on opening them" if ended else f"there was none over {transport}"
        raise CommandError(f"the connections of the visit before cannot be ended: {left}")

    def _quit(self) -> bool:
        """End the browser as its user would, and say whether it did.

        Only then are its cache and its own log written to the end.
        """
        self.cdp.send("Browser.close")
        until = min(time.monotonic() + QUIT_S, self.cdp.give_up_s)
        with contextlib.suppress(BrowserEndedError):
            while self.cdp.next(until):
                pass
        return self.browser.await_end(until)

    def _measure(self) -> Ending:
        self.watch = self._open_page()
        if self.options.no_icon or self.options.download:  # a file names none
            self._forbid_icons(self.watch)
        if not self.options.download:
            self._begin_trace(self.watch.session)
        self.told.navigated_ns = time.monotonic_ns()
        ending = self._follow(self.watch, self.options.url, self.events)
        self.told.ended_ns = time.monotonic_ns()
        self._after(self.watch)
        return ending

    def _after(self, watch: Watch) -> None:
        """Collect the trace and take leave; whatever fails of that, the load is over."""
        self.cdp.give_up_s = time.monotonic() + AFTER_S
        try:
            if not self.options.download:
                self._collect_trace(watch)
            self._take_leave()
        except (BrowserEndedError, CommandError) as error:
            self.told.notes.append(f"after the load: {error}")

    def _take_leave(self) -> None:
        """Have the browser tell its servers that it leaves them, which it does while it lives."""
        if self.context:
            self.cdp.call("Target.disposeBrowserContext", **self.context)
        if (self.wanted.net_log or not self.context) and not self._quit():
            self.told.notes.append("after the load: the browser did not end when it was told to")

    def _open_page(self) -> Watch:
        """Make an empty page of the size that is wanted, which tells all that it does."""
        width, height = self.wanted.viewport
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
        self.cdp.call(
            "Emulation.setDeviceMetricsOverride", session,
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        return Watch(self.options.names, session, target, time.time(), self.options.download)

    def _listen(self, session: str) -> None:
        """Have a target tell of its requests, and of the frames and workers that it begins."""
        self.cdp.send(
            "Target.setAutoAttach", session, autoAttach=True, flatten=True,
            waitForDebuggerOnStart=True,
        )  # fmt: skip
        for method in SESSION_COMMANDS:
            self.cdp.send(method, session)

    def _begin_trace(self, session: str) -> None:
        """Trace the page; over the browser's own session no pictures come."""
        config: dict[str, Any] = {"recordMode": "recordAsMuchAsPossible"}
        config |= {"includedCategories": list(CATEGORIES), "excludedCategories": ["*"]}
        self.cdp.call("Tracing.start", session, transferMode="ReportEvents", traceConfig=config)

    def _follow(self, watch: Watch, url: str, events: BoundedLines) -> Ending:
        """Navigate, and follow what happens until the load is over; keep all that is told."""
        self.cdp.drop()
        number = self.cdp.send("Page.navigate", watch.session, url=url)
        while (now := time.monotonic()) < self.give_up_s and not watch.look(now):
            message = self.cdp.next(min(self.give_up_s, watch.due()))
            if message and message.said.get("id") == number:
                watch.answer(message.said)
            elif message and message.method:
                events.write(message.raw)
                self._take(watch, message)
        return watch.ending or Ending("time limit", watch.unfinished())

    def _take(self, watch: Watch, message: Message) -> None:
        watch.take(message.method, message.params, message.session, time.monotonic())
        if message.method == "Page.javascriptDialogOpening":
            self.cdp.send("Page.handleJavaScriptDialog", message.session, accept=False)
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
            self.told.trace_cut = trace.close() or not is_whole
            self.told.pictures_cut = trace.pictures_cut or not is_whole
        about = self.cdp.call("Target.getTargetInfo", targetId=watch.target)["targetInfo"]
        self.told.title = str(about["title"])[:MOST_WORDS]

    def _await_trace(self, watch: Watch, trace: TraceFiles) -> bool:
        """End the trace and keep what comes of it; return whether that was all."""
        self.cdp.send("Tracing.end", watch.session)
        while message := self.cdp.next(self.cdp.give_up_s):
            if message.method == "Tracing.dataCollected":
                trace.take(message.params["value"])
            elif message.method == "Tracing.tracingComplete":
                return not message.params.get("dataLossOccurred", False)
        return False


def browser_options(options: argparse.Namespace, profile: Path) -> BrowserOptions:
    """Say what browser the options ask for."""
    return BrowserOptions(
        program=options.browser,
        http_version=options.http_version,
        names=options.names,
        address=options.address,
        port=options.port,
        spki=options.spki.read_text().strip(),
        viewport=options.viewport,
        profile=profile,
        net_log=options.folder / "net-log.json" if options.net_log else None,
        visit=options.visit,
    )


def viewport(text: str) -> tuple[int, int]:
    """Read ``1366x768``."""
    width, _, height = text.partition("x")
    return int(width), int(height)


def read() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--browser", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--http-version", choices=("1.1", "2", "3"), required=True)
    parser.add_argument("--visit", choices=visits.VISITS, default="cold")
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--names", type=lambda text: text.split(","), required=True)
    parser.add_argument("--spki", type=Path, required=True)
    parser.add_argument("--viewport", type=viewport, required=True)
    parser.add_argument("--time-limit", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--net-log", action="store_true")
    parser.add_argument("--no-icon", action="store_true")
    parser.add_argument("--download", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Load, and say how it ended; or why that cannot be said."""
    options = read()
    with tempfile.TemporaryDirectory(prefix="profile-", ignore_cleanup_errors=True) as profile:
        make_profile(Path(profile))
        try:
            told = LoadDriver(options, Path(profile)).run()
        except (CommandError, OSError, ValueError) as error:
            sys.exit(f"{options.browser}: {error}")
    (options.folder / "load.json").write_text(json.dumps(vars(told), indent=1) + "\n")


if __name__ == "__main__":
    main()
