"""How the requests of a page load are sorted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.mirror import loader
from httpbed.experiment.workload import OWN_ORIGIN

OWN = f"https://{OWN_ORIGIN}"


def _asked(*requests: PageRequest) -> BrowserLoad:
    return BrowserLoad(url=f"{OWN}/", ended="loaded", requests=requests)


def _request(url: str, status: int = 200, failed: str = "") -> PageRequest:
    return PageRequest(id=url, url=url, status=status, failed=failed)


def test_requests_are_sorted_by_what_they_mean_for_the_page() -> None:
    """Answered, missing, on another origin, in parts; data URLs are no requests."""
    found = loader.requests_of(
        _asked(
            _request(f"{OWN}/a.png"),
            _request(f"{OWN}/a.png"),
            _request(f"{OWN}/gone", 404),
            _request(f"{OWN}/broken", failed="net::ERR_FAILED"),
            _request("https://other.test/x"),
            _request("data:,x"),
            _request(f"{OWN}/film.mp4", 206),
            _request(f"{OWN}/film.mp4", 206),
        )
    )
    assert found == loader.LoadedRequests(
        {"/a.png": 2}, ("/gone", "/broken"), ("https://other.test/x",), "", ("/film.mp4",)
    )


@pytest.mark.parametrize(
    "cut", [{"notes": ("5 further requests are dropped",)}, {"ended": "crashed", "reason": "oh"}]
)
def test_a_load_that_is_not_known_completely_has_a_reason(cut: dict[str, object]) -> None:
    """A request that is missing from its record may occur at each load."""
    assert loader.requests_of(replace(_asked(), **cut)).ended  # type: ignore[arg-type]
