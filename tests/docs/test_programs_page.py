"""The reference page of programs."""

from __future__ import annotations

import programs_page
from httpbed.programs import catalog


def test_every_program_has_a_line_and_a_section() -> None:
    """With the published tests of its congestion control."""
    page = programs_page.page()
    for name in catalog.load().recipes:
        assert f"| `{name}` |" in page
        assert f"\n## `{name}`\n" in page


def test_a_test_of_conformance_is_counted() -> None:
    """Over QUIC; a property that is not judged does not count."""
    (line,) = [
        line for line in programs_page.page().splitlines() if line.startswith("| `quic-go` |")
    ]
    assert "reno: 19 of 21" in line


def test_a_surprise_belongs_to_a_program() -> None:
    """A renamed program keeps its surprise."""
    assert set(programs_page.SURPRISES) <= set(catalog.load().recipes)
