"""What a browser does before a load, by the visit."""

from __future__ import annotations

from typing import get_args

import pytest

from httpbed.experiment.page import Visit
from httpbed.programs.builtin.chromium import visit as visits

URL = "https://a.test/page.html"


def test_the_driver_knows_every_visit() -> None:
    """It is a program of its own, and shares no list with experiments."""
    assert set(visits.VISITS) == set(get_args(Visit))


@pytest.mark.parametrize("visit", ["warm connection", "resumed", "early data", "discovery"])
def test_every_origin_is_visited_and_nothing_of_the_page(visit: str) -> None:
    """A file that is none of the page's, at the port of the page."""
    assert visits.before(visit, URL, ["a.test", "b.test"], 443) == [
        "https://a.test/.httpbed/prior.txt",
        "https://b.test/.httpbed/prior.txt",
    ]
    assert visits.before(visit, URL, ["a.test"], 8443) == ["https://a.test:8443/.httpbed/prior.txt"]


def test_nothing_or_the_page_itself_comes_before() -> None:
    """A cold load has no past, and a repeat view has the page's."""
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
def test_connections_end_over_what_carried_them(
    visit: str, http_version: str, transport: str
) -> None:
    """HTTP/3 is discovered by who came over TCP."""
    assert visits.ended_transport(visit, http_version) == transport
