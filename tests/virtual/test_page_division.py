"""Pages with a planted reason why their image comes slowly: its packets name it, in virtual time.

A real Chromium loads a page of one image from nginx.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import planted_pages
from httpbed.addons.explain.page_turns import LESS_URGENT
from httpbed.addons.pages.load.critical_path import RESPONSE
from planted_pages import LESS_URGENT_FIRST, WITHOUT_OTHERS
from real_runs import httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.timeout(1800)]

RUN_S = 1700.0
"""Far more than the trials take on a busy machine."""
EXACT_S = 1e-6
PAGES = """
schema = 1
name = "planted"
question = "Why does the image come slowly?"
replicates = 1
seed = 7
roles = { factor = "stack" }
clock = "virtual"
report = { metric = "page_load_time" }

[factors.stack.held]
server = { implementation = "nginx", knobs = { http3_stream_buffer_size = "32k" } }
client = { implementation = "chromium-headless-shell", http_version = "3" }

[factors.stack.free]
server = { implementation = "nginx", knobs = { http3_stream_buffer_size = "1m" } }
client = { implementation = "chromium-headless-shell", http_version = "3" }

[factors.stack.reno]
server = { implementation = "nginx", congestion_control = "reno" }
client = { implementation = "chromium-headless-shell", http_version = "2" }

[factors.link.wide]
between = ["client", "server"]
rate = "20 Mbit/s"
delay = "40 ms"

[factors.link.lossy]
between = ["client", "server"]
rate = "20 Mbit/s"
delay = "40 ms"
loss = "2 %"

[factors.link.short-queue]
between = ["client", "server"]
rate = "20 Mbit/s"
delay = "40 ms"
queue = { discipline = "droptail", limit = "5 packets" }

[factors.link.slow]
between = ["client", "server"]
rate = "2 Mbit/s"
delay = "10 ms"

[topology]
hosts = ["client", "server"]
links = [{ factor = "link" }]

[workload]
kind = "page"
page = { objects = 1, size = "600 kB" }

[[groups]]
name = "held"
levels = { stack = ["held", "free"], link = ["wide"] }

[[groups]]
name = "others"
levels = { stack = ["reno"], link = ["lossy", "short-queue", "slow"] }
"""
LOSSES = {"congestion window", "recovery", "timeout"}
CAUSES = {
    "wide": {"fixed window"},
    "lossy": LOSSES,
    "short-queue": LOSSES,
    "slow": {"link"},
}
"""What most of the image's time has to be, by the link."""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Load each page once."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "e.toml").write_text(PAGES)
    words = ("run", folder / "e.toml", "-o", folder / "c", "--keep", "packets")
    done = httpbed(*words, within_s=RUN_S)
    assert done.returncode == 0, done.stderr
    return folder / "c"


def explained(campaign: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Return what explain says of the loads, by their link."""
    done = httpbed("explain", campaign, "--json", *options, within_s=RUN_S)
    assert done.returncode == 0, done.stderr
    loads = json.loads(done.stdout)["loads"]
    return {one["levels"]["link"]: one for one in loads if one["levels"]["stack"] != "free"}


def costs(load: dict[str, Any]) -> dict[str, float]:
    return {one["cause"]: one["cost_s"] for one in load["responses"]["causes"]}


def test_what_the_image_waited_for_is_named(campaign: Path) -> None:
    found = explained(campaign, "--no-run")
    assert set(found) == set(CAUSES)
    for link, load in found.items():
        known = costs(load)
        # The link's own time is what the bytes need; all else has a cause.
        waits = {name: cost for name, cost in known.items() if name != "link" or link == "slow"}
        planted = sum(cost for name, cost in waits.items() if name in CAUSES[link])
        assert planted > sum(waits.values()) / 2, load["sentence"]
        on_path = [step for step in load["steps"] if step["what"] in RESPONSE]
        lasts_s = sum(step["end_s"] - step["begin_s"] for step in on_path)
        assert load["responses"]["seconds"] == pytest.approx(lasts_s, abs=len(on_path) * EXACT_S)
        assert sum(known.values()) == pytest.approx(load["responses"]["seconds"], abs=EXACT_S)
        assert known.get("unknown", 0.0) == 0.0
        assert load["not_divided"] == ""
    held = found["wide"]["responses"]["held"]
    assert (held["program"], held["knob"]) == ("nginx", "http3_stream_buffer_size")
    assert held["bodies"] == 1
    markdown = httpbed("explain", campaign, "--no-run", "--format", "markdown").stdout
    assert "http3\\_stream\\_buffer\\_size" in markdown
    assert "Responses on the path took" in markdown
    report = (campaign / "report.html").read_text()
    assert "Responses on the path took" in report


def test_a_larger_buffer_removes_what_it_cost(campaign: Path) -> None:
    (load,) = explained(campaign, "--try", "--treatment", "stack=held").values()
    rung = load["ladder"][0]
    assert (rung["cause"], rung["confirmed"], rung["kept"]) == ("fixed window", True, True)
    assert "http3_stream_buffer_size = 16m" in rung["lifted"]
    after = rung["after"]
    assert "fixed window" not in costs(after)
    assert after["seconds"] < load["seconds"]
    assert rung["saved_s"] == pytest.approx(load["seconds"] - after["seconds"], abs=EXACT_S)


def test_the_slower_of_two_loads_is_as_fast_as_the_other_without_what_it_is_held_by(
    campaign: Path,
) -> None:
    words = ("--why", "stack=held", "stack=free", "--json")
    done = httpbed("explain", campaign, *words, within_s=RUN_S)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    slow = next(one for one in found["loads"] if one["levels"]["stack"] == "held")
    differs = found["difference_by_cause"]
    assert max(differs["causes"], key=lambda name: differs["causes"][name]) == "fixed window"
    assert sum(differs["causes"].values()) == pytest.approx(differs["seconds"], abs=EXACT_S)
    (rung,) = [rung for rung in slow["ladder"] if rung["confirmed"]]
    assert "http3_stream_buffer_size = 16m" in rung["lifted"]
    assert rung["saved_s"] > 0.9 * differs["seconds"]


def test_what_less_urgent_responses_cost_is_what_a_page_takes_less_without_them(
    tmp_path: Path,
) -> None:
    """nginx sends images before one that the browser calls more urgent."""
    loads = {
        name: planted_pages.explained(tmp_path / name, page, "virtual", "--keep", "packets")
        for name, page in (("all", LESS_URGENT_FIRST), ("none", WITHOUT_OTHERS))
    }
    for with_others, without in zip(loads["all"], loads["none"], strict=True):
        assert with_others["metric"] == "largest_contentful_paint"
        saved_s = with_others["seconds"] - without["seconds"]
        assert costs(with_others)["other responses"] == pytest.approx(saved_s, rel=0.02)
        assert "other responses" not in costs(without)
    behind = [load["responses"]["each"][-1]["behind"]["bytes"] for load in loads["all"]]
    others = [sum(kinds.values()) - kinds[LESS_URGENT] for kinds in behind]
    assert max(others) < 1500  # a packet may leave while the request arrives
    # Over HTTP/2, one to twelve of the images are queued before the urgent request is read.
    assert max(kinds[LESS_URGENT] for kinds in behind) > 500_000
