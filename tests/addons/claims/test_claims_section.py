"""The verdicts on claims, first in a report."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import reports
from campaigns import VERSIONS, campaign
from httpbed.addons.claims import claims_section_report as claims_section
from httpbed.addons.claims import judging
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.report import publish, terminal, terminal_report
from httpbed.results.findings import find
from httpbed.store.results import Results

CLAIM = """
[[claim]]
id = "{id}"
says = "HTTP/3 is faster than HTTP/2 at 2 % loss <b>"
published = "half the time"
metric = "request_time"
where = {{ loss = "2 %" }}
compare = {{ of = {{ http_version = "3" }}, to = {{ http_version = "2" }} }}
expect = "{expect}"

[[claim.arm]]
name = "no loss"
where = {{ loss = "0 %" }}
"""
CLAIMS = CLAIM.format(id="A-1", expect="< 1") + CLAIM.format(id="A-2", expect="> 1")


def halved(levels: Mapping[str, str], block: int) -> float:
    """Halve the time of HTTP/3 where packets are lost."""
    lossy = levels["http_version"] == "3" and levels["loss"] == "2 %"
    return (0.5 if lossy else 1.0) * (1 + block / 100)


def judged(directory: Path = Path("campaign")) -> Results:
    """Provide a campaign of six blocks with two claims."""
    text = VERSIONS.replace("replicates = 5", "replicates = 6") + CLAIMS
    return campaign(halved, text, directory)


def test_each_claim_has_its_verdict_with_the_measured_and_the_published_value() -> None:
    """The arms say whether the verdict depends on the conditions."""
    results = judged()
    found = claims_section.make(results, judging.judge(results))
    assert found
    assert found["counted"] == [("reproduced", 1), ("contradicted", 1)]
    first, second = found["claims"]
    assert (first["effect"], first["published"]) == ("0.5x [0.5, 0.5]", "half the time")
    assert (first["verdict"], first["robustness"]) == ("reproduced", "depends")
    assert second["verdict"] == "contradicted"
    assert [arm["name"] for arm in first["arms"]] == ["no loss"]


def test_the_report_begins_with_the_verdicts() -> None:
    """Then come the answer and the matrix; what a claim says is text."""
    results = judged()
    page = reports.page(results, find(results))
    places = [page.index(f'<section id="{name}"') for name in ("claims", "answer", "matrix")]
    assert places == sorted(places)
    assert page.index("</header>") < places[0]
    assert "at 2 % loss &lt;b&gt;" in page


def test_a_report_without_claims_begins_with_the_answer() -> None:
    """There is no empty section."""
    results = campaign(halved)
    findings = find(results)
    assert claims_section.make(results, judging.judge(results)) is None
    page = reports.page(results, findings)
    assert page.index('<section id="answer"') < page.index('<section id="matrix"')
    assert 'id="claims"' not in page


def test_the_terminal_counts_the_verdicts() -> None:
    """Another verb shows each of them."""
    printed, results = io.StringIO(), judged()
    reports.show(results, find(results), None, terminal.console(printed))
    line = (
        "claims     2 claims: 1 reproduced, 1 contradicted;"
        " httpbed claims campaign shows each of them"
    )
    assert line in printed.getvalue().splitlines()


def test_a_report_judges_its_claims_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The HTML report and the terminal show the same verdicts; to judge them takes longest."""
    results, calls = judged(tmp_path), []
    judge = judging.judge

    def noted(*given: Any) -> tuple[JudgedClaim, ...]:
        calls.append(given)
        return judge(*given)

    monkeypatch.setattr(judging, "judge", noted)
    findings = find(results)
    document = publish.document(results, findings)
    path = publish.save(document, results.directory)
    terminal_report.show(document, path, terminal.console(io.StringIO()))
    assert "1 contradicted" in path.read_text()
    assert len(calls) == 1


def test_figures_are_beside_a_report_that_is_elsewhere(tmp_path: Path) -> None:
    """The campaign, or an archive, is only read."""
    results = judged(tmp_path / "campaign")
    reports.saved(results, path=tmp_path / "report.html")
    assert (tmp_path / "figures" / "request_time-distribution.svg").is_file()
    assert not results.directory.exists()
