"""Places in a campaign's folder, and which names there are attempts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from httpbed.store import digests

MANIFEST, EXPERIMENT, DESIGN = FILES = ("manifest.json", "experiment.toml", "design.jsonl")
MANIFEST_SCHEMA = 1
LINKS = "links"
SOURCES = "sources"
"""The manifest's member in which an archive says from which campaigns it was made."""
RUNS = "runs.jsonl"
TRIALS, UNFINISHED, DAMAGED = "trials", "unfinished", "damaged"
EARLIER = "earlier"
"""What a campaign was before it grew: a numbered folder for each time."""
LOCK = "lock"
FOLDERS = (TRIALS, UNFINISHED, DAMAGED, EARLIER)
_LEVELS = (re.compile(r"[0-9]{4,9}"), re.compile(r"[0-9a-f]{12}"), re.compile(r"[1-9][0-9]{0,8}"))
"""Names of blocks, trials and attempts."""
_UNDER_WAY = re.compile(r"[0-9a-f]{12}-[1-9][0-9]*")


def attempt(block: int, trial: str, number: int) -> str:
    """Return the path of an attempt's folder below its campaign's."""
    return f"{TRIALS}/{block:04d}/{trial}/{number}"


def artifacts(directory: Path, block: int, trial: str, number: int) -> Path:
    """Return the folder of an attempt's artifacts."""
    return directory / attempt(block, trial, number) / "artifacts"


def attempts(directory: Path) -> Iterator[str]:
    """Yield the places of attempts by block, trial and number, without following links.

    A file or link with the name of a block, trial or attempt is one of the places, too.
    """
    yield from _below(directory, TRIALS, 0)


def trials_with_attempts(directory: Path) -> frozenset[str]:
    """Return the identifiers of the trials with a finished attempt, damaged or not."""
    levels = (place.split("/") for place in attempts(directory))
    return frozenset(
        trial for _, _, trial, *_ in (one for one in levels if len(one) > len(_LEVELS))
    )


def _below(directory: Path, place: str, level: int) -> Iterator[str]:
    for name in sorted(_names(directory / place, _LEVELS[level]), key=lambda one: (len(one), one)):
        inner = f"{place}/{name}"
        if level + 1 < len(_LEVELS) and digests.is_folder(directory / inner):
            yield from _below(directory, inner, level + 1)
        else:
            yield inner


def _names(folder: Path, pattern: re.Pattern[str]) -> list[str]:
    return [name for name in _listed(folder) if pattern.fullmatch(name)]


def unexpected(directory: Path) -> Iterator[str]:
    """Yield files and folders among the attempts whose names are none of an attempt."""
    yield from _unexpected(directory, TRIALS, 0)
    yield from _others(directory, UNFINISHED, _UNDER_WAY)


def _unexpected(directory: Path, place: str, level: int) -> Iterator[str]:
    yield from _others(directory, place, _LEVELS[level])
    if level + 1 < len(_LEVELS):
        for name in _names(directory / place, _LEVELS[level]):
            yield from _unexpected(directory, f"{place}/{name}", level + 1)


def _others(directory: Path, place: str, pattern: re.Pattern[str]) -> Iterator[str]:
    names = (name for name in _listed(directory / place) if not pattern.fullmatch(name))
    yield from (f"{place}/{name}" for name in sorted(names))


def under_way(directory: Path) -> list[Path]:
    """Return the folders of unfinished attempts."""
    folder = directory / UNFINISHED
    return [path for name in _names(folder, _UNDER_WAY) if digests.is_folder(path := folder / name)]


def set_aside(directory: Path) -> list[str]:
    """Return the damaged attempts that were set aside."""
    return [f"{DAMAGED}/{name}" for name in sorted(_listed(directory / DAMAGED))]


def _listed(folder: Path) -> list[str]:
    """Return the names in a folder; nothing for a link or a file."""
    return [path.name for path in folder.iterdir()] if digests.is_folder(folder) else []


def is_own_file(directory: Path, file: Path) -> bool:
    """Whether a path leads to a file or folder that a campaign consists of, links followed."""
    real = Path(os.path.realpath(file))  # which accepts loops of links
    own = (*FILES, LINKS, RUNS, LOCK, *FOLDERS)
    return any(real.is_relative_to(directory.resolve() / name) for name in own)
