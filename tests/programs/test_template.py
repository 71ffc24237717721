"""Templates: variables are replaced, and a server's own braces stay."""

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
    """A doubled brace gives one brace; a brace that opens no name stays."""
    assert template.fill(text, {"url": "https://server/", "port": "443"}) == filled


def test_a_value_is_never_a_template() -> None:
    """The value of a variable is not filled again."""
    assert template.fill("{body}", {"body": "{url}", "url": "no"}) == "{url}"


def test_an_unknown_variable_is_an_error() -> None:
    """No command is started with an empty word instead."""
    with pytest.raises(KeyError):
        template.fill("{nothing}", {})


@given(st.text())
def test_doubling_braces_protects_any_text(text: str) -> None:
    """Any text can be written."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert list(template.names(doubled)) == []
    assert template.fill(doubled, {}) == text
