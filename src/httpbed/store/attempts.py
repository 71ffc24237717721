"""The files of one attempt: written once, and verified whenever they are read.

``trial.json`` is written last. It contains the attempt, the digest of every other file
(``files``), the number of observations, and the digest of its own text. So an attempt that lost a
file in a power cut, or whose values were edited, is recognised as damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from httpbed.base import digests, disk, units, untrusted_files
from httpbed.base.digests import DifferentError, FileDigest
from httpbed.experiment.kept import KINDS, QLOG_ENDINGS
from httpbed.experiment.metric import Observation
from httpbed.experiment.trial import Attempt, HandoverEvent, Record, Trial
from httpbed.store import layout
from httpbed.store.layout import Damage

TRIAL = "trial.json"
OBSERVATIONS = "observations.jsonl"
HANDOVERS = "handovers.json"
"""A :class:`~httpbed.experiment.trial.HandoverEvent` for each hand-over."""
ARTIFACTS = "artifacts"
_FILES = TypeAdapter(dict[str, FileDigest])
_READ = (TRIAL, OBSERVATIONS, HANDOVERS)
"""Files that every reader of a campaign reads and verifies; artifacts are verified separately."""
SETTLED_NS = 2 * 10**9
"""Longest tick of a file system's clock (FAT), and more than that of any other."""
MALFORMED = (ValueError, KeyError, TypeError, RecursionError)
"""Exceptions of reading a document of unknown form."""


def write(record: Record, folder: Path) -> None:
    """Write an attempt's files into its folder, ``trial.json`` last, and flush them to the disk."""
    lines = [_observation_line(observation) for observation in record.observations]
    texts = {OBSERVATIONS: "".join(lines)}
    if record.handovers is not None:
        texts[HANDOVERS] = events_text(record.handovers)
    for name, text in texts.items():
        disk.write(folder / name, text.encode())
    files = {name: digests.of_bytes(text.encode()) for name, text in texts.items()}
    files |= digests.of_folder(folder, ARTIFACTS)
    document = {
        **record.attempt.model_dump(mode="json", by_alias=True),
        "observation_count": len(lines),
        "files": {name: one.model_dump() for name, one in files.items()},
    }
    disk.write(folder / TRIAL, digests.sealed(document))
    disk.settle([folder])


def _observation_line(observation: Observation) -> str:
    document = {"schema": 1, **observation.model_dump(), "unit": observation.unit}
    return json.dumps(document) + "\n"


@dataclass(frozen=True)
class AttemptFiles:
    """The bytes of an attempt's files, not parsed yet."""

    place: str
    """``trials/BLOCK/TRIAL/ATTEMPT``."""
    contents: Mapping[str, bytes]
    unread: Mapping[str, str]
    """Why a file cannot be read, by its name; a missing file is in neither."""

    @property
    def fingerprint(self) -> str:
        """Return a digest that is equal only for equal files at the same place."""
        held = {name: hashlib.sha256(one).hexdigest() for name, one in self.contents.items()}
        text = json.dumps([self.place, sorted(held.items()), sorted(self.unread.items())])
        return hashlib.sha256(text.encode()).hexdigest()


def state(directory: Path, place: str) -> str:
    """Return a digest that changes when a program changes an attempt's files; none is opened.

    It is empty if one was changed a moment ago: a clock of a file system has ticks, and a second
    change within the same tick does not show.
    """
    folder = f"{directory}/{place}"
    changes = [_last_change(path) for path in (folder, *(f"{folder}/{name}" for name in _READ))]
    if max(max(change[:2], default=0) for change in changes) > time.time_ns() - SETTLED_NS:
        return ""
    return hashlib.sha256(repr(changes).encode()).hexdigest()


def _last_change(path: str) -> tuple[int, ...]:
    """Return what the file system knows of a file's last change; nothing for a missing file.

    A program cannot set the time of the inode's change (``st_ctime``), as it can set the other.
    """
    try:
        about = os.lstat(path)
    except OSError:
        return ()
    return about.st_ctime_ns, about.st_mtime_ns, about.st_ino, about.st_size, about.st_mode


def read_files(directory: Path, place: str) -> AttemptFiles:
    """Read the bytes of an attempt's files; only regular files are opened."""
    contents, unread = dict[str, bytes](), dict[str, str]()
    if not digests.is_folder(directory / place):
        return AttemptFiles(place, {}, {"": "is not a folder"})
    for name in _READ:
        try:
            contents[name] = untrusted_files.own_data(directory / place / name)
        except FileNotFoundError:
            continue
        except untrusted_files.UnreadableError as error:
            unread[name] = str(error)
    return AttemptFiles(place, contents, unread)


