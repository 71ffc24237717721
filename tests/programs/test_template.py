"""Templates: variables are filled in, and a server's own braces are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.programs import template


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
    """A doubled brace is one brace; one that opens no name stands for itself."""
    assert template.fill(text, {"url": "https://server/", "port": "443"}) == filled


def test_a_value_is_never_a_template() -> None:
    """What a variable holds is not looked at again."""
    assert template.fill("{body}", {"body": "{url}", "url": "no"}) == "{url}"


def test_a_name_that_is_not_there_is_an_error() -> None:
    """It is never started with an empty word instead."""
    with pytest.raises(KeyError):
        template.fill("{nothing}", {})


@given(st.text())
def test_doubling_braces_protects_any_text(text: str) -> None:
    """Whatever an author wants to pass through can be written."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert list(template.names(doubled)) == []
    assert template.fill(doubled, {}) == text
