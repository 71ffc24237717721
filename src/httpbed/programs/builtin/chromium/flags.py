"""What a browser is started with, so that it speaks one protocol, to one place only.

Chromium has no switch "speak HTTP/2": what is not wanted is switched off, and QUIC is forced for
the origins that are to be asked with it, without a look at Alt-Svc. Which protocol was spoken is
told by its events and the server's log, never by these flags.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import visit as visits

NEVER_ASKED = (
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
"""Features that ask for something by themselves, or before the page does."""

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
    f"--disable-features={','.join(NEVER_ASKED)}",
    "--disable-field-trial-config",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-proxy-server",
    "--no-service-autorun",
)
"""Nothing is fetched, looked up or told but what the page asks for."""

UNWATCHED = (
    "--headless",
    "--no-startup-window",  # one page is made, in a state of its own; no other need be drawn
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-gpu",
    "--hide-scrollbars",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
)
"""It is at work although nobody looks at it, and draws without a graphics card."""

NEVER_ASKED_PORT = 1
EARLY_DATA = "EnableTLS13EarlyData"
"""Over TCP, Chromium sends requests in the first flight only with this feature; over QUIC always
where its ticket allows."""

CONFINED = (
    # The trial's sandbox is the boundary. Chromium's own needs CAP_SYS_ADMIN or CAP_SYS_CHROOT
    # there, which programs under test are without, and it refuses to start as root with it.
    "--no-sandbox",
)

PREFERENCES = {
    "net": {"network_prediction_options": 2},  # never: else it connects before it is asked to
    "dns_prefetching": {"enabled": False},
    "search": {"suggest_enabled": False},
    "alternate_error_pages": {"enabled": False},
    "safebrowsing": {"enabled": False},
    "signin": {"allowed": False},
}
"""Of the profile; the headless shell has no such predictions and ignores them."""

NET_LOG_MB = 16
"""At the most; it has some megabytes after a load."""


@dataclass(frozen=True)
class BrowserOptions:
    """What a browser is to be like."""

    program: str
    http_version: str
    """``1.1``, ``2`` or ``3``."""
    names: Sequence[str]
    """All that it may find; no other name is there."""
    address: str
    """Where all of them are found."""
    port: int
    spki: str
    """SHA-256 of the servers' public key (SubjectPublicKeyInfo), in base64."""
    viewport: tuple[int, int]
    """Width and height in pixels of CSS."""
    profile: Path
    """A folder of its own, which holds nothing of an earlier browser's."""
    net_log: Path | None = None
    visit: str = "cold"


def arguments(wanted: BrowserOptions) -> list[str]:
    """Return the browser's command line."""
    width, height = wanted.viewport
    return [
        wanted.program,
        "--remote-debugging-pipe",
        f"--user-data-dir={wanted.profile}",
        f"--window-size={width},{height}",
        *UNWATCHED,
        *SILENT,
        *CONFINED,
        f"--host-resolver-rules={resolver_rules(wanted.names, wanted.address)}",
        f"--ignore-certificate-errors-spki-list={wanted.spki}",
        *forced(wanted),
        *_net_log(wanted.net_log),
    ]


def forced(wanted: BrowserOptions) -> list[str]:
    """Leave the browser no other protocol than the one that is wanted, or to be discovered.

    Over QUIC, the certificate of an authority that no browser knows is taken from hosts that are
    named here, with whatever port. So a port that is never asked allows it, and forces nothing.
    """
    if wanted.http_version == "3":
        port = NEVER_ASKED_PORT if wanted.visit == visits.DISCOVERY else wanted.port
        origins = ",".join(f"{name}:{port}" for name in wanted.names)
        return ["--enable-quic", f"--origin-to-force-quic-on={origins}"]
    return [
        "--disable-quic",
        *(["--disable-http2"] if wanted.http_version == "1.1" else []),
        *([f"--enable-features={EARLY_DATA}"] if wanted.visit == visits.EARLY_DATA else []),
    ]


def resolver_rules(names: Sequence[str], address: str) -> str:
    """Say where the names are; every other name is not found, and nobody is asked for it."""
    found = f"[{address}]" if ":" in address else address
    return ", ".join([*(f"MAP {name} {found}" for name in names), "MAP * ~NOTFOUND"])


def _net_log(file: Path | None) -> list[str]:
    if file is None:
        return []
    return [f"--log-net-log={file}", f"--net-log-max-size-mb={NET_LOG_MB}"]


def make_profile(folder: Path) -> None:
    """Write the preferences of a new profile."""
    default = folder / "Default"
    default.mkdir(parents=True)
    (default / "Preferences").write_text(json.dumps(PREFERENCES))
