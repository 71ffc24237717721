"""``httpbed report DIR --experiment FILE``: figures that were declared after the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import stored_campaigns
from httpbed.cli import report

FIGURE = """
[[figure]]
id = "later"
title = "What was asked later"
kind = "bars"
metric = "request_time"
x = "loss"
series = "http_version"
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Return the folder of a campaign without figures."""
    records = [stored_campaigns.record(trial) for trial in stored_campaigns.loaded().trials]
    stored_campaigns.make(tmp_path / "campaign", records)
    return tmp_path / "campaign"


def reported(campaign: Path, text: str) -> Result:
    file = campaign.parent / "figures.toml"
    file.write_text(text)
    return CliRunner().invoke(report.command, [str(campaign), "--experiment", str(file), "--json"])


def test_figures_of_another_file_are_drawn(campaign: Path) -> None:
    """The campaign keeps its experiment file."""
    result = reported(campaign, stored_campaigns.SMALL + FIGURE)
    assert result.exit_code == 0, result.output
    assert (campaign / "figures/declared-later.svg").is_file()
    assert "What was asked later." in (campaign / "report.html").read_text()
    assert (campaign / "experiment.toml").read_text() == stored_campaigns.SMALL


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (stored_campaigns.SMALL, "declares no figure"),
        (stored_campaigns.SMALL + FIGURE.replace('"loss"', '"delay"'), "unknown factor 'delay'"),
        (stored_campaigns.SMALL + FIGURE.replace("bars", "bar"), "did you mean 'bars'?"),
    ],
)
def test_figures_that_do_not_fit_are_rejected(campaign: Path, text: str, words: str) -> None:
    """With the place and the way out."""
    result = reported(campaign, text)
    assert result.exception is not None
    assert words in str(result.exception)
    assert not (campaign / "report.html").exists()
