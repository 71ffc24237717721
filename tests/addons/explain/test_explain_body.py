"""Campaigns that cannot be explained are mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.explain import explain_body
from httpbed.base.errors import ConfigError
from httpbed.results import attempts
from page_campaigns import page_campaign


def test_a_campaign_of_page_loads_is_refused_once(tmp_path: Path) -> None:
    """No rule covers a page: an empty division would be no answer."""
    results = page_campaign(tmp_path)
    rows = list(attempts.valid(results))
    assert len(rows) > 1
    with pytest.raises(ConfigError) as refused:
        explain_body.require_covered(results, rows)
    (mistake,) = refused.value.mistakes
    assert mistake.place == str(results.directory)
    assert "page" in mistake.reason
    assert mistake.remedy
