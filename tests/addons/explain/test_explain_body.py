"""Page loads are explained by their paths; campaigns that cannot be explained are mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.addons.explain import explain_body, page_report
from httpbed.addons.explain.again import Again, ladders, loaded_trials
from httpbed.addons.explain.explain_report import ShownTransfers
from httpbed.addons.explain.explanation import Unexplained, of_attempt
from httpbed.addons.explain.page_report import Row, ShownLoads, Unread
from httpbed.addons.pages import loads
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import critical_path_report
from httpbed.base.errors import ConfigError
from httpbed.campaign.settings import ONE
from httpbed.experiment.factorial import treatment_key
from httpbed.programs import catalog as catalogs
from httpbed.report import markdown, publish, terminal, terminal_report
from httpbed.report.phrasing import brief_duration
from httpbed.results import attempts
from httpbed.store import query
from httpbed.store.results import Results
from page_campaigns import page_campaign

CATALOG = catalogs.load()


def _rows(results: Results) -> list[tuple[Results, Row]]:
    return [(results, row) for row in attempts.valid(results)]


def test_loads_of_pages_are_explained_by_their_critical_paths(
    tmp_path: Path,
) -> None:
    results = page_campaign(tmp_path)
    found = page_report.read(results, _rows(results)[:6], CATALOG).values()
    assert len(found["loads"]) == 6
    for one in found["loads"]:
        assert sum(one["shares"].values()) == pytest.approx(one["seconds"], abs=1e-4)
        assert sum(one["largest_contentful_paint"].values()) == pytest.approx(
            one["seconds"], abs=1e-4
        )
    differs = found["difference"]
    assert sum(differs["shares"].values()) == pytest.approx(differs["seconds"], abs=1e-4)


def test_a_terminal_names_the_load_of_each_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = page_campaign(tmp_path)
    shown = page_report.read(results, _rows(results)[:2], CATALOG)
    terminal_report.show(shown.document(draws=False), None, terminal.console())
    lines = capsys.readouterr().out.splitlines()
    for path in shown.paths:
        words = f"{path.name} {brief_duration(path.path.whole_s)}"
        assert any(" ".join(line.split()).startswith(words) for line in lines), lines


def test_a_load_that_cannot_be_read_is_named_beside_the_others(
    tmp_path: Path,
) -> None:
    results = page_campaign(tmp_path, only={"http_version": "2"})
    found = page_report.read(results, _rows(results)[:6], CATALOG).values()
    assert {one["levels"]["http_version"] for one in found["loads"]} == {"2"}
    assert found["not_explained"]


def test_a_campaign_without_any_readable_load_is_a_mistake(tmp_path: Path) -> None:
    results = page_campaign(tmp_path, only={"http_version": "none"})
    rows = [*attempts.valid(results)]
    with pytest.raises(ConfigError) as refused:
        explain_body.run(results, rows, None, CATALOG, is_pair=False, tries=False, form="text")
    (mistake,) = refused.value.mistakes
    assert mistake.place == str(results.directory)
    assert mistake.remedy


def test_a_trial_beyond_the_campaigns_first_scale_runs_again(tmp_path: Path) -> None:
    """The campaign began at scale smoke and grew, and its manifest has the first scale."""
    text = stored_campaigns.SCALED
    whole = stored_campaigns.loaded(text).trials
    (beyond, *_) = [trial for trial in whole if trial.levels["loss"] == "0 %" and trial.block == 1]
    (within, *_) = [trial for trial in whole if trial.levels["loss"] == "2 %" and trial.block == 1]
    records = [stored_campaigns.record(trial) for trial in (beyond, within)]
    stored_campaigns.make(tmp_path / "campaign", records, text=text)
    made = query.read(tmp_path / "campaign")
    results = replace(made, manifest=stored_campaigns.manifest(scale="smoke"))
    how = Again(CATALOG, tmp_path / "again", tmp_path, ONE, None)
    for trial in (beyond, within):
        chosen = {(trial.block, treatment_key(trial.levels))}
        (again,) = loaded_trials(results, chosen, how).trials
        assert (again.id, again.levels) == (trial.id, trial.levels)


def test_nothing_runs_again_where_no_trial_could_be_divided(tmp_path: Path) -> None:
    results = page_campaign(tmp_path / "campaign", only={"http_version": "none"})
    how = Again(CATALOG, tmp_path / "again", tmp_path, ONE, None)
    assert ladders(results, [], how, None, of_attempt) == {}
    assert not (tmp_path / "again").exists()


def test_trials_that_cannot_be_divided_have_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = page_campaign(tmp_path)
    why = Unexplained(1, "a", {"http_version": "2"}, 1, "it kept no packets")
    document = ShownTransfers(results, [why.levels], [why]).document(draws=False)
    terminal_report.show(document, None, terminal.console())
    for text in (capsys.readouterr().out, markdown.render(document)):
        assert "cannot be divided: it kept no packets" in text
        assert "other causes" not in text
        assert "|" not in text.split("Answer")[-1].split("answer")[-1]


def test_a_name_of_several_treatments_says_which_levels_it_lacks(tmp_path: Path) -> None:
    """A factor of which it has two levels is no better than one that it leaves out."""
    results = page_campaign(tmp_path)
    both = "http_version=2,http_version=3"
    with pytest.raises(ConfigError, match=r"choose one level of .*http_version"):
        explain_body.pair(results, (both, "http_version=2"))


def test_the_page_follows_no_link_out_of_a_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A campaign comes from anywhere, and so do the links in its folder."""
    results = page_campaign(tmp_path / "campaign")
    own = tmp_path / "own.txt"
    own.write_text("mine")
    page = results.directory / explain_body.REPORT
    page.symlink_to(own)
    explain_body._print(ShownTransfers(results, [], []), "text", results.directory)
    assert own.read_text() == "mine"
    assert not page.is_symlink()
    assert str(page) in capsys.readouterr().out


