"""The generated pages of the reference are those of the code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import experiment_page
import planted_page
import programs_page
import results_archives
import results_page
from httpbed.experiment.schema import experiment_schema

REFERENCE = Path(__file__).parents[2] / "docs/reference"


def test_the_planted_faults_are_those_of_the_tests() -> None:
    """Each names a check that exists."""
    written = (REFERENCE.parent / "concepts/planted-faults.md").read_text()
    assert written == planted_page.page()


def test_the_page_of_programs_is_that_of_the_recipes() -> None:
    """`make docs` writes it."""
    assert (REFERENCE / "programs.md").read_text() == programs_page.page()


def test_the_page_of_commands_is_their_help() -> None:
    """In a process of its own: other tests leave traces in the options for help."""
    code = "import generate; print(generate.commands(), end='')"
    printed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REFERENCE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (REFERENCE / "commands.md").read_text() == printed.stdout


def test_the_page_of_results_is_that_of_the_archives() -> None:
    """`make docs` writes it from the verdicts in ``results/``."""
    written = (REFERENCE.parent / "results.md").read_text()
    assert written == results_page.page(results_archives.read())


def test_the_page_of_the_experiment_file_is_that_of_its_models() -> None:
    """`make docs` writes it, and the JSON Schema."""
    schema = experiment_schema()
    assert json.loads((REFERENCE / "experiment.schema.json").read_text()) == schema
    assert (REFERENCE / "experiment.md").read_text() == experiment_page.page(schema)


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
