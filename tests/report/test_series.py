"""Colours of series: a protocol has one in every figure, whatever stands beside it."""

from __future__ import annotations

import pytest

from httpbed.addons.pages.load.browser_load import PageRequest
from httpbed.addons.pages.report import waterfall
from httpbed.report.series import colour_ranks, colours

OF_PROTOCOLS = {"1.1": "#009e73", "2": "#0072b2", "3": "#d55e00"}


@pytest.mark.parametrize("version", OF_PROTOCOLS)
@pytest.mark.parametrize(
    "name", ["HTTP/{}", "page a, HTTP/{}, bbr", "curl:h{}", "HTTP/{}, http server 2"]
)
def test_a_protocol_has_one_colour(version: str, name: str) -> None:
    """Whether it is alone, the first or the last, and in the waterfall."""
    own = name.format(version)
    for names in ([own], [own, "HTTP/9", "cubic"], ["cubic", "HTTP/2", "HTTP/3", own]):
        assert colours(names)[own] == OF_PROTOCOLS[version]
    request = PageRequest("1", "https://site.test/", http_version=version)
    assert waterfall.colour(request) == OF_PROTOCOLS[version]


@pytest.mark.parametrize("name", ["curl:h1", "wget-http1", "h1"])
def test_http_1_1_has_short_names(name: str) -> None:
    """As clients of compare and levels of the studies have."""
    assert colours([name]) == {name: OF_PROTOCOLS["1.1"]}


def test_other_series_take_no_colour_of_a_protocol() -> None:
    """Not even where there are more of them than colours."""
    found = colours([f"size {number}" for number in range(9)])
    assert not set(found.values()) & set(OF_PROTOCOLS.values())
    assert len(set(found.values())) == 4


def test_series_of_one_colour_are_ranked() -> None:
    """Areas differ in strength where they do not in colour."""
    names = ["HTTP/2, none", "HTTP/3, none", "HTTP/2, envoy", "HTTP/3, envoy", "cubic"]
    assert list(colour_ranks(names, 7).values()) == [0, 0, 1, 1, 0]
