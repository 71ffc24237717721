"""Remarks on single subjects, joined so that each kind of remark is one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MOST_OF_A_KIND = 3
"""Of more subjects, two are named and the others counted."""


@dataclass(frozen=True)
class Remark:
    """A remark on one subject, with a remedy."""

    subject: str
    text: str
    remedy: str = ""


def in_one_line(remarks: Iterable[Remark], kind: str) -> Iterator[str]:
    """Join remarks of one kind into one line; yield nothing if there are none.

    Subjects with the same remark are grouped; each remedy appears once, at the end.
    """
    subjects: dict[str, list[str]] = {}
    remedies: dict[str, None] = {}
    for remark in remarks:
        subjects.setdefault(remark.text, []).append(remark.subject)
        remedies[remark.remedy] = None
    texts = [f"{', '.join(few(names, kind))}: {text}" for text, names in subjects.items()]
    if texts:
        yield "; ".join([*few(texts, kind), *(one for one in remedies if one)])


def few(names: Sequence[str], kind: str) -> list[str]:
    """Keep the first names, and count the others of the kind."""
    if len(names) <= MOST_OF_A_KIND:
        return list(names)
    shown = names[: MOST_OF_A_KIND - 1]
    return [*shown, f"and {len(names) - len(shown)} more {kind}"]
