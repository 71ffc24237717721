"""Observations of a load: names of resources, and metrics by the load's ending."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from httpbed.addons.pages.load import timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, Frame, PageRequest
from httpbed.experiment.metric import METRICS
from recorded import FOLDER

WHOLE = PageRequest(
    "1", "https://site.test/", status=200, connection="1", queued_s=0.0, send_start_s=0.1,
    headers_start_s=0.15, headers_end_s=0.2, ended_s=0.3, wire_bytes=900,
)  # fmt: skip
PICTURE = FOLDER / "chromium-headless-shell-156.0.8078.79/h2/frames/0009.jpg"


def requests(*urls: str) -> list[PageRequest]:
    return [PageRequest(str(number), url) for number, url in enumerate(urls)]


def reported(load: BrowserLoad) -> dict[tuple[str, str], float]:
    """Return observations by metric and item."""
    return {
        (observation.metric, observation.item): observation.value
        for observation in timing.of_load(load)
    }


def test_resources_have_their_paths_as_names() -> None:
    """Names have queries; other hosts are named, and repetitions numbered."""
    assert timing.resource_names(
        requests(
            "https://site.test",
            "https://site.test/a?b=1",
            "https://cdn.test:8443/a",
            "https://site.test/a?b=1",
            "https://site.test/",
        )
    ) == ["/", "/a?b=1", "//cdn.test:8443/a", "/a?b=1, 2", "/, 2"]


def test_cut_names_stay_different() -> None:
    """A URL may be very long, or invalid."""
    long = f"https://site.test/{'x' * 5000}"
    names = timing.resource_names(requests(f"{long}1", f"{long}2", "https://[nowhere"))
    assert len(set(names)) == 3
    assert max(map(len, names)) <= timing.MAX_NAME + len(", 2")


def test_a_load_at_its_time_limit_has_the_metrics_before_it() -> None:
    """The load event may have fired while the page goes on sending requests."""
    late = BrowserLoad(
        "https://site.test/", "time limit", requests=(WHOLE,), onload_s=1.0,
        first_contentful_paint_s=0.5, largest_contentful_paint_s=0.6, browser_ready_s=0.2,
    )  # fmt: skip
    assert {metric: value for (metric, item), value in reported(late).items() if not item} == {
        "page_time_to_first_byte": 0.15,
        "first_contentful_paint": 0.5,
        "onload_time": 1.0,
        "browser_ready_time": 0.2,
    }


def test_the_first_byte_of_the_page_comes_after_its_redirects() -> None:
    """A redirect's response is not the page's."""
    led = replace(WHOLE, id="0", status=301, redirected_to=WHOLE.url, headers_start_s=0.05)
    result = reported(BrowserLoad("https://site.test/", "loaded", requests=(led, WHOLE)))
    assert result["page_time_to_first_byte", ""] == 0.15
    only = BrowserLoad("https://site.test/", "loaded", requests=(led,))
    assert ("page_time_to_first_byte", "") not in reported(only)


def test_a_har_file_has_the_end_of_wait_for_the_first_byte() -> None:
    """It lacks the start of the header."""
    load = BrowserLoad(
        "https://site.test/", "loaded", requests=(replace(WHOLE, headers_start_s=None),)
    )
    assert reported(load)["page_time_to_first_byte", ""] == 0.2


def test_unknown_values_are_not_observed() -> None:
    """A load without pictures has no Speed Index, rather than one of 0."""
    result = reported(BrowserLoad("https://site.test/", "loaded", requests=(WHOLE,)))
    assert {metric for metric, item in result if not item} == {
        "page_time_to_first_byte",
        "page_load_time",
        "network_page_load_time",
        "page_throughput",
        "page_bytes",
        "page_requests",
        "page_connections",
    }
    assert result["page_throughput", ""] == pytest.approx(3000)


def test_a_missing_picture_costs_only_the_speed_index() -> None:
    """Everything but the Speed Index is observed."""
    frames = (Frame(0.2, PICTURE), Frame(0.4, PICTURE.with_name("lost.jpg")))
    whole = BrowserLoad("https://site.test/", "loaded", requests=(WHOLE,), frames=frames[:1])
    assert reported(whole)["speed_index", ""] == pytest.approx(0.2)
    damaged = BrowserLoad("https://site.test/", "loaded", requests=(WHOLE,), frames=frames)
    assert set(reported(whole)) - set(reported(damaged)) == {("speed_index", "")}


def test_a_load_that_painted_nothing_has_no_speed_index(tmp_path: Path) -> None:
    """A skeleton stays white; its other metrics are observed."""
    Image.new("RGB", (20, 20), "white").save(tmp_path / "white.jpg")
    frames = (Frame(0.2, tmp_path / "white.jpg"),)
    load = BrowserLoad("https://site.test/", "loaded", requests=(WHOLE,), frames=frames)
    found = reported(load)
    assert ("speed_index", "") not in found
    assert ("page_load_time", "") in found


def test_every_observed_metric_is_documented() -> None:
    """Users look metrics up in that page."""
    page = (FOLDER.parents[1] / "docs/concepts/page-metrics.md").read_text()
    load = BrowserLoad(
        "https://site.test/", "loaded", requests=(WHOLE,), frames=(Frame(0.2, PICTURE),),
        first_contentful_paint_s=0.1, largest_contentful_paint_s=0.2, onload_s=0.3,
        browser_cpu_s=1.0, browser_ready_s=0.2,
    )  # fmt: skip
    metrics = {metric for metric, _ in reported(load)}
    assert len(metrics) == 17
    for metric in metrics:
        assert f"| `{metric}` | {METRICS[metric].unit} |" in page
