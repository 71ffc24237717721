"""Every server gives a file the content type in the site's list."""

from __future__ import annotations

import ast
import re
from importlib import resources

import pytest

from httpbed.addons.pages.sites import content_types

FILES = resources.files("httpbed.programs")
PATTERNS = {
    "nginx": r"^ +(?P<type>[a-z]+/\S+) (?P<endings>[a-z0-9 ]+);$",
    "envoy": r"^ +(?P<endings>[a-z0-9]+): (?P<type>[a-z]+/\S+)$",
    "caddy": r"^\t+~\(\?i\)\\\.(?P<endings>[a-z0-9]+)\$ (?P<type>\S+)$",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_recipes_have_the_table_of_content_types(name: str) -> None:
    """Each configuration has it in its own syntax."""
    text = FILES.joinpath("recipes", f"{name}.toml").read_text("utf-8")
    stated = {
        ending: one["type"]
        for one in re.finditer(PATTERNS[name], text, re.MULTILINE)
        for ending in one["endings"].split()
    }
    assert stated == content_types.TYPES


def test_builtin_programs_have_the_table_of_content_types() -> None:
    """They cannot import httpbed's table."""
    text = FILES.joinpath("builtin", "aioquic_server.py").read_text("utf-8")
    (table,) = (
        one.value
        for one in ast.parse(text).body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "CONTENT_TYPES"
    )
    assert ast.literal_eval(table) == content_types.TYPES
