"""Page loads in reports: pictures, words, bounds, and nothing of a page that is not escaped."""

from __future__ import annotations

import io
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import reports
from campaigns import Ending
from httpbed.addons.pages import loads
from httpbed.addons.pages.load import driver_output
from httpbed.addons.pages.load.browser_load import BrowserLoad, Frame
from httpbed.addons.pages.report import metrics_table, screens, section
from httpbed.report import one_trial, terminal
from httpbed.report.document import ReportInput
from httpbed.report.publish import summary
from httpbed.results.findings import Findings, find
from httpbed.store.results import Results
from page_campaigns import GRID, PAGES, RECORDED, page_campaign
from report_script import without_own_script

EVIL = "<script>alert('$x_1$')</script>"
KEPT = {"loss": "0 %", "block": 1}
"""Of the trials whose loads are there."""


@pytest.fixture(scope="module")
def load() -> BrowserLoad:
    """Provide a real load over HTTP/3."""
    return driver_output.read(RECORDED / "h3")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Provide a campaign of loads whose every word is a script; some left nothing."""
    return page_campaign(tmp_path_factory.mktemp("campaign"), evil=EVIL, only=KEPT)


@pytest.fixture(scope="module")
def findings(results: Results) -> Findings:
    return find(results)


@pytest.fixture(scope="module")
def page(results: Results, findings: Findings) -> str:
    return reports.page(results, findings, draws=True)


def test_times_of_a_filmstrip_are_round(load: BrowserLoad) -> None:
    """They begin at zero and end when nothing changes any more."""
    times = screens.times([load])
    assert times[0] == 0
    assert times[-2] < screens.last_change_s(load) <= times[-1]
    assert screens.times([BrowserLoad("https://a.test/", "crashed")])[0] == 0
    assert len(screens.times([replace(load, frames=(Frame(1e4, Path("a")),))])) <= 8


def test_pictures_in_figures_are_small(load: BrowserLoad) -> None:
    """They are JPEG, though matplotlib writes PNG."""
    svg = screens.PhotoPlot("s", "c", "a", screens.filmstrip({"HTTP/3": (load, "typical")})).svg()
    assert "data:image/jpeg" in svg
    assert "image/png" not in svg
    assert len(svg) < 100_000


def test_pictures_that_are_none_are_blank(tmp_path: Path, load: BrowserLoad) -> None:
    """A load whose pictures are damaged, links or absent is a white screen, not an error."""
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8 not a picture")
    (tmp_path / "b.jpg").symlink_to(load.frames[-1].file)
    frames = tuple(Frame(n / 10, tmp_path / f"{name}.jpg") for n, name in enumerate("abc", start=1))
    seen = screens.screen(replace(load, frames=frames), 80)
    assert {seen.at(n / 10).getcolors()[0][1] for n in range(5)} == {(255, 255, 255)}  # type: ignore[index]


def test_bands_stand_beside_the_metric(results: Results, findings: Findings) -> None:
    """In the terminal, and with what they mean in the page."""
    out = terminal.console(io.StringIO())
    reports.show(results, findings, None, out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "loads by band" in text
    assert "6 fast" in text
    assert "6 moderate" in text
    assert "6 slow" in text


def test_the_page_has_a_section(page: str) -> None:
    """With strips, curves and waterfalls, each described."""
    assert '<section id="pages">' in page
    assert '<a href="#pages">' in page
    for name in ("filmstrip", "progress", "waterfall-1", "waterfall-2"):
        assert f"figures/page-1-{name}.svg" in page
    assert re.search(r"Speed Index 3\.03 s, trial 1/[0-9a-f]{12}", page)
    assert "moderate up to 5.8 s" in page
    assert len(page) < 2_000_000


def test_nothing_of_a_page_is_markup(page: str) -> None:
    """Names, titles and messages are text; every address is the page itself."""
    assert "<script" not in without_own_script(page)
    assert "javascript:" not in page
    sources = re.findall(r'(?:src|srcset|href)="([^"]{0,30})', page)
    assert {source[:11] for source in sources if not source.startswith("#")} == {"data:image/"}


def test_a_campaign_of_downloads_has_no_such_section(results: Results) -> None:
    """The report has neither the section on page loads nor the Speed Index bands."""
    texts = dict(results.document) | {"workload": {"kind": "download", "size": "1 MB"}}
    found = find(replace(results, document=texts))
    assert section.SECTION.make(ReportInput(results, found)) is None
    assert not list(metrics_table.bands(found))


def test_pages_are_compared_by_their_load_time(results: Results) -> None:
    """Where the experiment does not say; and the answer is a sentence about pages."""
    text = {key: part for key, part in tomllib.loads(PAGES).items() if key != "report"}
    silent = results.experiment.model_validate(
        {key: text[key] for key in ("schema", "name", "question", "replicates", "seed", "factors")}
    )
    found = find(replace(results, experiment=silent))
    assert found.metric == "page_load_time"
    answer = summary(results, found, None)["answer"]
    assert "HTTP/3 loaded the page in 0.83x the time of HTTP/2" in " ".join(answer)


def test_few_scenes_of_many(tmp_path: Path) -> None:
    """The extremes and the middle."""
    ratios = {"2": 0.5, "16": 1.0, "128": 2.0}

    def ends(levels: dict[str, str], block: int) -> Ending:
        third = levels["http_version"] == "3"
        seconds = (ratios[levels["objects"]] if third else 1.0) * (1 + block / 100)
        return Ending(
            {"page_load_time": seconds * (1.1 if levels["loss"] == "2 %" and third else 1)}
        )

    results = page_campaign(tmp_path, GRID, ends)  # type: ignore[arg-type]
    found = find(results)
    chosen = section.choose(found, results)
    objects = [(name := scene.name.split(", "))[0] for scene in chosen]
    assert objects == ["objects 2", "objects 16", "objects 128"]
    assert name[1:] == ["size 100 B", "loss 2 %"]
    assert "3 of 12 scenes" in section.scenes_left_out(found, chosen)


def test_one_load_by_itself(results: Results, tmp_path: Path) -> None:
    """Its lines, its figures and its values; what the page says is bounded and one line."""
    version = {"http_version": "3", **KEPT}
    row = next(row for row in results.trials.to_pylist() if version.items() <= row.items())
    trial = one_trial.find(results, f"{row['block']}/{row['trial'][:8]}")
    paths = trial.save(tmp_path)
    assert [path.suffix for path in paths] == [".svg", ".pdf"] * 3
    out = terminal.console(io.StringIO())
    one_trial.show(trial, paths, out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    for words in (
        "13 over the network",
        "13 HTTP/3",
        "Speed Index",
        "onload",
        "10 image",
        "dialog",
    ):
        assert words in text
    texts = json.loads(json.dumps(trial.values(paths)))
    assert len(texts["requests"]) == 13
    assert texts["page"]["title"] == EVIL
    assert texts["page"]["visual_progress"][-1][1] == 1.0
    svg = paths[0].read_text()
    assert "<script" not in svg
    assert "script&gt;.js" in svg


def test_a_treatment_without_pictures_is_named_and_not_drawn_blank(tmp_path: Path) -> None:
    """Firefox reports no frames; its screen would be white until the end."""
    results = page_campaign(tmp_path, only=KEPT)
    for row in results.trials.to_pylist():
        if row["http_version"] == "3":
            (loads.folder(results, row) / "frames.jsonl").unlink(missing_ok=True)
    page = reports.page(results, find(results), draws=True)
    assert "Without pictures: HTTP/3." in page
    (strips,) = re.findall(r"Filmstrips\. [^\"<]*", page)[:1]
    assert "HTTP/2" in strips
    assert "HTTP/3" not in strips
