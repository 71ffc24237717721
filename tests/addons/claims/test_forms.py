"""The forms of the claims' grammar exist because a published claim needs them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_args

from httpbed.addons.claims.stated import (
    BlockStatistic,
    CellStatistic,
    ContrastKind,
    OtherCells,
    RankTrend,
    StatedClaim,
)

FILES = sorted((Path(__file__).parents[3] / "experiments").glob("*/*.toml"))
CLAIMS = [
    StatedClaim.model_validate(one)
    for path in FILES
    for one in tomllib.loads(path.read_text()).get("claim", ())
]


def test_each_key_is_in_a_published_claim() -> None:
    """Of claims, of trends, and of cells elsewhere."""
    for key in StatedClaim.model_fields:
        assert any(getattr(one, key) for one in CLAIMS), key
    trends = [one.trend for one in CLAIMS if one.trend]
    for key in RankTrend.model_fields:
        assert any(getattr(one, key) for one in trends), key
    others = [one.minus_other or (one.trend and one.trend.other) for one in CLAIMS]
    for key in OtherCells.model_fields:
        assert any(getattr(one, key) for one in others if one), key


def test_each_statistic_is_in_a_published_claim() -> None:
    """Over blocks, over cells, and between treatments."""
    assert {one.estimate for one in CLAIMS} == {*get_args(BlockStatistic)}
    assert {one.take for one in CLAIMS} == {None, *get_args(CellStatistic)}
    assert {by.by for one in CLAIMS for by in one.compare} == {*get_args(ContrastKind)}
