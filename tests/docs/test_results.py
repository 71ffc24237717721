"""What the page of results says agrees with the archives."""

from __future__ import annotations

import re
import tomllib
from collections import Counter

import pytest

import results_page
from results_page import PAPERS, ROOT, PublishedExperiment

CLAIMS = {"liu2024": 42, "biswal2016": 18, "zhang2023": 5, "ranjan2019": 6}
"""The papers' own numbers of claims."""
FOUND = results_page.read()
PAGE = (ROOT / "docs/results.md").read_text()


def by_name(one: PublishedExperiment) -> str:
    """Return the name of an archive's test."""
    return f"{one.study}/{one.folder.name}"


def test_each_claim_of_the_papers_counts_once() -> None:
    """Neither its parts nor its further readings count, and no claim is dropped."""
    whole = results_page._whole([claim for one in FOUND for claim in one.claims])
    counted = Counter(claim["id"].partition("-")[0] for claim in whole)
    assert counted == {study[0].upper(): number for study, number in CLAIMS.items()}
    assert len({claim["id"] for claim in whole}) == len(whole)
    assert f"Of {sum(CLAIMS.values())} claims" in PAGE


@pytest.mark.parametrize("one", FOUND, ids=by_name)
def test_no_part_of_a_claim_counts(one: PublishedExperiment) -> None:
    """Those that an experiment lists under all_of or any_of."""
    file = ROOT / "experiments" / one.study / f"{one.folder.name}.toml"
    stated = tomllib.loads(file.read_text())["claim"]
    parts = {
        name for claim in stated for key in ("all_of", "any_of") for name in claim.get(key, [])
    }
    counted = {claim["id"] for claim in results_page._whole(one.claims)}
    assert not parts & counted


@pytest.mark.parametrize("one", FOUND, ids=by_name)
def test_a_reduced_campaign_is_not_called_by_its_scale_alone(one: PublishedExperiment) -> None:
    """Its row says that it ran only what claims need, and how much of the paper that is."""
    (row,) = re.findall(rf"^\| \[{by_name(one)}\].*$", PAGE, re.MULTILINE)
    scale = row.split(" | ")[1]
    assert ("claims" in scale) == bool(one.results.manifest.get("for_claims"))
    (ran, wanted), _ = results_page.coverage(one)
    assert 0 < ran <= wanted
    assert f"{ran} of {wanted}" in row


def test_what_was_run_after_a_verdict_is_said() -> None:
    """The blocks of Liu's pages that its scale does not have."""
    (pages,) = [one for one in FOUND if by_name(one) == "liu2024/pages"]
    blocks = {row["block"] for row in pages.results.last_attempts}
    assert max(blocks) == 7 or results_page.EXTENDED not in PAGE
    assert "Nothing was run again" not in PAGE


def test_the_certificates_are_those_of_the_manifests() -> None:
    """No campaign is said to cite a certificate that it lacks, nor a failed one to have passed."""
    cited = [one.results.manifest.get("link_certificate") for one in FOUND]
    passed = sum(bool(one and one["passed"]) for one in cited)
    found = re.search(r"(\d+) of (\d+) campaigns cite .*?; (\d+) of these passed", PAGE)
    assert found is not None
    assert [int(one) for one in found.groups()] == [sum(map(bool, cited)), len(cited), passed]


@pytest.mark.parametrize("one", FOUND, ids=by_name)
def test_a_report_shows_the_verdicts_that_are_published(one: PublishedExperiment) -> None:
    """Each claim of claims.json, and no report of an earlier judgement."""
    report = (one.folder / "report.html").read_text()
    missing = [claim["id"] for claim in one.claims if claim["id"] not in report]
    assert not missing
    counted = Counter(claim["verdict"] for claim in one.claims)
    shown = {
        name: int(number) for number, name in re.findall(r"</span> (\d+) ([a-z ]+)</span>", report)
    }
    assert {name: shown.get(name) for name in counted} == dict(counted)


@pytest.mark.parametrize("one", FOUND, ids=by_name)
def test_a_figure_named_after_one_of_the_paper_has_the_papers_conditions(
    one: PublishedExperiment,
) -> None:
    """Liu's Figure 7 has no network of 2 %, and the largest ratio stands at the top of its CDF."""
    for figure in one.stated.figures:
        if (by_name(one), figure.id) == ("liu2024/pages", "figure-7"):
            assert all("2 %" not in where.get("loss", []) for where in figure.where)
        if (by_name(one), figure.id) == ("biswal2016/sites", "figure-7"):
            assert [published.share for published in figure.published] == ["100 %"]
        if (by_name(one), figure.id) == ("biswal2016/grid", "figure-5-queued"):
            assert "queues" in figure.title


@pytest.mark.parametrize("one", FOUND, ids=by_name)
def test_the_pictures_are_those_of_the_report(one: PublishedExperiment) -> None:
    """None is left of an earlier judgement."""
    report = (one.folder / "report.html").read_text()
    drawn = {path.stem for path in (one.folder / "figures").glob("declared-*.svg")}
    assert drawn == {
        f"declared-{figure.id}"
        for figure in one.stated.figures
        if f"{figure.id} is not drawn" not in report
    }


def test_the_chapters_name_the_papers_subjects() -> None:
    """As the papers' own titles do."""
    assert "congestion" in PAPERS["zhang2023"][1]
    assert "gigabit" not in PAGE
