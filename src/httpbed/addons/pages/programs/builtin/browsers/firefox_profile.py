"""The profile of Firefox: one protocol, one destination, no traffic of its own.

Firefox has no switch "speak HTTP/2". Its preferences leave one version, and map each origin to
HTTP/3 as an earlier Alt-Svc would. They prove nothing: httpbed verifies the protocol against the
browser's events and the server's log.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

CERTUTIL_S = 20.0

SILENT: Mapping[str, bool | int | str] = {
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "app.update.disabledForTesting": True,
    "browser.aboutwelcome.enabled": False,
    "browser.newtabpage.enabled": False,
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.search.update": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.page": 0,
    "browser.topsites.contile.enabled": False,
    "captivedetect.canonicalURL": "",
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "security.OCSP.enabled": 0,
    "security.remote_settings.crlite_filters.enabled": False,
    "security.remote_settings.intermediates.enabled": False,
    "services.settings.server": "data:,#none",
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "",
    "toolkit.telemetry.unified": False,
}
"""Preferences against all traffic that the page does not cause."""

FAITHFUL: Mapping[str, bool | int | str] = {
    "browser.cache.disk.enable": False,
    "browser.sessionstore.resume_from_crash": False,
    "network.dns.disablePrefetch": True,
    "network.http.speculative-parallel-limit": 0,  # otherwise it connects in advance
    "network.prefetch-next": False,
    "network.predictor.enabled": False,
    "network.trr.mode": 5,  # no DNS over HTTPS
    "privacy.reduceTimerPrecision": False,  # times are rounded to 1 ms otherwise
    "remote.active-protocols": 1,  # WebDriver BiDi
    "toolkit.cosmeticAnimations.enabled": False,
}
"""Preferences without which times or requests would not be the page's own."""

CONFINED: Mapping[str, bool | int | str] = {
    # The trial's sandbox is the boundary; Firefox' own needs namespaces of its own.
    "security.sandbox.content.level": 0,
}


def make(folder: Path, options: argparse.Namespace) -> None:
    """Write a new profile for the options of the driver.

    Raises:
        OSError: The certificate cannot be added.
    """
    lines = [
        f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _all(options)
    ]
    (folder / "user.js").write_text("\n".join([*lines, ""]))
    store = f"sql:{folder}"
    words = ("certutil", "-A", "-d", store, "-n", "httpbed", "-t", "C,,", "-i", str(options.ca))
    for line in (("certutil", "-N", "-d", store, "--empty-password"), words):
        ran = subprocess.run(line, capture_output=True, text=True, timeout=CERTUTIL_S, check=False)
        if ran.returncode:
            raise OSError(f"certutil refused the authority's certificate: {ran.stderr.strip()}")


def _all(options: argparse.Namespace) -> Iterable[tuple[str, bool | int | str]]:
    chosen = {**destination(options), **forced(options)}
    return {**SILENT, **FAITHFUL, **CONFINED, **chosen}.items()


def destination(options: argparse.Namespace) -> dict[str, bool | int | str]:
    """Return the preferences that lead each name to the site's address."""
    return {
        "network.dns.forceResolve": options.address,
        "network.proxy.type": 0,
        "browser.chrome.site_icons": not options.no_icon,
    }


def forced(options: argparse.Namespace) -> dict[str, bool | int | str]:
    """Return the preferences that leave only the wanted version.

    Firefox begins a TCP connection beside a QUIC one that is not ready after 100 ms, and uses the
    faster one: on a long path it would be TCP.
    """
    if options.http_version != "3":
        return {
            "network.http.http3.enable": False,
            "network.http.http2.enabled": options.http_version == "2",
        }
    mapping = ",".join(f"{name};h3=:{options.port}" for name in options.names)
    return {
        "network.http.http3.enable": True,
        "network.http.http3.alt-svc-mapping-for-testing": mapping,
        "network.http.http3.force-use-alt-svc-mapping-for-testing": True,
        "network.http.http3.disable_when_third_party_roots_found": False,
        "network.http.http3.backup_timer_delay": 1_000_000,  # ms
        "network.http.http3.parallel_fallback_conn_limit": 0,
        "network.http.http3.fallback_to_h2_on_error": False,
        "network.http.happy_eyeballs_enabled": False,
    }
