"""The browser's command line.

What a browser does before a load, for each visit.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from httpbed.addons.pages.programs.builtin.browsers import chromium_flags as flags
from httpbed.addons.pages.programs.builtin.browsers import visit as visits
from httpbed.experiment.workload import PageVisit

OPTIONS = {
    "browser": "/usr/lib/chromium/chromium",
    "http_version": "2",
    "names": ["a.test", "b.test"],
    "address": "10.77.0.2",
    "port": 443,
    "spki": "c3BraQ==",
    "viewport": (1366, 768),
    "user_agent": "",
    "visit": "cold",
    "net_log": False,
    "record": None,
    "folder": Path("/x"),
}


def arguments(**changes: Any) -> list[str]:
    """Return the command line for the driver's options; nothing is written."""
    return flags.arguments(argparse.Namespace(**(OPTIONS | changes)), Path("/profile"))


@pytest.mark.parametrize(
    ("http_version", "forced"),
    [
        ("1.1", ["--disable-quic", "--disable-http2"]),
        ("2", ["--disable-quic"]),
        ("3", ["--enable-quic", "--origin-to-force-quic-on=a.test:443,b.test:443"]),
    ],
)
def test_only_one_protocol_is_enabled(http_version: str, forced: list[str]) -> None:
    """Other protocols are disabled for all names."""
    stated = arguments(http_version=http_version)
    assert [word for word in stated if "quic" in word or "http2" in word] == forced


def test_http3_to_be_discovered_is_forced_nowhere() -> None:
    """A port that is never requested makes QUIC accept the certificates of those hosts."""
    stated = arguments(http_version="3", visit="discovery")
    forced = f"--origin-to-force-quic-on=a.test:{flags.UNUSED_PORT},b.test"
    assert [word for word in stated if word.startswith(forced)]
    assert "--disable-http2" not in stated


@pytest.mark.parametrize(("http_version", "count"), [("1.1", 1), ("2", 1), ("3", 0)])
def test_early_data_over_tcp_is_a_feature(http_version: str, count: int) -> None:
    """QUIC needs no switch for it, and no other visit has it."""
    feature = f"--enable-features={flags.EARLY_DATA}"
    assert arguments(http_version=http_version, visit="early data").count(feature) == count
    assert feature not in arguments(http_version=http_version, visit="resumed")


@pytest.mark.parametrize(
    ("address", "result"), [("10.0.0.2", "10.0.0.2"), ("fd00::2", "[fd00::2]")]
)
def test_no_other_name_resolves(address: str, result: str) -> None:
    """The last rule covers every other name."""
    rules = flags.resolver_rules(["a.test", "b.test"], address)
    assert rules == f"MAP a.test {result}, MAP b.test {result}, MAP * ~NOTFOUND"


def test_a_net_log_is_bounded() -> None:
    """It is written only on request."""
    assert not any("net-log" in word for word in arguments())
    logged = arguments(net_log=True)
    assert "--log-net-log=/x/net-log.json" in logged
    assert f"--net-log-max-size-mb={flags.NET_LOG_MB}" in logged


def test_a_new_profile_predicts_nothing(tmp_path: Path) -> None:
    """Chromium's value 2 means "never"."""
    flags.make_profile(tmp_path)
    stated = json.loads((tmp_path / "Default/Preferences").read_text())
    assert stated["net"]["network_prediction_options"] == 2


URL = "https://a.test/page.html"


def test_the_driver_knows_every_visit() -> None:
    """The driver cannot import the experiments' list."""
    assert set(visits.VISITS) == set(get_args(PageVisit))


@pytest.mark.parametrize("visit", ["warm connection", "resumed", "early data", "discovery"])
def test_the_visit_before_loads_a_file_of_every_origin(visit: str) -> None:
    """It loads a file that does not belong to the page, at the page's port."""
    assert visits.before(visit, URL, ["a.test", "b.test"], 443) == [
        "https://a.test/.httpbed/prior.txt",
        "https://b.test/.httpbed/prior.txt",
    ]
    assert visits.before(visit, URL, ["a.test"], 8443) == ["https://a.test:8443/.httpbed/prior.txt"]


def test_a_repeat_view_loads_the_page_before() -> None:
    """A cold load has no visit before; a repeat view loads the page."""
    assert visits.before("cold", URL, ["a.test"], 443) == []
    assert visits.before("repeat view", URL, ["a.test", "b.test"], 443) == [URL]


@pytest.mark.parametrize(
    ("visit", "http_version", "transport"),
    [
        ("cold", "2", ""),
        ("warm connection", "3", ""),
        ("repeat view", "3", ""),
        ("resumed", "1.1", "tcp"),
        ("early data", "2", "tcp"),
        ("early data", "3", "udp"),
        ("discovery", "3", "tcp"),
    ],
)
def test_connections_end_on_their_own_transport(
    visit: str, http_version: str, transport: str
) -> None:
    """A browser discovers HTTP/3 over TCP."""
    assert visits.ended_transport(visit, http_version) == transport
