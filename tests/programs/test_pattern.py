"""Regular expressions of recipes take time in proportion to a program's output."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from httpbed.programs import pattern
from httpbed.programs.settings import Knob
from httpbed.programs.version import VersionCommand

ENDLESS = ("(?P<version>(a+)+b)", "(?P<version>(a|aa)+$)", "(?P<version>(.*)*x)", "(?P<version>b)")
OUTPUT = "a" * 2**20 + "\n"


@pytest.mark.parametrize("stated", ENDLESS)
def test_no_pattern_runs_without_end(stated: str) -> None:
    """Python's own engine would try more ways than there are atoms; the test has a time limit."""
    assert pattern.version(stated, OUTPUT) is None
    assert not pattern.is_in(stated, OUTPUT)
    assert not pattern.is_all_of(stated, OUTPUT)


@pytest.mark.parametrize(
    ("stated", "word"),
    [
        ("(?P<version>x)(?=y)", "look-around"),
        (r"(?P<version>x)\1", "back-references"),
        ("(?P<version>x", "not a regular expression"),
        ("((((?P<version>x{100}){100}){100}){100})", "not a regular expression"),
        (f"(?P<version>{'x' * pattern.MAX_CHARACTERS})", "at most"),
        ("x", "no group"),
    ],
)
def test_a_pattern_that_is_not_supported_is_a_mistake_of_the_recipe(stated: str, word: str) -> None:
    """It is found when the recipe is read, with a reason."""
    with pytest.raises(ValidationError, match=word):
        VersionCommand(argv=["x"], pattern=stated)


def test_patterns_of_knobs_and_of_http_versions_are_checked_likewise() -> None:
    """There is one engine for all patterns."""
    with pytest.raises(ValidationError, match="look-around"):
        Knob(default="x", pattern="(?!y)x", meaning="none")
    with pytest.raises(ValidationError, match="look-around"):
        VersionCommand(argv=["x"], pattern="(?P<version>x)", shows={"3": "(?<=y)x"})
    assert Knob(default="10", pattern="[1-9][0-9]*", meaning="none").accepts("20")
    assert not Knob(default="10", pattern="[1-9][0-9]*", meaning="none").accepts("20 ")


@pytest.mark.parametrize("said", ["\x1b[31m8.0", "8.0\u202e1", "9" * 5000, ""])
def test_what_is_no_printable_word_is_no_version(said: str) -> None:
    """It would reach terminals, reports and manifests, and numbers of any length."""
    asked = VersionCommand(argv=["x"], pattern="(?P<version>.*)", least="1.2")
    assert asked.reported(said) in (None, "")
    assert all("version" in one for one in asked.lacking(said, ()))
