"""Templates of recipes: ``{name}`` stands for a variable, ``{{`` and ``}}`` for a brace.

A brace that opens no name, as in a server's configuration, stands for itself. A word of a command
that consists of one variable may become any number of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

Words = str | Sequence[str]
"""Value of a variable: a text or, where the variable is a whole word, several words."""

_TOKEN = re.compile(r"\{\{|\}\}|\{(?P<name>[a-z][a-z0-9_]*)\}")


def names(text: str) -> Iterator[str]:
    """Yield the variables in a template."""
    return (match["name"] for match in _TOKEN.finditer(text) if match["name"])


def alone(text: str) -> str | None:
    """Return the variable if the template is nothing else; otherwise None."""
    match = _TOKEN.fullmatch(text)
    return match["name"] if match else None


def fill(text: str, variables: Mapping[str, Words]) -> str:
    """Replace every variable by its text.

    Raises:
        KeyError: A variable is unknown.
        TypeError: A variable has several words, but the template is more than that variable.
    """
    return _TOKEN.sub(lambda match: _replacement(match, variables), text)


def fill_words(words: Iterable[str], variables: Mapping[str, Words]) -> Iterator[str]:
    """Fill the words of a command; a variable of several words becomes that many words."""
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
