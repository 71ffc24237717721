"""Places in a campaign's folder: which are attempts, and which differ from what was written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.base import digests
from httpbed.base.errors import visible

MANIFEST, EXPERIMENT, DESIGN = FILES = ("manifest.json", "experiment.toml", "design.jsonl")
ARCHIVED_DESIGN = f"{DESIGN}.gz"
"""The design in an archive."""
MANIFEST_SCHEMA = 1
LINKS = "links"
SOURCES = "sources"
"""The manifest's member in which an archive says from which campaigns it was made."""
SIGNATURE = "manifest.json.sig"
"""A detached signature of the manifest of an archive."""
RUNS = "runs.jsonl"
MACHINES = "machines.jsonl"
MACHINE_LINES = "machines"
"""The member of a manifest, as it is read, with the lines of :data:`MACHINES`."""
CLUSTER = "cluster"
"""The member of a manifest that is true if the machines of a cluster ran the campaign."""
TRIALS, UNFINISHED, DAMAGED = "trials", "unfinished", "damaged"
EARLIER = "earlier"
"""What a campaign was before it grew: a numbered folder for each time."""
LOCK = "lock"
REPORT, FIGURES = "report.html", "figures"
"""The report, and the folder of its figures."""
TABLES = ("trials", "observations", "checks", "attempts")
"""Names of the tables, each a Parquet file."""
INDEX = "tables.json"
"""Digests and columns of the tables."""
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


def attempts(directory: Path, is_known: Callable[[str], bool] = lambda _: False) -> Iterator[str]:
    """Yield the places of attempts by block, trial and number, without following links.

    A file or link with the name of a block, trial or attempt is one of the places, too. Of a
    block, trial or attempt that ``is_known``, by its place, nothing is yielded or read.
    """
    yield from _below(directory, TRIALS, 0, is_known)


def trials_with_attempts(directory: Path) -> frozenset[str]:
    """Return the identifiers of the trials with a finished attempt, damaged or not."""
    levels = (place.split("/") for place in attempts(directory))
    return frozenset(
        trial for _, _, trial, *_ in (level for level in levels if len(level) > len(_LEVELS))
    )


def _below(
    directory: Path, place: str, level: int, is_known: Callable[[str], bool]
) -> Iterator[str]:
    named = _named(f"{directory}/{place}", _LEVELS[level])
    for entry in sorted(named, key=lambda one: (len(one.name), one.name)):
        inner = f"{place}/{entry.name}"
        if is_known(inner):
            continue
        if level + 1 < len(_LEVELS) and entry.is_dir(follow_symlinks=False):
            yield from _below(directory, inner, level + 1, is_known)
        else:
            yield inner


def _named(folder: str | Path, pattern: re.Pattern[str]) -> list[os.DirEntry[str]]:
    return [entry for entry in _listed(folder) if pattern.fullmatch(entry.name)]


def unexpected(directory: Path) -> Iterator[str]:
    """Yield files and folders among the attempts whose names are none of an attempt."""
    yield from _unexpected(directory, TRIALS, 0)
    yield from _others(directory, UNFINISHED, _UNDER_WAY)


def _unexpected(directory: Path, place: str, level: int) -> Iterator[str]:
    yield from _others(directory, place, _LEVELS[level])
    if level + 1 < len(_LEVELS):
        for entry in _named(directory / place, _LEVELS[level]):
            yield from _unexpected(directory, f"{place}/{entry.name}", level + 1)


def _others(directory: Path, place: str, pattern: re.Pattern[str]) -> Iterator[str]:
    names = sorted(entry.name for entry in _listed(directory / place))
    yield from (f"{place}/{name}" for name in names if not pattern.fullmatch(name))


def under_way(directory: Path) -> list[Path]:
    """Return the folders of unfinished attempts."""
    named = _named(directory / UNFINISHED, _UNDER_WAY)
    return [Path(entry.path) for entry in named if entry.is_dir(follow_symlinks=False)]


