"""A campaign comes from anywhere, and so do the links in its folder: nothing is written through."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.base import disk
from httpbed.base.errors import ConfigError
from httpbed.cli import output_file


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Make a file of the user's outside of the campaign."""
    file = tmp_path / "own"
    file.write_text("own")
    return file


def test_a_figure_takes_the_place_of_a_link(tmp_path: Path, own: Path) -> None:
    """The link is replaced, its target stays."""
    link = tmp_path / "figure.svg"
    link.symlink_to(own)
    disk.write_beside(link, b"<svg ")
    assert (own.read_text(), link.is_symlink(), link.read_bytes()) == ("own", False, b"<svg ")


def test_the_unfinished_file_is_never_a_link(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is unknown to others; should one guess it, the link is removed and not followed."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: "1")
    (tmp_path / ".httpbed-1").symlink_to(own)
    (tmp_path / f".httpbed-{os.getpid()}").symlink_to(own)
    disk.write_output(tmp_path / "report.html", b"new")
    assert own.read_text() == "own"
    assert (tmp_path / "report.html").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["report.html", "figures"])
def test_a_link_in_the_place_of_a_report_or_of_figures_is_a_mistake(
    tmp_path: Path, name: str
) -> None:
    """The report of a campaign would be written to its target, also where there is none yet."""
    stored_campaigns.make(tmp_path / "campaign")
    (tmp_path / "campaign" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=name):
        output_file.require_report(tmp_path / "campaign")
