"""Templates of recipes: ``{name}`` stands for a variable, ``{{`` and ``}}`` for a brace.

A brace that opens no name, as in a server's configuration, stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_TOKEN = re.compile(r"\{\{|\}\}|\{(?P<name>[a-z_]+)\}")


def names(text: str) -> Iterator[str]:
    """Yield the variables that a template names."""
    return (match["name"] for match in _TOKEN.finditer(text) if match["name"])


def fill(text: str, variables: Mapping[str, str]) -> str:
    """Replace every variable; a name that is not there is a KeyError."""
    return _TOKEN.sub(lambda match: _replacement(match, variables), text)


def _replacement(match: re.Match[str], variables: Mapping[str, str]) -> str:
    return variables[match["name"]] if match["name"] else match[0][0]
