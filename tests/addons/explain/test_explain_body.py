"""Campaigns that cannot be explained are mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.explain import explain_body
from httpbed.addons.explain.explain_report import Shown
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


def test_the_page_follows_no_link_out_of_a_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A campaign comes from anywhere, and so do the links in its folder."""
    results = page_campaign(tmp_path / "campaign")
    own = tmp_path / "own.txt"
    own.write_text("mine")
    page = results.directory / explain_body.REPORT
    page.symlink_to(own)
    explain_body._print(Shown(results, []), "text", results.directory)
    assert own.read_text() == "mine"
    assert not page.is_symlink()
    assert str(page) in capsys.readouterr().out
