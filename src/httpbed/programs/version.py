"""What a program says about its version, and whether that is enough for its recipe."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import zip_longest
from typing import Annotated

from pydantic import Field

from httpbed.base.value import Value
from httpbed.experiment.roles import HttpVersion
from httpbed.programs import pattern
from httpbed.programs.pattern import Pattern, VersionPattern

MAX_CHARACTERS = 100
"""Of a version. A longer one is no version, and would fill a report's columns."""


class VersionCommand(Value):
    """The command that reports the program's version."""

    argv: list[str] = Field(min_length=1)
    pattern: VersionPattern
    """Regular expression with a group ``version``; it is searched in the command's output."""
    least: Annotated[str | None, Field(pattern=r"^[0-9]+(\.[0-9]+)*$")] = None
    """The oldest version that understands what the recipe writes."""
    shows: dict[HttpVersion, Pattern] = Field(default_factory=dict)
    """Regular expression for each HTTP version that a build may lack; the command's output matches
    it if this build has that version."""

    def reported(self, output: str) -> str | None:
        """Return the version in the command's output; None if there is none.

        The program may print anything. What is long or has control characters is no version.
        """
        found = pattern.version(self.pattern, output)
        is_one = found is not None and found.isprintable() and len(found) <= MAX_CHARACTERS
        return found if is_one else None

    def lacking(self, output: str, wanted: Collection[str]) -> Iterator[str]:
        """Yield what the program lacks for its recipe and for the wanted HTTP versions.

        Output without a version, such as that of another program, shows nothing.
        """
        version = self.reported(output)
        if version is None:
            return
        if self.least and _is_older(version, self.least):
            yield f"is version {version}, and its recipe needs {self.least} or later"
        for one, shown in self.shows.items():
            if one in wanted and not pattern.is_in(shown, output):
                yield f"was built without HTTP/{one}"


def _is_older(version: str, least: str) -> bool:
    numbers, needed = ([int(one) for one in re.findall(r"\d+", text)] for text in (version, least))
    pairs = zip_longest(numbers[: len(needed)], needed, fillvalue=0)
    return [one for one, _ in pairs] < needed
