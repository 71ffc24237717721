"""The report's answer in sentences, with the headings and labels that go with it.

One sentence for each factor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.report.answer import answer
from httpbed.report.factor_sentences import factor_sentences
from httpbed.report.phrasing import base_name
from httpbed.report.publish import summary
from httpbed.results.findings import Findings, find


def sentences(findings: Findings, document: Mapping[str, Any]) -> list[str]:
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


def test_a_program_keeps_its_name_where_it_begins_a_sentence() -> None:
    """Its name is typed as it is printed, and is no word of a sentence."""
    text = VERSIONS.replace('http_version = ["1.1", "2", "3"]', 'client = ["curl", "wget"]')
    text = text.replace('loss = ["0 %", "2 %"]\n', "").replace('{ factor = "loss" }', '"2 %"')
    text = text.replace('implementation = "curl"', 'implementation = { factor = "client" }')
    text = text.replace('{ factor = "http_version" }', '"1.1"')
    results = campaign(lambda levels, block: 1.0 + (levels["client"] == "wget") + block / 100, text)
    found = sentences(find(results), results.document)
    assert any(one.startswith("wget ") for one in found)


def test_equal_treatments_are_called_equal() -> None:
    """The sentence gives the margin within which they are equal."""
    results = campaign(lambda _levels, block: 1 + block / 100)
    texts = sentences(find(results), results.document)
    assert "needed the same time as HTTP/2, to within 1 % (" in texts[1]


def test_the_base_is_named_as_treatments_are() -> None:
    """Its levels are in the order of the factors, not of the request."""
    text = VERSIONS.replace("[factors]", '[factors]\ncc = ["reno", "cubic"]')
    base = {"http_version": "3", "cc": "cubic"}
    assert base_name(find(campaign(apart, text), base=base)) == "cubic, HTTP/3"


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


MANY = VERSIONS.replace('["0 %", "2 %"]', str([f"{index} %" for index in range(20)])).replace(
    '["1.1", "2", "3"]', '["2", "3"]'
)
NOISE = (-0.08, 0.05, 0.0, 0.11, -0.03)


def texts(ends: object, text: str, metric: str = "request_time") -> list[str]:
    """Return the sentences on a campaign's factors."""
    results = campaign(ends, text)  # type: ignore[arg-type]
    return [str(sentence) for sentence in factor_sentences(find(results, metric), results.document)]


def noisy(levels: Mapping[str, str], block: int) -> float:
    """Let the version change nothing that five blocks could settle."""
    shift = 2 if levels["http_version"] == "3" else 0
    return 1 + NOISE[(block + shift) % 5]


def test_differences_that_chance_gives_are_called_so() -> None:
    """Of twenty cells one may differ, though nothing does."""

    def ends(levels: Mapping[str, str], block: int) -> float:
        slow = levels["http_version"] == "3" and levels["loss"] == "7 %"
        return noisy(levels, block) * (2 if slow else 1)

    assert texts(ends, MANY)[0] == (
        "HTTP version: against HTTP/2, HTTP/3 needed more time in 1 of 20 cells (2.11x), no more"
        " than chance gives, 19 not settled with 5 blocks."
    )


def test_factors_that_vary_together_are_not_told_apart() -> None:
    """The sentence says why there is no comparison."""
    groups = """
[[groups]]
name = "old"
levels = { http_version = ["1.1"], loss = ["0 %"] }

[[groups]]
name = "new"
levels = { http_version = ["3"], loss = ["2 %"] }
"""
    alone = "no two treatments with values differ in this factor alone."
    assert texts(lambda *_: 1.0, VERSIONS + groups) == [f"HTTP version: {alone}", f"Loss: {alone}"]


SERVERS = """
[factors]
http_version = ["2", "3"]
server = ["nginx", "goserver"]
"""
TWO_SERVERS = (
    re.sub(r"\[factors\].*?\n\n", SERVERS.lstrip() + "\n", VERSIONS, flags=re.DOTALL)
    .replace('{ factor = "loss" }', '"1 %"')
    .replace('"nginx"\n\n[w', '{ factor = "server" }\n\n[w')
)


def opposite(levels: Mapping[str, str], block: int) -> float:
    """Let HTTP/3 be slower with one server and faster with the other."""
    by_server = {"nginx": 1.4, "goserver": 0.85}
    factor = by_server[levels["server"]] if levels["http_version"] == "3" else 1.0
    return factor * (1 + NOISE[block % 5] / 20)


@pytest.mark.parametrize("losses", [["1 %"], ["0 %", "1 %", "2 %", "4 %"]])
def test_an_effect_that_depends_on_another_factor_is_told_by_its_levels(losses: list[str]) -> None:
    """Few comparisons and many alike: one sentence has both directions, each with its server."""
    text = TWO_SERVERS
    if len(losses) > 1:
        text = text.replace('loss = "1 %"', 'loss = { factor = "loss" }')
        text = text.replace("[factors]", f"[factors]\nloss = {losses}")
    results = campaign(opposite, text)
    base = {"http_version": "2", "server": "nginx"} if len(losses) == 1 else None
    found = [
        sentence
        for sentence in sentences(find(results, base=base), results.document)
        if "but" in sentence
    ]
    (told,) = found
    assert re.search(r"HTTP/3 .*more .*nginx \(1\.[34]\dx.*less .*goserver \(0\.8\dx", told)


def test_two_cells_of_many_are_no_interaction() -> None:
    """Most cells of a level must agree before a sentence says so of the level."""

    def ends(levels: Mapping[str, str], block: int) -> float:
        factor = {"3 %": 2.0, "7 %": 0.4}.get(levels["loss"], 1.0)
        is_third = levels["http_version"] == "3" and levels["place"] == "far"
        return noisy({**levels}, block) * (factor if is_third else 1.0)

    text = MANY.replace("[factors]", '[factors]\nplace = ["near", "far"]')
    assert ", but " not in texts(ends, text)[0]


def by_rate(levels: Mapping[str, str], block: int) -> float:
    """Let a lower rate cost time, and the version nothing."""
    seconds = 10 / float(levels["rate"].removesuffix(" Mbit/s"))
    return seconds * (1 + NOISE[block % 5] / 10)


RATES = VERSIONS.replace('loss = ["0 %", "2 %"]', 'rate = ["1 Mbit/s", "5 Mbit/s", "20 Mbit/s"]')
RATES = RATES.replace('rate = "10 Mbit/s"', 'rate = { factor = "rate" }')
RATES = RATES.replace('loss = { factor = "loss" }', "")


def test_what_everybody_knows_is_left_out() -> None:
    """A higher rate needs less time; where it did not, or nothing else was varied, it is said."""
    (version,) = texts(by_rate, RATES)
    assert version.startswith("HTTP version")
    slower = texts(lambda levels, block: 1 / by_rate(levels, block), RATES)
    assert [one.split(":")[0] for one in slower] == ["HTTP version", "Rate"]
    alone = RATES.replace('["1.1", "2", "3"]', '["2"]')
    assert [text.split(":")[0] for text in texts(by_rate, alone)] == ["Rate"]
