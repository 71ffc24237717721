"""Outputs of verbs: what they may replace, and what a full disk leaves."""

from __future__ import annotations

import io
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import stored_campaigns
from command_line import Command

MAX_BYTES = 20_000
"""A limit on the size of files: a report exceeds it, a figure does not."""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    trials = stored_campaigns.loaded().trials[:6]
    stored_campaigns.make(tmp_path / "campaign", map(stored_campaigns.record, trials))
    return tmp_path / "campaign"


@contextmanager
def small_files() -> Iterator[None]:
    """Let this process write files of at most ``MAX_BYTES``."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_BYTES, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_report_that_cannot_be_written_leaves_the_old_one(
    httpbed: Command, campaign: Path
) -> None:
    """The write ends early, as on a full disk; the exit code is 3, with the remedy."""
    assert httpbed("report", campaign)[0] == 0
    report = campaign / "report.html"
    old = report.read_bytes()
    assert len(old) > MAX_BYTES
    with small_files():
        code, out, err = httpbed("report", campaign)
    assert code == 3
    assert "remedy: raise the limit on file sizes" in err
    assert "answer" in out  # which needs no figure
    assert report.read_bytes() == old
    assert not [*campaign.glob(".report*")]


def test_figures_of_others_are_not_replaced(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """A report names its figures itself, so a user's figure may have the same name."""
    own = tmp_path / "figures" / "request_time-by-loss.pdf"
    own.parent.mkdir()
    own.write_text("mine")
    words = ("report", campaign, "-o", tmp_path / "report.html")
    code, _, err = httpbed(*words)
    reason = f"its figures go to {own.parent}, and httpbed did not draw {own.name} there"
    assert (code, err) == (2, f"httpbed: -o: {reason}; name a file in another folder\n")
    assert own.read_text() == "mine"
    own.unlink()
    assert [httpbed(*words)[0] for _ in range(2)] == [0, 0]
    assert own.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("words", [("report",), ("export",), ("export", "--format", "parquet")])
def test_an_output_may_be_a_device(
    httpbed: Command, campaign: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """``-o /dev/null`` writes to the device and does not replace it."""
    verb, *options = words
    (tmp_path / "device").symlink_to("/dev/null")
    assert httpbed(verb, campaign, *options, "-o", tmp_path / "device")[0] == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    "words", [("report", "--status"), ("report",), ("report", "--format", "markdown")]
)
def test_a_terminal_without_utf_8_gets_other_characters(
    httpbed: Command, campaign: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A table has dashes and signs that ASCII lacks."""
    verb, *options = words
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, "ascii", write_through=True))
    assert httpbed(verb, campaign, *options)[0] == 0
    assert shown.getvalue().isascii()
    assert b"trials" in shown.getvalue()
