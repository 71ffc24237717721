"""What real loads in virtual time left: the connections are found, and the causes named.

Chromium 156 loaded planted pages from nginx 1.30. The captures have headers alone.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from httpbed.addons.explain import evidence, page_connections, page_division, page_windows
from httpbed.addons.explain.explanation import Place, Remains, Unexplained
from httpbed.addons.explain.lifts import Lift, Rung
from httpbed.addons.explain.page_division import ExplainedLoad
from httpbed.addons.explain.page_report import ShownLoad, ShownLoads
from httpbed.addons.explain.page_turns import LESS_URGENT
from httpbed.addons.pages import loads
from httpbed.addons.pages.load import driver_output, timing
from httpbed.addons.pages.load.critical_path import RESPONSE
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog as catalogs
from httpbed.report import markdown
from httpbed.report.document import Table
from page_campaigns import page_campaign
from recorded import unpacked

CATALOG = catalogs.load()
NS = 1_000_000_000
LOSSES = {"congestion window", "recovery", "timeout"}
CAUSES = {
    "held-h3": {"fixed window"},
    "lossy-h1": LOSSES,
    "lost-request-h2": LOSSES,
    "short-queue-h2": LOSSES,
}


def left(folder: Path, described: Scenario) -> Remains:
    """Return what the recorded load left in a folder."""
    place = Place(1, "t", {}, 1)
    return Remains(place, folder, described, "virtual", CATALOG, "completed", None)


def explained(name: str, folder: Path, metric: str = "page_load_time") -> ExplainedLoad:
    one = page_division.of_attempt(left(folder, unpacked(f"pages/{name}", folder)), metric=metric)
    assert isinstance(one, ExplainedLoad)
    return one


@pytest.mark.parametrize("name", CAUSES)
def test_what_the_responses_waited_for_is_named_and_adds_up(name: str, tmp_path: Path) -> None:
    one = explained(name, tmp_path)
    costs = one.responses.division.costs()
    waits = {cause: cost for cause, cost in costs.items() if cause != "link"}
    planted = sum(cost for cause, cost in waits.items() if cause in CAUSES[name])
    assert planted > sum(waits.values()) / 2, costs
    assert "unknown" not in costs
    lasts_s = sum(step.lasts_s for step in one.path.path.steps if step.what in RESPONSE)
    assert one.responses.seconds == pytest.approx(lasts_s, abs=1e-6)
    assert one.division.whole / NS == pytest.approx(one.path.path.whole_s, abs=1e-6)


def test_the_buffer_that_held_the_image_is_named(tmp_path: Path) -> None:
    one = explained("held-h3", tmp_path)
    assert one.held is not None
    assert str(one.held.of) == "nginx's http3_stream_buffer_size = 32k"
    assert one.held.plateau.rounds >= 15


def test_a_request_that_the_link_lost_was_no_wait_for_the_server(tmp_path: Path) -> None:
    one = explained("lost-request-h2", tmp_path)
    waiting_s = one.path.path.shares()["waiting"]
    assert waiting_s > 0.4
    costs = one.responses.division.costs()
    text = ". ".join(one.sentences())
    assert f"connection of {one.path.resource(one.main)}, data that had arrived waited" in text
    assert costs["timeout"] > 0.3 * NS
    assert costs.get("server", 0) < 0.01 * NS


WITHOUT_IMAGES_S = {"2": 0.222696, "3": 0.185636}
"""The same page without the less urgent images: its largest contentful paint."""


@pytest.mark.parametrize("version", WITHOUT_IMAGES_S)
def test_what_less_urgent_images_cost_an_urgent_one_is_what_the_page_takes_less_without_them(
    version: str, tmp_path: Path
) -> None:
    """nginx sends twelve images with u=3 before one with u=1, which a script asked for."""
    name = f"less-urgent-first-h{version}"
    one = explained(name, tmp_path, "largest_contentful_paint")
    cost_s = one.division.costs()["other responses"] / NS
    saved_s = one.path.path.whole_s - WITHOUT_IMAGES_S[version]
    assert cost_s == pytest.approx(saved_s, rel=0.01)
    hero = one.each[-1]
    assert hero.behind is not None
    assert hero.request.url.endswith("/hero.svg")
    assert set(hero.behind.bytes) == {LESS_URGENT}
    assert len(hero.behind.of) == 12
    assert hero.behind.connection_share > 0.99
    assert "is less urgent (u=3 before u=1), and the server sent it first" in str(one.sentences())
    # The last byte of the page waits for all of them, in any order.
    load = explained(name, tmp_path, "page_load_time")
    assert load.division.costs().get("other responses", 0) < 0.01 * load.division.whole


def test_a_browser_that_reads_late_has_its_only_connection(tmp_path: Path) -> None:
    """Without a CPU the browser had the last byte long after it had come."""
    described = unpacked("pages/held-h3", tmp_path)
    recorded = evidence.recorded(tmp_path, described, "virtual")
    load = driver_output.read(tmp_path / loads.CLIENT)
    zero = page_windows.navigation_ns(recorded.result, load, recorded.origin)
    late = [replace(one, ended_s=(one.ended_s or 0.0) + 20.0) for one in load.requests]
    found = page_connections.carriers(recorded, replace(load, requests=tuple(late)), zero)
    assert len(found) == 1


def test_each_of_several_connections_is_found_by_its_bytes(tmp_path: Path) -> None:
    described = unpacked("pages/lossy-h1", tmp_path)
    recorded = evidence.recorded(tmp_path, described, "virtual")
    load = driver_output.read(tmp_path / loads.CLIENT)
    zero = page_windows.navigation_ns(recorded.result, load, recorded.origin)
    found = page_connections.carriers(recorded, load, zero)
    assert len(found) == len(recorded.connections) == 3
    for name, transfer in found.items():
        own = [one for one in timing.fetched(load) if one.connection == name]
        data = transfer.content
        came = data.arrived[~data.lost].max()
        last = max(round((one.ended_s or 0.0) * NS) + zero for one in own)
        # Chromium reads its socket within a millisecond of the last packet.
        assert abs(int(came) - last) < NS // 1000


def test_the_page_has_each_response_with_its_causes_and_what_was_lifted(tmp_path: Path) -> None:
    one = explained("held-h3", tmp_path / "held")
    lifted = explained("short-queue-h2", tmp_path / "lifted")
    rung = Rung(Lift("fixed window", "a larger buffer", {}), one, lifted)
    results = page_campaign(tmp_path / "campaign", only={"http_version": "none"})
    shown = ShownLoads(results, [one.levels], [ShownLoad(one.path, one, None)], [])
    shown = replace(shown, ladders={(one.block, one.trial): [rung]})
    document = shown.document(draws=True)
    assert "| fixed window | 863 ms (52 %) |" in markdown.render(document)
    tables = {
        block.label: block
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Table)
    }
    responses = tables["Responses"]
    # The document, less than a hundredth of the path, has no row.
    assert [row.name for row in responses.names] == ["0001.jpeg"]
    cells = {column.header: column.cells[0].text for column in responses.columns}
    assert cells["fixed\nwindow"] == "863 ms"
    answer = " ".join(map(str, document.answer))
    assert "With a larger buffer it takes" in answer
    assert "fixed window is not confirmed" in answer
    (load,) = shown.values()["loads"]
    assert load["ladder"][0]["after"]["responses"]["seconds"] == lifted.responses.seconds
    assert load["not_divided"] == ""


def test_a_pair_says_what_the_causes_differ_by_and_what_was_lifted_of_that(tmp_path: Path) -> None:
    fast = explained("held-h3", tmp_path / "fast")
    slow = explained("short-queue-h2", tmp_path / "slow")
    fast, slow = (
        replace(one, trial=name, path=replace(one.path, trial=replace(one.path.trial, trial=name)))
        for name, one in (("f", fast), ("s", slow))
    )
    between = explained("lost-request-h2", tmp_path / "between")
    lifted = between if between.division.whole < slow.division.whole else fast
    results = page_campaign(tmp_path / "campaign", only={"http_version": "none"})
    loads = [ShownLoad(one.path, one, None) for one in (fast, slow)]
    shown = ShownLoads(results, [fast.levels, slow.levels], loads, [])
    rung = Rung(Lift("congestion window", "a longer queue", {}), slow, lifted)
    texts = [*map(str, replace(shown, ladders={(1, "s"): [rung]}).document(draws=False).answer)]
    by_cause = texts[-2].partition("By cause: ")[2]
    assert "congestion window" in by_cause
    assert "With all of that" in texts[-1]
    found = shown.values()["difference_by_cause"]
    assert sum(found["causes"].values()) == pytest.approx(found["seconds"])
    assert (found["fast"], found["slow"]) == ([1, "f"], [1, "s"])


def test_a_slow_load_without_packets_says_what_is_not_known(tmp_path: Path) -> None:
    one = explained("held-h3", tmp_path)
    (tmp_path / "packets.tsv").unlink()
    described = Scenario.model_validate(json.loads((tmp_path / "document.json").read_text()))
    other = page_division.of_attempt(left(tmp_path, described), metric="page_load_time")
    assert isinstance(other, Unexplained)
    shown = ShownLoad(one.path, other, None)
    assert [*shown.sentences()][-1].endswith(
        "came late: it kept no packets; explain without --no-run runs it again with them"
    )
    assert shown.values()["responses"] is None
