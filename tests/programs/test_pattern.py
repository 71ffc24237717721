"""Regular expressions of recipes take time in proportion to a program's output.

Templates: variables are replaced, and a server's own braces stay.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from httpbed.programs import invocation, settings
from httpbed.programs.settings import Knob, VersionCommand

ENDLESS = ("(?P<version>(a+)+b)", "(?P<version>(a|aa)+$)", "(?P<version>(.*)*x)", "(?P<version>b)")
OUTPUT = "a" * 2**20 + "\n"


@pytest.mark.parametrize("stated", ENDLESS)
def test_no_pattern_runs_without_end(stated: str) -> None:
    """Python's own engine would try more ways than there are atoms; the test has a time limit."""
    assert settings.compiled(stated).search(OUTPUT) is None
    assert settings.compiled(stated).fullmatch(OUTPUT) is None


@pytest.mark.parametrize(
    ("stated", "word"),
    [
        ("(?P<version>x)(?=y)", "look-around"),
        (r"(?P<version>x)\1", "back-references"),
        ("(?P<version>x", "not a regular expression"),
        ("((((?P<version>x{100}){100}){100}){100})", "not a regular expression"),
        (f"(?P<version>{'x' * settings.MAX_PATTERN_CHARACTERS})", "at most"),
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


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{url}", "https://server/"),
        ("--resolve={port}:{port}", "--resolve=443:443"),
        ("%{{json}}", "%{json}"),
        ("{{url}}", "{url}"),
        ("http { server { listen {port}; } }", "http { server { listen 443; } }"),
        ("{}", "{}"),
        ("$host {URL} {1}", "$host {URL} {1}"),
        ("", ""),
    ],
)
def test_variables_are_filled_in_and_braces_kept(text: str, filled: str) -> None:
    """A doubled brace gives one brace; a brace that opens no name stays."""
    assert invocation.fill(text, {"url": "https://server/", "port": "443"}) == filled


def test_a_value_is_never_a_template() -> None:
    """The value of a variable is not filled again."""
    assert invocation.fill("{body}", {"body": "{url}", "url": "no"}) == "{url}"


def test_an_unknown_variable_is_an_error() -> None:
    """No command is started with an empty word instead."""
    with pytest.raises(KeyError):
        invocation.fill("{nothing}", {})


@given(st.text())
def test_doubling_braces_protects_any_text(text: str) -> None:
    """Any text can be written."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert list(invocation.names(doubled)) == []
    assert invocation.fill(doubled, {}) == text
