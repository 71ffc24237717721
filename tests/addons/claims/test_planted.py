"""Planted campaigns are judged at the nominal rates: wrong verdicts are rare, true ones found.

``make bench-claims`` judges more campaigns and prints the rates.
"""

from __future__ import annotations

import pytest
from scipy import stats

from planted_campaigns import ONE_CELL, SEVERAL, Planted

CAMPAIGNS = 60
FALSE_ALARM = 1e-4
"""Probability that one of these tests fails although the rates are as stated."""
EVERY_CASE = [*ONE_CELL, *SEVERAL]


@pytest.mark.slow
@pytest.mark.parametrize("planted", EVERY_CASE, ids=[one.says for one in EVERY_CASE])
def test_verdicts_on_planted_campaigns_keep_their_rates(planted: Planted) -> None:
    """Both errors: a wrong verdict, and a true effect that is not found."""
    found = planted.verdicts(CAMPAIGNS)
    for verdict, most in planted.wrong.items():
        assert found[verdict] <= stats.binom.isf(FALSE_ALARM, CAMPAIGNS, most), found
    for verdict, least in planted.right.items():
        assert found[verdict] >= stats.binom.ppf(FALSE_ALARM, CAMPAIGNS, least), found
