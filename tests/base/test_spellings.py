"""Patterns in the user's files: a mistake is told in words, not as a regular expression."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from httpbed.base import spellings
from httpbed.experiment.schema import experiment_schema
from httpbed.programs.recipe import Recipe


@pytest.mark.parametrize("schema", [experiment_schema(), Recipe.model_json_schema()])
def test_each_pattern_of_a_users_file_has_words(schema: object) -> None:
    found = {*_patterns(schema)}
    assert found
    assert found - spellings.WORDS.keys() == set()


def _patterns(node: object) -> Iterator[str]:
    """Yield the patterns in a JSON Schema; a property may be called ``pattern``, too."""
    if isinstance(node, dict):
        if isinstance(pattern := node.get("pattern"), str):
            yield pattern
        for inner in node.values():
            yield from _patterns(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _patterns(inner)
