"""The campaigns that a command line names, read all at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from httpbed.cli.echo import echo
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.store import damage, query
from httpbed.store.results import Results


def read(directories: Sequence[Path]) -> list[Results]:
    """Read campaigns; name damaged attempts on stderr.

    Raises:
        ConfigError: With the mistakes of all folders.
    """
    campaigns, mistakes = list[Results](), list[Mistake]()
    times = Counter(map(os.path.realpath, directories))  # which accepts loops of links
    for directory in dict.fromkeys(directories):
        if times[os.path.realpath(directory)] > 1:
            mistakes.append(Mistake(str(directory), "is named twice", "name each campaign once"))
            continue
        try:
            campaigns.append(query.read(directory))
        except ConfigError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ConfigError(mistakes)
    for results in campaigns:
        for line in damage.lines(results.damaged, results.directory):
            echo(f"note: {line}", err=True)
    return campaigns
