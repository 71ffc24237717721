"""The browser's command line: one protocol, one destination, no traffic of its own.

Chromium has no switch "speak HTTP/2". The driver disables the other protocols, and forces QUIC for
the given origins without Alt-Svc. These flags prove nothing: httpbed verifies the protocol against
the browser's events and the server's log.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from . import visit as visits

SELF_REQUESTING = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "DialMediaRouteProvider",
    "InterestFeedContentSuggestions",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationGuideModelDownloading",
    "OptimizationHints",
    "OptimizationHintsFetching",
    "Prerender2",
    "Translate",
)
"""Features that send requests by themselves, or before the page does."""

SILENT = (
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    f"--disable-features={','.join(SELF_REQUESTING)}",
    "--disable-field-trial-config",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-service-autorun",
)
"""Switches against all traffic that the page does not cause."""

HEADLESS = (
    "--headless",
    "--no-startup-window",  # the driver opens one page in its own context
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-gpu",
    "--hide-scrollbars",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
)
"""Switches that keep a headless browser rendering at full speed without a graphics card."""

UNUSED_PORT = 1
EARLY_DATA = "EnableTLS13EarlyData"
"""Over TCP, Chromium sends early data only with this feature; over QUIC always, given a ticket."""

CONFINED = (
    # The trial's sandbox is the boundary. Chromium's own needs CAP_SYS_ADMIN or CAP_SYS_CHROOT,
    # which programs under test do not have; as root with that right it refuses to start.
    "--no-sandbox",
)

PREFERENCES = {
    "net": {"network_prediction_options": 2},  # never: otherwise it connects in advance
    "dns_prefetching": {"enabled": False},
    "search": {"suggest_enabled": False},
    "alternate_error_pages": {"enabled": False},
    "safebrowsing": {"enabled": False},
    "signin": {"allowed": False},
}
"""Of the profile; the headless shell makes no such predictions and ignores them."""

NET_LOG_MB = 16
"""Maximum; a load writes some megabytes."""


def arguments(options: argparse.Namespace, profile: Path) -> list[str]:
    """Return the browser's command line for the options of its driver.

    ``profile`` is a new folder without anything of an earlier browser.
    """
    width, height = options.viewport
    return [
        options.browser,
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
        *HEADLESS,
        *SILENT,
        *CONFINED,
        *destination(options),
        *forced(options),
        *([f"--user-agent={options.user_agent}"] if options.user_agent else []),
        *_net_log(options),
    ]


def destination(options: argparse.Namespace) -> list[str]:
    """Return the switches that leave one way: to the site, or through a recording's proxy."""
    if options.record:
        proxy = f"socks5://127.0.0.1:{options.record}"
        return [f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>"]
    return [
        "--no-proxy-server",
        f"--host-resolver-rules={resolver_rules(options.names, options.address)}",
        f"--ignore-certificate-errors-spki-list={options.spki}",
    ]


def forced(options: argparse.Namespace) -> list[str]:
    """Return the switches that leave only the wanted protocol, or the one to be discovered.

    Over QUIC, the browser accepts a certificate of an unknown authority only from hosts that are
    named in this switch, with any port. For a discovery the port is one that is never requested: it
    permits the certificate and forces nothing.
    """
    if options.http_version == "3":
        port = UNUSED_PORT if options.visit == visits.DISCOVERY else options.port
        origins = ",".join(f"{name}:{port}" for name in options.names)
        return ["--enable-quic", f"--origin-to-force-quic-on={origins}"]
    return [
        "--disable-quic",
        *(["--disable-http2"] if options.http_version == "1.1" else []),
        *([f"--enable-features={EARLY_DATA}"] if options.visit == visits.EARLY_DATA else []),
    ]


def resolver_rules(names: Sequence[str], address: str) -> str:
    """Return rules that resolve the names to the address, and no other name."""
    target = f"[{address}]" if ":" in address else address
    return ", ".join([*(f"MAP {name} {target}" for name in names), "MAP * ~NOTFOUND"])


def _net_log(options: argparse.Namespace) -> list[str]:
    if not options.net_log:
        return []
    file = options.folder / "net-log.json"
    return [f"--log-net-log={file}", f"--net-log-max-size-mb={NET_LOG_MB}"]


def make_profile(folder: Path) -> None:
    """Write the preferences of a new profile."""
    default = folder / "Default"
    default.mkdir(parents=True)
    (default / "Preferences").write_text(json.dumps(PREFERENCES))
