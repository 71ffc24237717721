"""The house's budgets: small files, small functions; who needs more says why at the top."""

from __future__ import annotations

import ast
import functools
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PROGRAM = ("src", "crates", "setup")
MEASURED = (*PROGRAM, "tests", "bench")
"""The folders whose files are limited; functions are limited in the program only."""
FILE_LINES = 400
FUNCTION_LINES = 40
MEDIAN_LINES = 10
TOP_LINES = 40
EXCUSE = re.compile(r"over budget\b", re.IGNORECASE)

RUST_FUNCTION = re.compile(r"^( *)(?:pub(?:\([a-z]+\))? )?(?:(?:const|async|unsafe) )*fn (\w+)")


@dataclass(frozen=True)
class Function:
    """A function and how many lines it has, its documentation not counted."""

    place: str
    lines: int


def sources(suffix: str, folders: tuple[str, ...] = PROGRAM) -> list[Path]:
    """List every source file of one kind in these folders."""
    return sorted(path for name in folders for path in (CHECKOUT / name).rglob(f"*{suffix}"))


def is_excused(path: Path) -> bool:
    """Whether the top of a file says why it is larger than the budget."""
    return bool(EXCUSE.search("\n".join(path.read_text().splitlines()[:TOP_LINES])))


def python_functions(path: Path) -> Iterator[Function]:
    """Find functions by Python's own grammar."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno or node.lineno
            length = last - node.lineno + 1
            if ast.get_docstring(node):
                documentation = node.body[0]
                length -= (documentation.end_lineno or 0) - documentation.lineno + 1
            yield Function(f"{path}:{node.lineno} {node.name}", length)


def rust_functions(path: Path) -> Iterator[Function]:
    """Find functions by their layout, which rustfmt guarantees."""
    lines = path.read_text().splitlines()
    for start, line in enumerate(lines):
        found = RUST_FUNCTION.match(line)
        if not found:
            continue
        ends = (n for n in range(start, len(lines)) if lines[n].endswith(("{", "}", ";")))
        opening = next(ends)
        if lines[opening].endswith("{"):
            closing = lines.index(f"{found[1]}}}", opening)
            yield Function(f"{path}:{start + 1} {found[2]}", closing - start + 1)
        elif lines[opening].endswith("}"):
            yield Function(f"{path}:{start + 1} {found[2]}", opening - start + 1)


FINDERS = {".py": python_functions, ".rs": rust_functions}


@functools.cache
def functions(suffix: str) -> list[Function]:
    """Return every function of one language."""
    return [function for path in sources(suffix) for function in FINDERS[suffix](path)]


def test_files_are_small() -> None:
    """No file is longer than the budget, unless its top says why."""
    long = {
        str(path.relative_to(CHECKOUT)): lines
        for path in (*sources(".py", MEASURED), *sources(".rs", MEASURED))
        if (lines := len(path.read_text().splitlines())) > FILE_LINES and not is_excused(path)
    }
    assert not long, f"longer than {FILE_LINES} lines, without 'Over budget: why' at the top"


@pytest.mark.parametrize("suffix", FINDERS)
def test_functions_are_small(suffix: str) -> None:
    """No function is longer than the budget, unless its file's top says why."""
    long = [
        function
        for function in functions(suffix)
        if function.lines > FUNCTION_LINES and not is_excused(Path(function.place.split(":")[0]))
    ]
    assert not long, f"longer than {FUNCTION_LINES} lines, without 'Over budget: why' at the top"


@pytest.mark.parametrize("suffix", FINDERS)
def test_the_median_function_is_tiny(suffix: str) -> None:
    """Half of all functions fit a glance."""
    median = statistics.median(function.lines for function in functions(suffix))
    assert median < MEDIAN_LINES