def set_aside(directory: Path) -> list[str]:
    """Return the damaged attempts that were set aside."""
    names = sorted(entry.name for entry in _listed(directory / DAMAGED))
    return [f"{DAMAGED}/{name}" for name in names]


def _listed(folder: str | Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, which know their types; nothing for a link or a file."""
    if not digests.is_folder(folder):
        return []
    with os.scandir(folder) as entries:
        return list(entries)


def beside(directory: Path) -> list[str]:
    """Return what is in a campaign's folder, not hidden, and no part of it: its report, say."""
    names = sorted(entry.name for entry in _listed(directory) if not entry.name.startswith("."))
    return [name for name in names if not _consists_of(directory, directory / name)]


def table(directory: Path, name: str) -> Path:
    """Return the file of a table."""
    return directory / f"{name}.parquet"


def absent_files(folder: Path) -> list[str]:
    """Return which of the files that every campaign or archive has are not in a folder."""

    def is_here(name: str) -> bool:
        return os.path.lexists(folder / name)

    is_archive = is_here(INDEX) and not is_here(TRIALS)
    designs = (ARCHIVED_DESIGN, DESIGN) if is_archive else (DESIGN, ARCHIVED_DESIGN)
    files = ((MANIFEST,), (EXPERIMENT,), designs)
    return [names[0] for names in files if not any(map(is_here, names))]


def is_campaign(folder: Path) -> bool:
    """Whether a folder has what every campaign or archive has."""
    return not absent_files(folder)


def is_own_file(file: Path) -> bool:
    """Whether a path leads to a file or folder that a campaign consists of, links followed."""
    real = Path(os.path.realpath(file))  # which accepts loops of links
    return any(_consists_of(folder, real) for folder in real.parents if is_campaign(folder))


def _consists_of(directory: Path, real: Path) -> bool:
    tables = (table(directory, name) for name in TABLES)
    own = (*FILES, ARCHIVED_DESIGN, SIGNATURE, LINKS, RUNS, MACHINES, LOCK, INDEX, *FOLDERS)
    return any(real.is_relative_to(path) for path in (*tables, *(directory / name for name in own)))


# Files and attempts that differ from what was written, and how commands report them.


MAX_REASONS = 3
"""Reasons shown in one line for one place; the others are counted."""
MAX_NAMED = 5
"""Attempts that :func:`damage_lines` names; ``httpbed verify`` names all."""


@dataclass(frozen=True, order=True)
class Damage:
    """An attempt, or a file of the campaign, that differs from what was written."""

    place: str
    """Path below the campaign's folder."""
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        shown, rest = self.reasons[:MAX_REASONS], self.reasons[MAX_REASONS:]
        return f"{self.place}: {'; '.join(shown)}" + (f"; and {len(rest)} more" if rest else "")


def damage_lines(damaged: Sequence[Damage], directory: Path) -> Iterator[str]:
    """Yield lines that name some damaged attempts with the differences, and what to do."""
    if not damaged:
        return
    many = len(damaged) > 1
    what = f"{len(damaged)} attempts differ" if many else "1 attempt differs"
    yield (
        f"{what} from what was written and {'count' if many else 'counts'} as missing;"
        f" httpbed run moves {'them' if many else 'it'} to damaged/ and runs"
        f" {'their trials' if many else 'its trial'} again:"
    )
    yield from (f"  {visible(str(damage))}" for damage in damaged[:MAX_NAMED])
    if len(damaged) > MAX_NAMED:
        rest = len(damaged) - MAX_NAMED
        yield f"  and {rest} more; httpbed verify {visible(str(directory))} names all"


def damage_values(damaged: Sequence[Damage]) -> list[dict[str, Any]]:
    """Return damaged places for :func:`json.dumps`."""
    return [{"place": damage.place, "reasons": list(damage.reasons)} for damage in damaged]
