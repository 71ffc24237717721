"""The campaigns that a command line names, read all at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from httpbed.base.errors import Mistake, collected, require_none
from httpbed.store import query
from httpbed.store.results import Results


def read(directories: Sequence[Path]) -> list[Results]:
    """Read campaigns.

    Raises:
        ConfigError: With the mistakes of all folders.
    """
    campaigns, mistakes = list[Results](), named_twice(directories)
    twice = {mistake.place for mistake in mistakes}
    for directory in dict.fromkeys(directories):
        if str(directory) in twice:
            continue
        with collected(mistakes):
            campaigns.append(query.read(directory))
    require_none(mistakes)
    return campaigns


def named_twice(directories: Sequence[Path]) -> list[Mistake]:
    """Return a mistake for each name of a folder that the command line names twice."""
    times = Counter(map(os.path.realpath, directories))  # which accepts loops of links
    return [
        Mistake(str(directory), "is named twice", "name each campaign once")
        for directory in dict.fromkeys(directories)
        if times[os.path.realpath(directory)] > 1
    ]
