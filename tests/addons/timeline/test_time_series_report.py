"""The report's figures over time: typical trials, one trial."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import recorded_series
import reports
from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.addons.timeline import time_series_report as time_series
from httpbed.cli import report as verb
from httpbed.results import attempts
from httpbed.results.findings import find
from httpbed.store import query
from httpbed.store.results import Results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Make a campaign of six treatments, five blocks each; the third is the middle one."""
    folder = tmp_path_factory.mktemp("campaign")
    found = campaign(lambda _levels, block: 1 + block / 100, directory=folder)
    recorded_series.keep(found, recorded_series.one_link())
    return found


def of_block(results: Results, block: int) -> set[str]:
    rows = attempts.valid(results)
    return {f"{row['block']}/{row['trial']}" for row in rows if row["block"] == block}


def test_each_condition_has_a_figure_of_its_median_trials(results: Results) -> None:
    """The caption names the trials, and the alternative text describes the curves."""
    made, _ = time_series.plots(find(results), results)
    assert [plot.name for plot in made] == ["over-time-1", "over-time-2"]
    named = {one for plot in made for one in re.findall(r"\d/[0-9a-f]{12}", plot.caption)}
    assert named == of_block(results, 3)
    for plot in made:
        for word in ("throughput", "round trip", "in flight", "queue", "HTTP/3", "client's first"):
            assert word in plot.svg()
    described = made[0].alternative
    assert "HTTP/2: throughput up to 10 Mbit/s, median round trip 50 ms" in described
    assert "up to 50 kB in flight, up to 2 ms in the queue" in described


def test_treatments_that_completed_nothing_are_drawn_too(tmp_path: Path) -> None:
    """What happened until the time limit is worth seeing; an invalid attempt is not."""
    outcomes = {"1.1": "timed out", "2": "invalid"}

    def ends(levels: dict[str, str], _block: int) -> Ending:
        return Ending({}, outcomes.get(levels["http_version"], "completed"))

    found = campaign(lambda levels, block: ends(dict(levels), block), directory=tmp_path)
    recorded_series.keep(found, recorded_series.one_link(), ("completed", "timed out", "invalid"))
    plot = time_series.plots(find(found), found)[0][0]
    assert "HTTP/1.1 1/" in plot.caption
    assert "HTTP/2 " not in plot.caption


def test_treatments_of_one_protocol_differ_in_their_dashes(tmp_path: Path) -> None:
    """They have the protocol's colour, so only the dashes tell Cubic from BBR."""
    text = VERSIONS.replace(
        "[topology]", 'congestion_control = ["cubic", "bbr"]\n[topology]'
    ).replace(
        'implementation = "nginx"',
        'implementation = "caddy"\ncongestion_control = { factor = "congestion_control" }',
    )
    found = campaign(lambda *_: timed(1.0), text, tmp_path)
    recorded_series.keep(found, recorded_series.one_link())
    plot = time_series.plots(find(found), found)[0][0]
    curves = plot.figure.get_axes()[0].get_lines()
    signs = {
        (curve.get_color(), curve.get_linestyle()) for curve in curves if curve.get_alpha() != 0
    }
    assert len(signs) == 6


def test_many_treatments_are_spread_over_figures(tmp_path: Path) -> None:
    """Each figure has as many as can be told apart; what has no figure is said."""
    versions = VERSIONS.replace('["1.1", "2", "3"]', '["3"]').replace(
        "[topology]", f"rate = {json.dumps([f'{n} Mbit/s' for n in range(1, 31)])}\n[topology]"
    )
    text = versions.replace('rate = "10 Mbit/s"', 'rate = { factor = "rate" }')
    found = campaign(lambda *_: timed(1.0), text, tmp_path)
    recorded_series.keep(found, recorded_series.one_link())
    made, undrawn = time_series.plots(find(found), found)
    assert len(made) == time_series.MAX_FIGURES
    assert undrawn == "54 further treatments are not drawn."
    assert sum(len(plot.svg()) for plot in made) < 250_000


def test_the_report_has_a_section_and_its_files(results: Results) -> None:
    """With the way to one trial."""
    text = reports.saved(results).read_text()
    assert '<a href="#over-time">Over time</a>' in text
    assert "httpbed report DIR --trial BLOCK/TRIAL" in text
    assert (results.directory / "figures/over-time-2.svg").is_file()


def test_a_campaign_without_records_has_no_section(tmp_path: Path) -> None:
    """Of an earlier version of httpbed, or an archive."""
    plain = campaign(lambda _levels, block: 1 + block / 100, directory=tmp_path)
    assert "over-time" not in reports.page(plain)


def test_one_trial_over_time(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a line, as values and as a figure."""
    monkeypatch.setattr(query, "read", lambda _path: results)
    (name, *_) = sorted(of_block(results, 1))
    words = [str(results.directory), "--trial", name]
    shown = CliRunner().invoke(verb.command, words, catch_exceptions=False)
    assert "over time  throughput up to 10 Mbit/s" in shown.stdout
    assert "over-time.svg" in shown.stdout
    values = json.loads(CliRunner().invoke(verb.command, [*words, "--json"]).stdout)["over_time"]
    assert set(values) == {"throughput_bit_s", "rtt_s", "in_flight_bytes", "queue_s"}
    assert values["rtt_s"][0][1] is None
    assert values["in_flight_bytes"][4] == [0.035, 50000.0]
