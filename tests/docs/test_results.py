"""What the page of results says agrees with the archives."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

import results_page
from httpbed.addons.claims.claims_section_report import SHAPES, coverage
from results_archives import PAPERS, ROOT, PublishedExperiment, place, whole
from results_clocks import claims_of

pytestmark = pytest.mark.slow

CLAIMS = {"liu2024": 42, "biswal2016": 18, "zhang2023": 5, "ranjan2019": 6}
"""The papers' own numbers of claims."""
NO_BREAK = "\N{NO-BREAK SPACE}"
PAGE = (ROOT / "docs/results.md").read_text()


def by_name(one: PublishedExperiment) -> str:
    """Return the name of an archive's test."""
    return one.place


def test_each_claim_of_the_papers_counts_once(
    published: list[PublishedExperiment],
) -> None:
    """Neither its parts nor its further readings count, and no claim is dropped."""
    found = whole(claims_of(published))
    counted = Counter(claim["id"].partition("-")[0] for claim in found)
    assert counted == {study[0].upper(): number for study, number in CLAIMS.items()}
    assert len({claim["id"] for claim in found}) == len(found)
    assert f"of the {sum(CLAIMS.values())} claims" in PAGE


def test_no_part_of_a_claim_counts(one: PublishedExperiment) -> None:
    """Those that an experiment lists under all_of or any_of."""
    file = ROOT / "experiments" / one.study / f"{one.folder.name}.toml"
    stated = tomllib.loads(file.read_text())["claim"]
    parts = {
        name for claim in stated for key in ("all_of", "any_of") for name in claim.get(key, [])
    }
    counted = {claim["id"] for claim in whole(one.claims)}
    assert not parts & counted


def test_a_reduced_campaign_is_not_called_by_its_scale_alone(one: PublishedExperiment) -> None:
    """Its row says that it ran only what claims need, and how much of the paper that is."""
    link = re.escape(f"results/{by_name(one)}/report.html")
    row, *_ = re.findall(rf"^\| \[{one.name}\]\(../{link}\).*$", PAGE, re.MULTILINE)
    _, clock, seed, scale, *_ = row.split(" | ")
    assert (clock, seed) == (one.clock, ", ".join(map(str, one.seeds)))
    assert ("claims" in scale) == bool(one.results.manifest.get("for_claims"))
    runs = [*map(json.loads, (one.folder / "runs.jsonl").read_text().splitlines())]
    words = [word for run in runs for word in run["command"].split()]
    asked = {word for option, word in pairwise(words) if option == "--scale"}
    assert asked <= set(scale.replace(",", "").split())
    found = coverage(one.results, one.stated)
    assert found is not None
    assert 0 < found.cells <= found.of_cells
    assert f"{found.cells} of {found.of_cells}" in row


def test_what_was_run_after_a_verdict_is_said(
    published: list[PublishedExperiment],
) -> None:
    """The blocks of Liu's pages that its scale does not have."""
    (pages,) = [experiment for experiment in published if by_name(experiment) == "liu2024/pages"]
    blocks = {row["block"] for row in pages.results.last_attempts}
    assert max(blocks) == 7 or results_page.EXTENDED not in PAGE
    assert "Nothing was run again" not in PAGE


def test_the_certificates_are_those_of_the_manifests(
    published: list[PublishedExperiment],
) -> None:
    """No campaign is said to cite a certificate that it lacks, nor a failed one to have passed."""
    real = [experiment for experiment in published if experiment.clock == "real"]
    cited = [experiment.results.manifest.get("link_certificate") for experiment in real]
    passed = sum(bool(one and one["passed"]) for one in cited)
    found = re.search(
        r"(\d+) of (\d+) campaigns in real time cite .*?; (\d+) of these passed", PAGE
    )
    assert found is not None
    assert [int(group) for group in found.groups()] == [sum(map(bool, cited)), len(cited), passed]


