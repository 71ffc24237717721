"""The errors of httpbed, by whose fault they are, and the text of mistakes.

::

    HttpbedError
    ├── ConfigError    the user's input is wrong                exit 2, nothing has run
    ├── HostError      this machine lacks a capability          exit 3, with the remedy
    ├── SubjectError   the program under test failed            data: a failed outcome
    └── BedError       httpbed itself failed                    an invalid attempt, retried

A client that times out is a result (SubjectError); an emulator that was late is not (BedError).
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Mistake:
    """One mistake in the user's input."""

    place: str
    """The place: a path such as ``topology.links[0].rate``, or a file."""
    reason: str
    """What is wrong, in one sentence without a full stop."""
    remedy: str = ""
    """What to do, in the imperative; empty if the reason says it."""
    used_at: str = ""
    """Where the scenario uses the value, if it is written elsewhere, as a factor's level is."""
    path: tuple[str | int, ...] = field(default=(), compare=False)
    """Keys of the place in the experiment's document; empty for other inputs."""

    def __str__(self) -> str:
        used_at = f" (used at {self.used_at})" if self.used_at else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return visible(f"{self.place}: {self.reason}{used_at}{remedy}")


def beginning(text: str, most: int) -> str:
    """Return a sentence's first letters, at most so many; an ellipsis shows that it goes on."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def visible(text: str) -> str:
    r"""Return a line with each unprintable character replaced by its escape, such as ``\x1b``.

    Servers, HAR files, file names and experiments may contain characters that move a terminal's
    cursor, reverse the direction of text, or are invalid in XML: control characters, bidi controls,
    lone surrogates, noncharacters. All displayed text passes through this function.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def visible_lines(text: str) -> str:
    """Apply :func:`visible` to a text of several lines; line ends and tabs stay."""
    return "".join(part if part in "\n\t" else visible(part) for part in _LAYOUT.split(text))


MAX_LISTED = 20
"""Names that a message lists at most."""


def first_names(names: Collection[str]) -> str:
    """Return names for a message: the first 20, and how many more there are."""
    some = ", ".join(itertools.islice(names, MAX_LISTED))
    return some if len(names) <= MAX_LISTED else f"{some} and {len(names) - MAX_LISTED} more"


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "", *, most: int = 1) -> str:
    """Return the remedy of an unknown word: the known ones that are like it, or something else."""
    close = difflib.get_close_matches(word, [*known], most)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise


_LAYOUT = re.compile(r"([\n\t])")


class HttpbedError(Exception):
    """Base class of the failures that httpbed handles."""


class ConfigError(HttpbedError):
    """The user's input is wrong; contains every mistake, not only the first."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


def require_none(mistakes: Iterable[Mistake]) -> None:
    """Raise ConfigError with all mistakes, if there are any."""
    if every := tuple(mistakes):
        raise ConfigError(every)


@contextmanager
def collected(mistakes: list[Mistake]) -> Iterator[None]:
    """Add the mistakes of a step to a list, so that those of the next step are found, too."""
    try:
        yield
    except ConfigError as error:
        mistakes += error.mistakes


class HostError(HttpbedError):
    """This machine lacks a required capability; the remedy says how to get it."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(f"{reason}; {remedy}")


class RejectedValueError(ValueError):
    """A value that the user wrote is rejected; the caller, which knows its place, names it.

    pydantic collects it from validators, as it collects every ValueError.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__("; ".join(filter(None, (reason, remedy))))


class SubjectError(HttpbedError):
    """The program under test failed, which is an outcome."""


class BedError(HttpbedError):
    """The bed failed, so the attempt is no evidence about the subject."""
