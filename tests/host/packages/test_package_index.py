"""The package index of a root filesystem: its age, and when an expired one is accepted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from httpbed.host.packages import mmdebstrap, package_index, toolbox
from httpbed.host.packages.toolbox import Contents

FAKE = """
echo run >>"$FAKE_LOG"
case "$*" in *Check-Valid-Until*) ;; *) if [ "$EXPIRED" = 1 ]; then
    echo "E: Release file for x is expired (invalid since 3d). Updates will not be applied."
    exit 25
fi;; esac
root="${@: -1}"; mkdir -p "$root"/{etc,dev,tmp,usr/bin}; : >"$HTTPBED_VERSIONS"
echo "Fri, 20 Nov 2026 08:15:00 UTC" >"$HTTPBED_INDEX"
"""
MADE = datetime(2026, 11, 20, 8, 15, tzinfo=UTC)


@pytest.mark.parametrize(("expired", "runs"), [("0", 1), ("1", 2)])
def test_an_expired_index_is_accepted_only_after_the_check_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expired: str, runs: int
) -> None:
    """The first run checks the date; the second does not, and is reported."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("EXPIRED", expired)
    monkeypatch.setattr(mmdebstrap, "command", lambda _: ["bash", "-c", FAKE, "fake"])
    progress: list[str] = []
    root = toolbox.ensure(Contents("sid", frozenset({"curl"})), say=progress.append)
    assert len((tmp_path / "log").read_text().split()) == runs
    assert any("has expired" in line for line in progress) == (runs == 2)
    assert any(line.startswith("Debian sid, package index of 2026-11-20 (") for line in progress)
    assert root.index == MADE.isoformat()


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (datetime(2026, 11, 20, 20, tzinfo=UTC), "package index of 2026-11-20 (of today)"),
        (datetime(2026, 11, 21, 20, tzinfo=UTC), "package index of 2026-11-20 (1 day old)"),
        (datetime(2026, 11, 22, 9, tzinfo=UTC), "package index of 2026-11-20 (2 days old)"),
    ],
)
def test_the_age_of_an_index_is_reported_in_days(now: datetime, text: str) -> None:
    """An index of the same day is "of today"."""
    assert package_index.age_text(MADE, now) == text
    assert package_index.age_text(None, now) == "package index of an unknown date"


def test_a_missing_date_is_none(tmp_path: Path) -> None:
    """An archive may have no date."""
    assert package_index.dated(tmp_path / "absent") is None
    (tmp_path / "index").write_text("")
    assert package_index.dated(tmp_path / "index") is None
