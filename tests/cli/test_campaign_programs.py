"""What reads a campaign and runs trials again takes the programs that the campaign had."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

import stored_campaigns
from httpbed.cli import experiment_argument
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign


def made(directory: Path, **sources: object) -> Campaign:
    read = stored_campaigns.loaded()
    manifest = {**stored_campaigns.manifest(), **sources}
    with campaigns.opened(directory, stored_campaigns.SMALL, read.trials, manifest):
        pass
    return campaigns.open_existing(directory)


def test_both_builds_of_a_campaign_are_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And said; an executable that is gone since is left out."""
    program = Path(sys.executable).resolve()
    stored = made(
        tmp_path / "c",
        own_programs={"curl": str(program), "caddy": str(tmp_path / "gone")},
        second_builds={"curl-new": {"of": "curl", "path": str(program)}},
    )
    with click.Context(click.Command("explain")):
        catalog = experiment_argument.catalog_of(stored, ())
    assert catalog["curl"].install.binary == str(program)
    assert catalog["curl-new"].install.binary == str(program)
    assert catalog["caddy"].install.binary is None
    assert capsys.readouterr().err.count(str(program)) == 2