def parse(files: AttemptFiles, design: Mapping[str, Trial] | None) -> Record | Damage:
    """Return the attempt in these files, or how they are damaged.

    Args:
        files: Its files.
        design: The campaign's trials by their identifiers; None if they are unknown.
    """
    if files.unread:
        return Damage(files.place, tuple(files.unread.values()))
    if TRIAL not in files.contents:
        return Damage(files.place, (f"{TRIAL} is missing",))
    try:
        written = trial_document(files.contents[TRIAL])
        differences = (
            *_elsewhere(files.place, written.attempt, design),
            *_differences(written, files.contents),
        )
        return Damage(files.place, differences) if differences else _record(files, written)
    except DifferentError as error:
        return Damage(files.place, (f"{TRIAL} {error}",))


@dataclass(frozen=True)
class TrialDocument:
    """The content of ``trial.json``."""

    attempt: Attempt
    observation_count: int
    files: Mapping[str, FileDigest]

    def artifacts(self, below: str = "") -> dict[str, FileDigest]:
        """Return the digests of the artifacts, or of those at or in ``artifacts/below``."""
        return {name: one for name, one in self.files.items() if _is_below(name, below)}


def trial_document(content: bytes) -> TrialDocument:
    """Return what a ``trial.json`` says.

    Raises:
        DifferentError: It is not what :func:`write` wrote.
    """
    document = digests.unsealed(content)
    try:
        files = _FILES.validate_python(document.pop("files"))
        count = int(document.pop("observation_count"))
        attempt = Attempt.model_validate(document)
    except (ArithmeticError, AttributeError, *MALFORMED) as error:
        raise DifferentError(f"cannot be parsed: {type(error).__name__}") from None
    if strange := [name for name in files if not _is_ours(name)]:
        raise DifferentError(f"names a file that no attempt has: {strange[0]!r}")
    return TrialDocument(attempt, count, files)


def _is_ours(name: str) -> bool:
    path = digests.path(name)
    leads_out = ".." in path.split("/") or "\0" in path
    return name in (OBSERVATIONS, HANDOVERS) or (_is_below(name) and not leads_out)


def _is_below(name: str, folder: str = "") -> bool:
    top = f"{ARTIFACTS}/{folder}".rstrip("/")
    return name.startswith(f"{top}/") or (name == top and bool(folder))


def _elsewhere(place: str, attempt: Attempt, design: Mapping[str, Trial] | None) -> Iterator[str]:
    identifier = attempt.id
    own = layout.attempt(attempt.trial.block, identifier, attempt.number)
    if own != place:
        yield f"{TRIAL} belongs to {own}"
    elif design is not None and design.get(identifier) != attempt.trial:
        yield "the campaign's design has no such trial"


def _differences(written: TrialDocument, contents: Mapping[str, bytes]) -> Iterator[str]:
    """Yield how the files that every reader reads differ from their digests."""
    for name in (OBSERVATIONS, HANDOVERS):
        listed, content = written.files.get(name), contents.get(name)
        if listed is not None:
            now = None if content is None else digests.of_bytes(content)
            if difference := listed.difference(now):
                yield f"{name} {difference}"
        elif content is not None or name == OBSERVATIONS:
            yield f"{name} is not among the files that {TRIAL} names"


def _record(files: AttemptFiles, written: TrialDocument) -> Record:
    events = files.contents.get(HANDOVERS)
    return Record(
        attempt=written.attempt,
        observations=_observations(files.contents[OBSERVATIONS], written.observation_count),
        handovers=None if events is None else read_events(events.decode()),
    )


def _observations(content: bytes, count: int) -> list[Observation]:
    try:
        rows = [json.loads(line) for line in content.decode().splitlines()]
        observations = [
            Observation(**{name: row[name] for name in Observation.model_fields}) for row in rows
        ]
    except MALFORMED as error:
        reason = f"stands beside an {OBSERVATIONS} that cannot be parsed"
        raise DifferentError(f"{reason}: {type(error).__name__}") from None
    if len(observations) != count:
        raise DifferentError(f"stands beside an {OBSERVATIONS} of other observations")
    return observations


