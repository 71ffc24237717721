"""The reference's pages are made from the code."""

from __future__ import annotations

import pytest

import experiment_page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"type": "integer"}, "integer"),
        ({"enum": ["4", "6"]}, '`"4"` or `"6"`'),
        ({"type": "string", "examples": ["25 ms"]}, 'such as `"25 ms"`'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text"),
        ({"type": "array", "items": {"$ref": "#/$defs/Link"}}, "list of [Link](#link)"),
        ({"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/FactorReference"}]}, "true or false"),
    ],
)
def test_a_value_is_shown_in_each_of_its_forms(value: dict[str, object], shown: str) -> None:
    """Without none, which is the key's absence, and without a reference to a factor."""
    assert " or ".join(experiment_page.forms(value)) == shown