def test_a_pair_is_of_the_block_in_which_two_treatments_differ_as_usual(tmp_path: Path) -> None:
    """The trial nearest to a treatment's median is of block 1, where the other met a rare stall."""
    seconds = {"0 %": [2.0, 1.9, 2.1], "2 %": [9.0, 3.8, 3.0]}
    text = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 3")
    records = [
        stored_campaigns.record(trial, seconds=seconds[trial.levels["loss"]][trial.block - 1])
        for trial in stored_campaigns.loaded(text).trials
    ]
    stored_campaigns.make(tmp_path / "campaign", records, text)
    results = query.read(tmp_path / "campaign")
    chosen = explain_body.pair(results, ("http_version=2,loss=0 %", "http_version=2,loss=2 %"))
    assert [(row["loss"], row["block"]) for row in chosen] == [("0 %", 2), ("2 %", 2)]


def test_a_load_that_fetched_nothing_says_why_and_where_to_look(tmp_path: Path) -> None:
    load = BrowserLoad("https://server/", "refused", "net::ERR_QUIC_PROTOCOL_ERROR")
    one = Unread("1/t", PageTrial(1, "t", 1, {}, "failed", load), "failed")
    results = page_campaign(tmp_path, only={"http_version": "none"})
    (answer,) = map(str, ShownLoads(results, [{}], [], [one]).document(draws=False).answer)
    assert "1/t failed, and its browser fetched nothing (refused: net::ERR_QUIC" in answer
    assert "httpbed report DIR --trial 1/t" in answer


def test_a_load_that_was_cut_off_says_that_its_path_is_not_whole(tmp_path: Path) -> None:
    results = page_campaign(tmp_path, only={"http_version": "2"})
    row = next(row for row in attempts.valid(results) if row["http_version"] == "2")
    trial = loads.read(results, row)
    assert trial is not None
    cut = replace(trial.load, ended="time limit", reason="3 requests were open")
    path = critical_path_report.of_trial(results, replace(trial, load=cut))
    assert path is not None
    text = ". ".join(critical_path_report.sentences(path))
    assert text.endswith(
        "not whole (time limit: 3 requests were open), so the path is that of what had arrived;"
        " a larger time_limit in the experiment lets it end"
    )


def test_a_load_that_was_cut_off_is_compared_with_none(tmp_path: Path) -> None:
    results = page_campaign(tmp_path)
    rows = {row["http_version"]: row for row in attempts.valid(results) if row["block"] == 1}
    pair = page_report.read(results, [(results, rows[version]) for version in "23"], CATALOG)
    assert pair.values()["difference"]
    whole, cut = pair.found
    late = replace(cut.path.trial, outcome="timed out")
    cut = replace(cut, path=replace(cut.path, trial=late))
    shown = replace(pair, found=[whole, cut], is_pair=True)
    assert shown.values()["difference"] is None
    *_, last = map(str, shown.document(draws=False).answer)
    assert last.startswith("Their times are not compared")
    assert "timed out" in last


def test_treatments_are_named_by_what_they_do_not_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = page_campaign(tmp_path)
    rows = {row["http_version"]: row for row in attempts.valid(results) if row["block"] == 1}
    alone = page_report.read(results, [(results, rows["2"])], CATALOG)
    pair = page_report.read(results, [(results, rows[version]) for version in "23"], CATALOG)
    assert [path.name for path in pair.paths] == ["HTTP/2", "HTTP/3"]
    document = pair.document(draws=False)
    shared = document.in_common
    for name, level in pair.treatments[0].items():
        if name != "http_version":
            assert level in shared
            assert level in alone.paths[0].name
    assert shared in publish.in_html(document)
    assert markdown.escaped(shared) in markdown.render(document)
    terminal_report.show(document, None, terminal.console())
    assert f"in common {shared}" in " ".join(capsys.readouterr().out.split())
    assert not alone.document(draws=False).in_common
