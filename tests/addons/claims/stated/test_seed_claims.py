"""The claims of four studies can be written, each against the factors of its experiment."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.claims import checking
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.compiled import compile_claim
from httpbed.addons.claims.stated import StatedClaim
from httpbed.experiment import factorial
from httpbed.experiment.factorial import Exclusion, Group

SEED = Path(__file__).parent / "seed"
FILES = sorted(SEED.glob("*.toml"))
NUMBERS = {
    "L": [*range(1, 4), 5, *range(7, 13), 15, *range(18, 29), 30, 31, *range(33, 39), 41, 42],
    "B": [*range(1, 12), *range(13, 19)],
    "Z": [1, 3, 4],
    "R": [2, 3, 4, 6],
}
QUANTITATIVE_AND_DIRECTIONAL = {f"{study}-{n}" for study, found in NUMBERS.items() for n in found}
"""The studies' claims with a published value or direction."""


def read(path: Path) -> tuple[list[StatedClaim], ClaimDesign]:
    """Read the claims of a file, and the design that they refer to."""
    document: dict[str, Any] = tomllib.loads(path.read_text())
    factors = document["factors"]
    groups = [Group.model_validate(one) for one in document.get("groups", ())]
    excluded = [Exclusion.model_validate(one) for one in document.get("exclude", ())]
    treatments = factorial.treatments(factors, groups, excluded)
    design = ClaimDesign(factors, frozenset(tuple(one.values()) for one in treatments))
    return [StatedClaim.model_validate(one) for one in document["claim"]], design


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_claims_of_a_study_have_no_mistakes(path: Path) -> None:
    """Their factors, levels and treatments exist, and their regions can be met."""
    claims, design = read(path)
    found = checking.problems(dict(enumerate(claims)), design)
    assert [f"{place} {one.at}: {one.reason}" for place, one in found] == []


def test_every_claim_is_written() -> None:
    """A claim of several parts or readings has an id for each."""
    ids = [one.id for path in FILES for one in read(path)[0]]
    assert {"-".join(name.split("-")[:2]) for name in ids} >= QUANTITATIVE_AND_DIRECTIONAL
    assert len(QUANTITATIVE_AND_DIRECTIONAL) == 56


def test_every_form_is_used() -> None:
    """The forms of the grammar exist because some claim needs them."""
    claims = [one for path in FILES for one in read(path)[0]]
    assert {one.estimate for one in claims} == {"median", "mean", "variation", "success"}
    assert {one.take for one in claims} == {None, "largest", "spread"}
    assert {by.by for one in claims for by in one.compare} == {"ratio", "gain", "difference"}
    for key in ("items", "trend", "over", "share_in", "count_in", "rank_of", "minus", "all_of"):
        assert any(getattr(one, key) for one in claims), key
    assert any(len(one.compare) > 1 for one in claims)


def test_cells_are_those_of_the_paper() -> None:
    """Grids less what their designs leave out."""
    sizes = {}
    for path in FILES:
        claims, design = read(path)
        for one in claims:
            if not one.all_of:
                sizes[one.id] = len(compile_claim(one, design).cells)
    assert sizes["B-1"] == sizes["B-2"] == 180
    assert sizes["B-3-all"] == 180
    assert sizes["L-25-resume"] == 18
    assert sizes["L-34"] == 72
    assert sizes["L-13"] == 6
    assert sizes["R-4"] == 3
    assert sizes["Z-1"] == 14