def altered(directory: Path, place: str, below: str = "") -> list[str]:
    """Return which artifacts of an attempt differ from what was written; reads all of them.

    ``below`` limits it to one file or folder of the artifacts.
    """
    try:
        document = trial_document(untrusted_files.own_data(directory / place / TRIAL))
    except (FileNotFoundError, untrusted_files.UnreadableError, DifferentError) as error:
        return [f"{TRIAL} cannot vouch for the artifacts: {error}"]
    listed = document.artifacts(below)
    there = digests.names(directory / place, ARTIFACTS)
    more = (name for name in there if name not in listed and _is_below(name, below))
    return [
        *(f"{name} {how}" for name, how in digests.differences(directory / place, listed).items()),
        *(f"{name} is not among the files that {TRIAL} names" for name in more),
    ]


def strangers(directory: Path, place: str) -> list[str]:
    """Return files in an attempt's folder that do not belong to it."""
    own = {TRIAL, OBSERVATIONS, HANDOVERS, ARTIFACTS}
    names = sorted(path.name for path in (directory / place).iterdir())
    reasons = [
        f"{name} is not among the files that {TRIAL} names" for name in names if name not in own
    ]
    if ARTIFACTS in names and not digests.is_folder(directory / place / ARTIFACTS):
        reasons.append(f"{ARTIFACTS} is not a folder")
    return reasons


def events_text(events: Iterable[HandoverEvent]) -> str:
    """Return the text of :data:`HANDOVERS`."""
    return json.dumps([event.model_dump(by_alias=True) for event in events], indent=1) + "\n"


def read_events(text: str) -> list[HandoverEvent]:
    """Parse :data:`HANDOVERS`; invalid events are left out."""
    try:
        events = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    return list(_handovers(events if isinstance(events, list) else []))


def _handovers(items: Iterable[Any]) -> Iterator[HandoverEvent]:
    for one in items:
        try:
            yield HandoverEvent.model_validate(one)
        except ValidationError:
            continue


# Artifacts of a campaign's attempts, verified before use.
#
# Every reader of a campaign verifies each attempt's ``trial.json``, observations and hand-overs.
# Artifacts can have hundreds of megabytes: an attempt's artifacts are hashed when they are read,
# and ``httpbed verify`` hashes all.


MAX_ARTIFACT_BYTES = 64 * 2**20
"""Limit of a text that is read at once; no trial writes longer ones."""


@dataclass
class Artifacts:
    """The artifacts of a campaign's attempts; remembers which are damaged."""

    directory: Path | None = None
    """The campaign's folder; None if there are no digests, so that nothing is verified."""
    _seen: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def altered(self, row: Mapping[str, Any], below: str) -> Damage | None:
        """Return how artifacts of a row of the trials table differ from what was written, if so.

        ``below`` is the file or folder to be read.
        """
        if self.directory is None:
            return None
        place = layout.attempt(row["block"], row["trial"], row["attempt"])
        if (place, below) not in self._seen:
            found = altered(self.directory.resolve(), place, below)
            self._seen[place, below] = found
        reasons = self._seen[place, below]
        return Damage(place, tuple(reasons)) if reasons else None

    @property
    def damaged(self) -> list[Damage]:
        """Return the attempts whose artifacts were read and found damaged."""
        seen = sorted(self._seen.items())
        return [Damage(place, tuple(reasons)) for (place, _), reasons in seen if reasons]


def artifact_text(file: Path) -> str:
    """Return a text among the artifacts; empty if it cannot be read."""
    try:
        return untrusted_files.text(file, most=MAX_ARTIFACT_BYTES)
    except (OSError, ValueError):
        return ""


# The files that trials keep on request, as a campaign's attempts have them.


KEPT_PLACE = f"{layout.TRIALS}/BLOCK/TRIAL/ATTEMPT/artifacts"


def kept_lines(directory: Path, kept: Collection[str]) -> Iterator[str]:
    """Yield a line for each kind: how many attempts have it, its size and its place."""
    attempts = [directory / place / "artifacts" for place in layout.attempts(directory)]
    for name in sorted(kept):
        sizes = [sum(_kept_sizes(name, artifacts)) for artifacts in attempts]
        count, size = sum(map(bool, sizes)), units.format_size(sum(sizes), units.SHORT_DIGITS)
        yield (
            f"kept: {name} of {count} of {len(attempts)} attempts, {size},"
            f" in {directory}/{KEPT_PLACE}/{KINDS[name].place}"
        )


def _kept_sizes(name: str, artifacts: Path) -> Iterator[int]:
    """Yield the sizes of the attempt's files of a kind; programs cannot leave links."""
    patterns = (
        [KINDS[name].place] if name != "qlog" else [f"*/*{ending}" for ending in QLOG_ENDINGS]
    )
    files = (file for pattern in patterns for file in artifacts.glob(pattern))
    yield from (file.stat().st_size for file in files if file.is_file())
