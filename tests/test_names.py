"""Names: one public class for each name, and no retired words."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "src/httpbed"

RETIRED = frozenset(
    {
        "asked",
        "asking",
        "told",
        "said",
        "wish",
        "wished",
        "miscast",
        "whoever",
        "somebody",
        "homecoming",
        "station",
        "incarnation",
    }
)
"""Words that name no class, function, parameter, attribute or variable (GLOSSARY.md has their
successors)."""
RETIRED_CLASSES = frozenset({"Seen", "Leg", "Moment", "Try", "Way", "Found", "Written"})
"""Whole names of classes; as parts of other names these words are in use."""


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """Return every module, parsed."""
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCES.rglob("*.py"))}


def identifiers(tree: ast.Module) -> set[str]:
    """Return every name that a module binds."""
    names = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return names


def words(name: str) -> list[str]:
    """Split an identifier into its words, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def is_retired(name: str) -> bool:
    """Whether an identifier is a retired class or has a retired word."""
    return name in RETIRED_CLASSES or bool(RETIRED & set(words(name)))


def test_no_two_public_classes_share_a_name() -> None:
    """A name of a class means one thing in the whole package."""
    places = defaultdict[str, list[str]](list)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCES)))
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


def test_no_identifier_has_a_retired_word() -> None:
    """Names are nouns of the field."""
    assert not {
        str(path.relative_to(SOURCES)): retired
        for path, tree in trees().items()
        if (retired := {name for name in identifiers(tree) if is_retired(name)})
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_told_apart", ["told", "apart"]),
        ("NOT_TOLD", ["not", "told"]),
        ("TheSaid", ["the", "said"]),
    ],
)
def test_identifiers_are_split_into_words(name: str, expected: list[str]) -> None:
    """Snake case, upper case and camel case."""
    assert words(name) == expected
