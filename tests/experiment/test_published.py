"""Beside each study: what its paper published, and the cells that each claim needs."""

from __future__ import annotations

import csv
import itertools
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from httpbed.campaign import preparation
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.factorial import ScaleName, Treatment
from httpbed.programs import catalog as catalogs

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments"
CLAIMS = {
    "liu2024": [f"L-{number}" for number in range(1, 43)],
    "biswal2016": [f"B-{number}" for number in range(1, 19)],
    "zhang2023": [f"Z-{number}" for number in range(1, 6)],
    "ranjan2019": [f"R-{number}" for number in range(1, 7)],
}
"""The claims of each study's papers; the marks X of its set-up are in the files."""
CATALOG = catalogs.load()
CELLS = re.compile(
    r"^\| (?P<claim>[A-Z]-\d+) \| `(?P<file>[\w-]+\.toml)` \| (?P<scale>\w+) \| (?P<cells>.*) \|$",
    re.MULTILINE,
)
DURATIONS = re.compile(r"^\| `([\w-]+\.toml)` \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
STATED = re.compile(r"--scale \w+ +([\d.]+ \w+): ")


@cache
def treatments(study: str, file: str, scale: ScaleName) -> tuple[Treatment, ...]:
    path = FOLDER / study / file
    loaded = preparation.load(path.read_text(), CATALOG, path.parent, DesignOptions(scale))
    return tuple(loaded.experiment.treatments())


def combinations(cells: str) -> Iterator[Treatment]:
    """Yield every combination of the levels in ``factor level, level; factor level``."""
    chosen = dict(each.split(" ", 1) for each in cells.split("; "))
    levels = [each.split(", ") for each in chosen.values()]
    for combination in itertools.product(*levels):
        yield dict(zip(chosen, combination, strict=True))


def rows(study: str) -> list[dict[str, str]]:
    """Return the rows of a study's table of cells."""
    return [row.groupdict() for row in CELLS.finditer((FOLDER / study / "README.md").read_text())]


@pytest.mark.parametrize("study", CLAIMS)
def test_the_cells_of_each_claim_are_in_the_file_at_the_scale(study: str) -> None:
    """Every combination of levels, at the scale of the row and at the full scale."""
    missing = [
        (row["claim"], row["file"], scale, cell)
        for row in rows(study)
        for scale in {row["scale"], "full"}
        for cell in combinations(row["cells"])
        if not any(
            cell.items() <= treatment.items() for treatment in treatments(study, row["file"], scale)
        )
    ]
    assert missing == []


@pytest.mark.parametrize(("study", "claims"), CLAIMS.items())
def test_each_claim_of_a_study_has_cells(study: str, claims: list[str]) -> None:
    """In the order of the claims, which is that of the paper."""
    assert list(dict.fromkeys(row["claim"] for row in rows(study))) == claims


@pytest.mark.parametrize(("study", "claims"), CLAIMS.items())
def test_each_claim_is_stated_in_a_file_of_its_study(study: str, claims: list[str]) -> None:
    """Whole, or as parts such as ``L-1a``."""
    texts = [path.read_text() for path in sorted((FOLDER / study).glob("*.toml"))]
    stated = {one["id"] for text in texts for one in tomllib.loads(text)["claim"]}
    whole = {re.sub(r"^([A-Z]-\d+).*", r"\1", name) for name in stated}
    assert whole == {*claims}


@pytest.mark.parametrize(("study", "claims"), CLAIMS.items())
def test_each_published_value_belongs_to_a_claim(study: str, claims: list[str]) -> None:
    """One row per number, with its condition, unit and place in the paper."""
    with (FOLDER / study / "published.csv").open(newline="") as file:
        values = list(csv.DictReader(file, strict=True))
    assert [*values[0]] == ["claim", "quantity", "condition", "value", "unit", "source"]
    assert all(all(row.values()) for row in values)
    assert {row["claim"] for row in values} <= {*claims}
    assert all(float(row["value"]) >= 0 for row in values)


@pytest.mark.parametrize("study", CLAIMS)
def test_the_readme_has_the_durations_that_the_files_state(study: str) -> None:
    """A row per file, a column per scale."""
    shown = {
        file: each for file, *each in DURATIONS.findall((FOLDER / study / "README.md").read_text())
    }
    assert shown == {
        path.name: STATED.findall(path.read_text()) for path in (FOLDER / study).glob("*.toml")
    }