def test_a_report_shows_the_verdicts_that_are_published(one: PublishedExperiment) -> None:
    """Each claim of claims.json, and no report of an earlier judgement."""
    report = (one.folder / "report.html").read_text()
    missing = [claim["id"] for claim in one.claims if claim["id"] not in report]
    assert not missing
    parts = {part for claim in one.claims for part in claim["parts"]}
    counted = Counter(claim["verdict"] for claim in one.claims if claim["id"] not in parts)
    shown = {
        name: int(number) for number, name in re.findall(r"</span> (\d+) ([a-z ]+)</span>", report)
    }
    assert {name: shown.get(name) for name in counted} == dict(counted)


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


def test_the_tables_have_the_papers_order() -> None:
    """Study by study, and in each from its first claim on."""
    chapters = PAGE.split("\n## ")[1 : 1 + len(PAPERS)]
    assert [chapter.split(":")[0] for chapter in chapters] == [name for name, _ in PAPERS.values()]
    for chapter in chapters:
        claims = chapter.split("\n### ")[0]
        ids = re.findall(r"^\| ([A-Z]-\d\S*) \|", claims, re.MULTILINE)
        assert ids == sorted(ids, key=lambda one: place({"id": one}))


def test_every_row_with_an_estimate_shows_its_effect(
    published: list[PublishedExperiment],
) -> None:
    """Not only how many cells are as claimed: what they measured."""
    for claim in (claim for experiment in published for claim in experiment.claims):
        if claim["cells"] and claim["verdict"] != "not run":
            assert not re.search(r"\d+ of \d+ cells", claim["effect"]), claim["id"]
    for claims in (experiment.claims for experiment in published):
        effects = {claim["id"]: claim["effect"] for claim in claims}
        for claim in claims:
            assert all(effects[part] in claim["effect"] for part in claim["parts"])


def test_the_matrix_has_a_sign_for_each_claim(
    published: list[PublishedExperiment],
) -> None:
    """With the sign of its verdict."""
    rows = PAGE[: PAGE.index("bold: in every control arm")].splitlines()
    signs = "\n".join(row for row in rows if row.startswith("|"))
    for claim in whole(claims_of(published)):
        shape, number = SHAPES[claim["verdict"]], claim["id"].partition("-")[2]
        sign = f"{re.escape(shape)}{NO_BREAK}{number}"
        assert re.search(rf"{sign}\b", signs), claim["id"]


def test_the_page_names_what_is_needed_to_cite_and_to_repeat(
    published: list[PublishedExperiment],
) -> None:
    """Seeds, commands, jobs, the processor, programs with versions, and reasons."""
    for experiment in published:
        manifest = experiment.results.manifest
        assert manifest["command"] in PAGE
        assert manifest["host"]["cpu"] in PAGE
        for program in manifest["programs"]:
            if program["name"] in manifest["recipes"]:
                assert f"| {program['name']} | {program['version']} |" in PAGE
    assert "CPU pressure" in PAGE


def test_one_round_trip_time_fits_the_values_between_two_readings(
    published: list[PublishedExperiment],
) -> None:
    """A remark says so of four claims: time is taken for a power of the round-trip time."""
    claims = {
        claim["id"]: claim
        for experiment in published
        if experiment.place == experiment.name
        for claim in experiment.claims
    }
    fitting = []
    for name, stated in (("L-7", 15), ("L-8", 106), ("L-26", 56.7), ("L-27", 6.6)):
        (reading,) = [one for one in claims[name]["arms"] if one["kind"] == "reading"]
        one_way, round_trip = map(_seconds, (claims[name], reading))
        power = math.log2(one_way / round_trip)
        fitting.append(50 * (stated / round_trip) ** (1 / power))
    assert [round(min(fitting)), round(max(fitting))] == [72, 87]


def _seconds(judged: Mapping[str, Any]) -> float:
    """Return the value of a claim, or the mean of its cells."""
    if cells := judged["cells"]:
        return float(sum(cell["value"] for cell in cells) / len(cells))
    return float(judged["estimate"]["value"])
