"""What each factor did, all other levels equal."""

from __future__ import annotations

from collections.abc import Mapping

from campaigns import VERSIONS, campaign
from httpbed.results.findings import find

ONE_LOSS_PER_VERSION = (
    VERSIONS
    + """
[[groups]]
name = "old"
levels = { http_version = ["1.1"], loss = ["0 %"] }

[[groups]]
name = "new"
levels = { http_version = ["3"], loss = ["2 %"] }
"""
)


def steady(levels: Mapping[str, str], block: int) -> float:
    """Make loss double the time, and the version change nothing."""
    return (2 if levels["loss"] == "2 %" else 1) * (1 + block / 100)


def test_each_level_is_compared_where_all_other_levels_are_equal() -> None:
    """Factors of the base come first, with the base's level as reference."""
    version, loss = find(campaign(steady)).effects
    assert (version.factor, version.reference) == ("http_version", "2")
    assert [(level.level, len(level.ratios)) for level in version.levels] == [("1.1", 2), ("3", 2)]
    assert {ratio.judgement for level in version.levels for ratio in level.ratios} == {"equal"}
    assert (loss.factor, loss.reference) == ("loss", "0 %")
    assert [ratio.value.value for ratio in loss.levels[0].ratios] == [2.0, 2.0, 2.0]


def test_factors_that_vary_only_together_have_no_cell() -> None:
    """Their effects cannot be told apart."""
    assert [effect.levels for effect in find(campaign(steady, ONE_LOSS_PER_VERSION)).effects] == [
        (),
        (),
    ]
