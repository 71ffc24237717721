"""The page of planted faults, from the markers of the tests that plant them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.check import all_checks
from markdown_table import table

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "namespaces"
ACCOUNT = {"bed": "invalid, and repeated", "subject": "failed, which is a result"}
INTRODUCTION = """# Planted faults, and the checks that catch them

Written by `make docs` from the tests in `tests/namespaces`. Each test plants one fault in a trial
of real programs, or in the emulator's result of it, and asserts that the named check breaks in
every attempt. `make test` runs them. [What every trial proves](evidence.md) explains the checks."""
OPEN = """## What no check catches

No check catches a client that is slower than the link. Its time is its own, and so a result. The
report shows the goodput beside the link's rate. `httpbed doctor audit` tests whether trials side by
side disturb each other.

TCP metrics of an earlier trial need no check. The kernel keeps them for each network namespace, and
every trial has new ones. A test reads them before each of two trials.

Many more faults are planted in recorded evidence, without running programs
(`tests/trial/test_verdict.py`). A test there asserts that for each check of a download
some planted fault breaks it."""


@dataclass(frozen=True)
class PlantedFault:
    """A fault, the check that catches it, and the file of the test."""

    fault: str
    by: str
    file: str


def page() -> str:
    """Return the page as Markdown."""
    head = ["planted", "caught by", "the attempt is", "test"]
    rows = sorted(map(_row, found()), key=lambda row: (row[2], row[0]))
    return "\n\n".join([INTRODUCTION, table(head, rows), OPEN]) + "\n"


def found() -> Iterator[PlantedFault]:
    """Yield the planted faults of all tests."""
    for file in sorted(TESTS.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield from _of_test(node, file.name)


def _of_test(test: ast.FunctionDef, file: str) -> Iterator[PlantedFault]:
    for call in test.decorator_list:
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.planted":
            (fault,) = map(ast.literal_eval, call.args)
            (by,) = (ast.literal_eval(keyword.value) for keyword in call.keywords)
            yield PlantedFault(fault, by, file)


def _row(one: PlantedFault) -> list[str]:
    (check,) = (check for check in all_checks().values() if check.id == one.by)
    link = f"[{one.file}](../../tests/namespaces/{one.file})"
    return [one.fault, one.by, ACCOUNT[check.of], link]
