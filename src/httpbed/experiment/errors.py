"""Whose fault it is: the four ways in which httpbed fails.

::

    HttpbedError
    ├── ConfigError    the author's input is wrong              exit 2, nothing was run
    ├── HostError      this machine cannot do what is asked     exit 3, with the remedy
    ├── SubjectError   the program under test failed            data: a failed outcome
    └── BedError       httpbed failed around the program        an invalid attempt, retried

The last two are never mixed: a client that times out is a result, an emulator that was
late is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Mistake:
    """One thing wrong with the input."""

    place: str
    """Where: a dotted path such as ``topology.links[0].rate``, or a file."""
    reason: str
    """What is wrong there, in one sentence without a full stop."""
    remedy: str = ""
    """The way out, in the imperative; empty where the reason says it already."""

    def __str__(self) -> str:
        said = f"{self.place}: {self.reason}" + (f"; {self.remedy}" if self.remedy else "")
        return visible(said)


def visible(text: str) -> str:
    r"""Return a line with every character that does not print as its escape, such as ``\x1b``.

    Servers, HAR files, file names and experiments contain characters that move a terminal's
    cursor, reverse the direction of text, or may not stand in XML: control characters, bidi
    controls, lone surrogates, noncharacters. Everything that is shown passes through here.
    """
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def visible_lines(text: str) -> str:
    """Return a text of several lines likewise; ends of lines and tabs stay."""
    return "".join(part if part in "\n\t" else visible(part) for part in _LAYOUT.split(text))


_LAYOUT = re.compile(r"([\n\t])")


class HttpbedError(Exception):
    """Base of every failure that httpbed foresees."""


class ConfigError(HttpbedError):
    """The input is wrong; carries every mistake found, not only the first."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


class HostError(HttpbedError):
    """This machine cannot do what is asked; the remedy is the administrator's or the user's."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(f"{reason}; {remedy}")


class SubjectError(HttpbedError):
    """The program under test failed: an outcome, not a fault of the bed."""


class BedError(HttpbedError):
    """The bed failed: the attempt says nothing about the subject."""
