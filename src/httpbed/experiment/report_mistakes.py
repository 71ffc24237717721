"""Mistakes in the ``[report]`` table, each at its place in the file.

Malformed values are skipped here, because the models report them.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping

from httpbed.base.errors import Mistake
from httpbed.experiment.factorial_mistakes import listed
from httpbed.experiment.selection import as_list

AXES = ("rows", "columns", "pages")


def mistakes(
    report: object, factors: Mapping[str, list[str]], unreadable: Collection[str] = ()
) -> Iterator[Mistake]:
    """Yield unknown factors and levels, and factors that are on two axes of the matrix.

    Nothing is said about ``unreadable`` factors, whose own mistakes are reported.
    """
    if isinstance(report, Mapping):
        yield from _of_base(report.get("base"), factors, unreadable)
        yield from _of_axes(report, factors, unreadable)


def known_factors(name: str, factors: Collection[str]) -> str:
    """Return what to write instead of the name of an unknown factor."""
    if close := difflib.get_close_matches(name, factors, 3):
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"name one of: {listed(factors)}" if factors else "there is no [factors] table"


def _of_base(
    base: object, factors: Mapping[str, list[str]], unreadable: Collection[str]
) -> Iterator[Mistake]:
    for name, level in base.items() if isinstance(base, Mapping) else ():
        if name in unreadable:
            continue
        if name not in factors:
            yield Mistake(f"report.base.{name}", "is not a factor", known_factors(name, factors))
        elif level not in factors[name]:
            known = listed(factors[name])
            yield Mistake(f"report.base.{name}", f"{level!r} is not a level; known: {known}")


def _of_axes(
    report: Mapping[object, object], factors: Mapping[str, list[str]], unreadable: Collection[str]
) -> Iterator[Mistake]:
    first: dict[str, str] = {}
    for axis in AXES:
        names = as_list(report.get(axis, []))
        for index, name in enumerate(names if isinstance(names, list) else []):
            place = f"report.{axis}[{index}]"
            if not isinstance(name, str) or name in unreadable:
                continue
            if name not in factors:
                known = known_factors(name, factors) if factors else "delete it"
                yield Mistake(place, f"{name!r} is not a factor", known)
            elif name in first:
                yield Mistake(place, f"{name!r} is also in {first[name]}", "name it in one of them")
            first.setdefault(name, place)
