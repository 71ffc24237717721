"""The report's answer in sentences, with the headings and labels that go with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import reports
from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.report import treatments
from httpbed.report.answer import answer
from httpbed.report.figures import NAME_POINTS, plots, spread
from httpbed.report.phrasing import base_name
from httpbed.report.publish import summary
from httpbed.results.findings import Findings, find


def sentences(findings: Findings, document: Mapping[str, Any]) -> list[str]:
    """Return the answer as text."""
    return [str(sentence) for sentence in answer(findings, document)]


TIMES = {"1.1": 1.3, "2": 1.0, "3": 0.8}


def apart(levels: Mapping[str, str], block: int) -> float:
    """Give the versions times that are clearly apart."""
    return TIMES[levels["http_version"]] * (1 + block / 100)


def test_the_answer_in_words() -> None:
    """Each comparison is a sentence with its evidence."""
    results = campaign(apart)
    texts = sentences(find(results), results.document)
    assert texts[0] == "The link: 10 Mbit/s and 25 ms each way."
    assert texts[-1] == (
        "At 2 % loss, HTTP/3 needed 0.80x the time of HTTP/2"
        " (93.75 % interval 0.80 .. 0.80; less in 5 of 5 blocks)."
    )
    last = answer(find(results), results.document)[-1]
    assert last.evidence.startswith("93.75 %")
    assert last.evidence not in last.text


def test_equal_treatments_are_called_equal() -> None:
    """The sentence gives the margin within which they are equal."""
    results = campaign(lambda _levels, block: 1 + block / 100)
    texts = sentences(find(results), results.document)
    assert "needed the same time as HTTP/2, to within 1 % (" in texts[1]


def test_another_metric_is_named() -> None:
    """The verb of the sentence fits the metric."""
    results = campaign(apart)
    assert (
        "had 1.25x the goodput of HTTP/2"
        in sentences(find(results, "goodput"), results.document)[2]
    )


def test_many_comparisons_are_summed_up_for_each_factor() -> None:
    """Each factor has one sentence: where its levels differ, and by how much."""
    text = VERSIONS.replace('["0 %", "2 %"]', '["0 %", "1 %", "2 %", "3 %"]')
    results = campaign(apart, text)
    assert sentences(find(results), results.document)[1:] == [
        (
            "HTTP version: against HTTP/2, HTTP/1.1 needed more time in all 4 cells (1.30x); HTTP/3"
            " needed less time in all 4 cells (0.80x)."
        ),
        "Loss: changed nothing against 0 %: equal to within 1 % in all 9 cells.",
    ]


def test_an_answer_without_any_result_is_one_sentence() -> None:
    """The sentence gives the extremes, and does not call a single block noise."""
    text = VERSIONS.replace("replicates = 5", "replicates = 1")
    results = campaign(apart, text)
    findings = find(results)
    words = sentences(findings, results.document)[-1]
    assert words.startswith("Nothing is settled at n = 1: all 4 comparisons are of a single block")
    assert "went from 0.80x (HTTP/3 at 0 % loss) to 1.30x (HTTP/1.1 at" in words
    texts = "; ".join(reports.notes(results, findings))
    assert "all 4 comparisons are not settled: n = 1, and fewer than 5 blocks settle" in texts
    assert "within noise" not in texts


def test_the_answer_from_a_single_block_is_marked_as_uncertain() -> None:
    """The terminal shows the sentence alone, without its number of blocks."""
    text = VERSIONS.replace("replicates = 5", "replicates = 1").replace('"1.1", "2"', '"2"')
    results = campaign(apart, text.replace('["0 %", "2 %"]', '["0 %"]'))
    (answer,) = [one for one in sentences(find(results), results.document) if "HTTP/3" in one]
    assert "HTTP/3 needed 0.80x the time of HTTP/2 in a single block, which may be noise" in answer


def test_the_base_is_named_as_treatments_are() -> None:
    """Its levels are in the order of the factors, not of the request."""
    text = VERSIONS.replace("[factors]", '[factors]\ncc = ["reno", "cubic"]')
    base = {"http_version": "3", "cc": "cubic"}
    assert base_name(find(campaign(apart, text), base=base)) == "cubic, HTTP/3"


def test_an_answer_without_comparisons_states_the_reason() -> None:
    """The answer is never empty."""
    results = campaign(lambda *_: None)
    assert sentences(find(results), results.document) == [
        "No trial has a value of request time yet."
    ]


def test_json_holds_no_infinity(tmp_path: Path) -> None:
    """A censored figure is its bound and the side on which it lies."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if levels["http_version"] == "2":
            return Ending({}, "timed out", "still busy")
        return timed(apart(levels, block))

    results = campaign(ends)
    found = summary(results, find(results), tmp_path / "report.html")
    again = json.loads(json.dumps(found, allow_nan=False))
    base, third = again["treatments"][1:3]
    assert base["estimate"]["median"] == {"value": 600.0, "beyond": ">"}
    assert base["is_base"]
    assert third["ratio"]["pseudo_median"]["beyond"] == "<"
    assert again["trials"]["outcomes"] == {"completed": 20, "timed out": 10}
    assert again["report"].endswith("report.html")


def test_headings_where_replicates_are_missing(tmp_path: Path) -> None:
    """One treatment has two values, the others five: the page, the figure and the table say so."""
    results = campaign(
        lambda levels, block: (
            None if levels["http_version"] == "3" and block > 2 else apart(levels, block)
        ),
        directory=tmp_path,
    )
    found = find(results)
    headers = [column.header for column in treatments.columns(found)]
    assert len([header for header in headers if header.endswith("[at least 50 %]")]) == 2
    assert "the bar its interval of at least 50 %." in plots(found, results.document)[0].caption


def test_the_answer_does_not_hide_that_the_link_changes() -> None:
    """Its rate holds at first only."""
    change = 'delay = "25 ms"\nschedule = [{ at = "300 ms", rate = "1 Mbit/s" }]'
    results = campaign(apart, VERSIONS.replace('delay = "25 ms"', change))
    texts = sentences(find(results), results.document)
    assert texts[0] == "The link: 10 Mbit/s and 25 ms each way, at first."


def test_names_of_curves_stay_apart_and_within_their_panel() -> None:
    """Where many end at the top, the lower ones give way."""
    places = spread([10.0, 95.0, 96.0, 97.0], 100.0)
    assert places[0] == 10
    assert places[-1] == 100
    assert all(b - a >= NAME_POINTS - 1e-9 for a, b in pairwise(places))
