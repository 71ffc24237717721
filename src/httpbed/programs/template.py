"""Templates of recipes: ``{name}`` stands for a variable, ``{{`` and ``}}`` for a brace.

A brace that opens no name, as in a server's configuration, stands for itself. Where a word of a
command is nothing but a variable, the variable may stand for any number of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

Words = str | Sequence[str]
"""What a variable stands for: a text or, where it stands alone, several words."""

_TOKEN = re.compile(r"\{\{|\}\}|\{(?P<name>[a-z][a-z0-9_]*)\}")


def names(text: str) -> Iterator[str]:
    """Yield the variables that a template names."""
    return (match["name"] for match in _TOKEN.finditer(text) if match["name"])


def alone(text: str) -> str | None:
    """Return the variable that a template consists of, if it is nothing else."""
    match = _TOKEN.fullmatch(text)
    return match["name"] if match else None


def fill(text: str, variables: Mapping[str, Words]) -> str:
    """Replace every variable by its text.

    Raises:
        KeyError: A variable is not there.
        TypeError: It stands for several words, which only a word of its own can.
    """
    return _TOKEN.sub(lambda match: _replacement(match, variables), text)


def fill_words(words: Iterable[str], variables: Mapping[str, Words]) -> Iterator[str]:
    """Fill the words of a command, with as many words as each variable stands for."""
    for word in words:
        name = alone(word)
        value = variables[name] if name else None
        if value is None or isinstance(value, str):
            yield fill(word, variables)
        else:
            yield from value


def _replacement(match: re.Match[str], variables: Mapping[str, Words]) -> str:
    if not match["name"]:
        return match[0][0]
    value = variables[match["name"]]
    if not isinstance(value, str):
        msg = f"{{{match['name']}}} stands for several words"
        raise TypeError(msg)
    return value
