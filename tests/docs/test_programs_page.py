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


def test_a_program_has_one_certificate_for_each_congestion_control() -> None:
    """Two files of one sender would show its result twice."""
    for tests in programs_page.tested().values():
        names = [test.partition(":")[0] for test in tests]
        assert len(names) == len(set(names))


def test_the_lines_of_a_stack_are_those_of_its_recipe_and_its_sources() -> None:
    """Of a recipe's own script, and of sources that are compiled; most programs need neither."""
    recipes = catalog.load().recipes
    ours = {name for name in recipes if "+" in programs_page.lines(recipes[name])}
    assert {"niquests", "quinn", "quic-go", "firefox"} <= ours
    assert ours.isdisjoint({"curl", "nginx", "h2load"})


def test_a_surprise_belongs_to_a_program() -> None:
    """A renamed program keeps its surprise."""
    assert set(programs_page.SURPRISES) <= set(catalog.load().recipes)
