"""What a browser does before a load, for each visit."""

from __future__ import annotations

from typing import get_args

import pytest

from httpbed.addons.pages.programs.builtin.chromium import visit as visits
from httpbed.experiment.workload import PageVisit

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
