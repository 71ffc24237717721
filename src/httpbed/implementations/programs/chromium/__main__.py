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

from .browser import Browser, BrowserEndedError
from .cdp import CommandError, Connection, Message
from .flags import Wanted, arguments, make_profile
from .keeping import MOST_EVENT_BYTES, Lines, Trace
from .watching import MOST_WORDS, Ending, Watch

TRACE_S = 10.0
"""Within which a trace is collected after the load, whether or not that was in time."""
NET_LOG_S = 5.0
"""Within which a browser ends by itself."""
SESSION_COMMANDS = ("Network.enable", "Page.enable", "Runtime.runIfWaitingForDebugger")
CATEGORIES = ("blink.user_timing", "disabled-by-default-devtools.screenshot", "rail")
"""Of the trace: marks of navigation and paint, and pictures."""


@dataclass(kw_only=True)
class Told:
    """What load.json says."""

    schema: int = 1
    product: str = ""
    arguments: list[str]
    url: str
    title: str = ""
    """Of the page, when the load was over."""
    visit: str
    http_version: str
    began_ns: int = field(default_factory=time.monotonic_ns)
    ready_ns: int | None = None
    navigated_ns: int | None = None
    ended_ns: int | None = None
    ended: str = ""
    reason: str = ""
    dialogs: list[dict[str, str]] = field(default_factory=list)
    cpu_s: float = 0.0
    truncated: bool = False


class Load:
    """One load in one browser."""

    def __init__(self, options: argparse.Namespace, profile: Path) -> None:
        self.options = options
        self.give_up_s = time.monotonic() + options.time_limit
        self.wanted = wanted(options, profile)
        said = arguments(self.wanted)
        self.told = Told(
            arguments=said,
            url=options.url,
            visit=options.visit,
            http_version=options.http_version,
        )
        self.events = Lines(options.folder / "cdp.jsonl", MOST_EVENT_BYTES)
        self.browser = Browser(said, options.folder / "browser.txt")
        self.cdp = Connection(self.browser)
        self.watch: Watch | None = None

    def run(self) -> Told:
        """Load it, and say how it ended."""
        try:
            ending = self._perform()
        except BrowserEndedError as error:
            ending = Ending("browser ended", str(error))
        finally:
            self.told.ended_ns = self.told.ended_ns or time.monotonic_ns()
            self.told.cpu_s = self.browser.end()
            self.events.close()
        self.told.ended, self.told.reason = ending.kind, ending.reason
        self.told.truncated |= self.events.truncated
        if self.watch:
            self.told.dialogs = self.watch.dialogs
            self.told.truncated |= self.watch.truncated
        return self.told

    def _perform(self) -> Ending:
        self.told.product = self.cdp.call("Browser.getVersion")["product"]
        self.told.ready_ns = time.monotonic_ns()
        context = self.cdp.call("Target.createBrowserContext")["browserContextId"]
        self.watch = self._open_page(context)
        if not self.options.download:
            self._begin_trace(self.watch.session)
        ending = self._watch(self.watch)
        try:
            if not self.options.download:
                self._collect_trace(self.watch)
            # While the browser lives, it tells its servers that it leaves them.
            self.cdp.call("Target.disposeBrowserContext", browserContextId=context)
            if self.wanted.net_log:
                self._finish_net_log()
        except (BrowserEndedError, CommandError):  # the load is over all the same
            self.told.truncated = True
        return ending

    def _finish_net_log(self) -> None:
        """Have the browser end by itself, as it writes the log's end then only."""
        self.cdp.send("Browser.close")
        with contextlib.suppress(BrowserEndedError):
            until = time.monotonic() + NET_LOG_S
            while self.cdp.next(until):
                pass
            self.told.truncated = True

    def _open_page(self, context: str) -> Watch:
        """Make an empty page of the size that is wanted, which tells all that it does."""
        width, height = self.wanted.viewport
        created = self.cdp.call(
            "Target.createTarget", url="about:blank", browserContextId=context,
            width=width, height=height,
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
            behavior="deny", browserContextId=context, eventsEnabled=True,
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

    def _watch(self, watch: Watch) -> Ending:
        """Navigate, and follow what happens until the load is over."""
        self.cdp.drop()
        self.told.navigated_ns = time.monotonic_ns()
        number = self.cdp.send("Page.navigate", watch.session, url=self.options.url)
        while (now := time.monotonic()) < self.give_up_s and not watch.look(now):
            message = self.cdp.next(min(self.give_up_s, watch.due()))
            if message and message.said.get("id") == number:
                watch.answer(message.said)
            elif message and message.method:
                self._take(watch, message)
        self.told.ended_ns = time.monotonic_ns()
        return watch.ending or Ending("time limit", watch.unfinished())

    def _take(self, watch: Watch, message: Message) -> None:
        self.events.write(message.raw)
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
        about = self.cdp.call("Target.getTargetInfo", targetId=watch.target)["targetInfo"]
        self.told.title = str(about["title"])[:MOST_WORDS]
        trace = Trace(self.options.folder)
        self.cdp.send("Tracing.end", watch.session)
        until = time.monotonic() + TRACE_S
        while (message := self.cdp.next(until)) and message.method != "Tracing.tracingComplete":
            if message.method == "Tracing.dataCollected":
                trace.take(message.params["value"])
        lost = message is None or message.params.get("dataLossOccurred", False)
        self.told.truncated |= trace.close() or lost


def wanted(options: argparse.Namespace, profile: Path) -> Wanted:
    """Say what browser the options ask for."""
    return Wanted(
        program=options.browser,
        http_version=options.http_version,
        names=options.names,
        address=options.address,
        port=options.port,
        spki=options.spki.read_text().strip(),
        viewport=options.viewport,
        profile=profile,
        net_log=options.folder / "net-log.json" if options.net_log else None,
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
    parser.add_argument("--visit", choices=("cold",), default="cold")
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--names", type=lambda text: text.split(","), required=True)
    parser.add_argument("--spki", type=Path, required=True)
    parser.add_argument("--viewport", type=viewport, required=True)
    parser.add_argument("--time-limit", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--net-log", action="store_true")
    parser.add_argument("--download", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Load, and say how it ended; or why that cannot be said."""
    options = read()
    with tempfile.TemporaryDirectory(prefix="profile-", ignore_cleanup_errors=True) as profile:
        make_profile(Path(profile))
        try:
            told = Load(options, Path(profile)).run()
        except (CommandError, OSError, ValueError) as error:
            sys.exit(f"{options.browser}: {error}")
    (options.folder / "load.json").write_text(json.dumps(vars(told), indent=1) + "\n")


if __name__ == "__main__":
    main()
