"""Records of how many page loads run side by side: for whom they hold, and for whom not."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.capacity import capacity_records

BROWSER = "chromium-headless-shell"
HOST = {"kernel": "6.18", "architecture": "x86_64", "cpu": "a", "cores": 2, "memory_bytes": 1}
MADE_BY: dict[str, Any] = {
    "host": HOST,
    "programs": [{"name": BROWSER, "sha256": "ab"}],
    "link": {"backend": "af_packet"},
}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a record of two for times, one for pictures."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    record = {
        "machine": HOST,
        "browser": {"sha256": "ab"},
        "backend": "af_packet",
        "undisturbed": {"speed_index": 1, "page_load_time": 2},
    }
    capacity_records.write(BROWSER, record)


@pytest.mark.parametrize(
    ("metric", "most"),
    [("speed_index", 1), ("largest_contentful_paint", 1), ("page_load_time", 2), ("rtt", 2)],
)
def test_pictures_are_disturbed_sooner_than_times(metric: str, most: int) -> None:
    """Paints are seen in pictures, all else is a time."""
    assert capacity_records.undisturbed(BROWSER, MADE_BY, metric) == most


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (("host", "kernel"), "6.19"),
        (("host", "cores"), 4),
        (("programs", 0, "sha256"), "cd"),
        (("link", "backend"), "tun"),
    ],
)
def test_a_record_is_of_one_machine_browser_and_backend(place: tuple[Any, ...], other: Any) -> None:
    """Of another nothing is known."""
    made_by = copy.deepcopy(MADE_BY)
    at: Any = made_by
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = other
    assert capacity_records.undisturbed(BROWSER, made_by, "rtt") is None


def test_a_damaged_record_is_none() -> None:
    """A missing record counts as none, too."""
    capacity_records.path(BROWSER).write_text("[]")
    assert capacity_records.undisturbed(BROWSER, MADE_BY, "rtt") is None
    assert capacity_records.undisturbed("another", MADE_BY, "rtt") is None
