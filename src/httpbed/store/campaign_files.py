"""The files of a campaign beside its attempts: experiment, design, links and manifest.

They are written when it begins, the manifest last, and again when it grows
(:func:`httpbed.store.campaign.resume_or_grow`).
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from httpbed.base import digests, disk, untrusted_files
from httpbed.base.digests import FileDigest
from httpbed.experiment.trial import Trial
from httpbed.store.layout import (
    ARCHIVED_DESIGN,
    DESIGN,
    EARLIER,
    EXPERIMENT,
    FILES,
    LINKS,
    MANIFEST,
    SOURCES,
)

# ``design.jsonl``: the trials of a campaign in order, one on each line.
#
# The blocks of a campaign repeat the documents of their treatments, which are most of a design. So
# a document stands in the first line with its levels, and lines with the same levels and document
# leave it out. In memory, too, trials of a treatment share one document.


Levels = tuple[tuple[str, str], ...]
MAX_EXPANDED_BYTES = untrusted_files.OWN_BYTES


def design_text(design: Iterable[Trial]) -> str:
    """Return the file's content."""
    written: dict[Levels, dict[str, Any]] = {}
    return "".join(f"{_design_line(trial, written)}\n" for trial in design)


def _design_line(trial: Trial, written: dict[Levels, dict[str, Any]]) -> str:
    levels = tuple(trial.levels.items())
    repeated = written.get(levels) == trial.document
    written[levels] = trial.document
    return trial.model_dump_json(exclude={"document"} if repeated else None)


def expanded(content: bytes) -> bytes:
    """Return the content of a file of gzip.

    Raises:
        ValueError: It is not gzip, is cut, or expands to more than any file of httpbed has.
    """
    expander = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        whole = expander.decompress(content, MAX_EXPANDED_BYTES)
    except zlib.error as error:
        raise ValueError(f"no gzip: {error}") from None
    if not expander.eof:
        limit = f"{MAX_EXPANDED_BYTES / 1e6:.0f} MB"
        raise ValueError(f"it breaks off, or expands to more than {limit}")
    return whole


def parse_design(content: str) -> list[Trial]:
    """Return the trials in a file's content; those of a treatment share one document.

    Raises:
        ValueError: A line is none of a design; the message names it.
    """
    read: dict[Levels, dict[str, Any]] = {}
    return [_parsed_line(*line, read) for line in enumerate(content.splitlines(), start=1)]


def _parsed_line(number: int, line: str, read: dict[Levels, dict[str, Any]]) -> Trial:
    try:
        return _trial(json.loads(line), read)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"line {number}: {place}: {first['msg']}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"line {number}: {type(error).__name__}: {error}") from None


def _trial(content: dict[str, Any], read: dict[Levels, dict[str, Any]]) -> Trial:
    levels = tuple(content["levels"].items())
    if content.get("document") not in (None, read.get(levels)):
        read[levels] = content["document"]
    return Trial.model_validate({**content, "document": read.get(levels)})


@dataclass(frozen=True)
class FirstFiles:
    """What a run asks of a campaign."""

    experiment_text: str
    design: Sequence[Trial]
    manifest: Mapping[str, Any]
    files: Mapping[str, Path]

    def texts(self) -> dict[str, bytes]:
        """Return the content of the experiment and of the design, by file name."""
        texts = {EXPERIMENT: self.experiment_text.encode()}
        design = design_text(self.design).encode()
        if SOURCES in self.manifest:
            return texts | {ARCHIVED_DESIGN: gzip.compress(design, mtime=0)}
        return texts | {DESIGN: design}


def write_first(directory: Path, content: FirstFiles) -> None:
    """Write the files of a new campaign, the manifest last: without it there is no campaign."""
    texts = content.texts()
    for name, text in texts.items():
        disk.write(directory / name, text)
    written = {name: digests.of_bytes(text) for name, text in texts.items()}
    put_manifest(directory, content.manifest, written | keep_links(directory, content.files))


def put_manifest(
    directory: Path, manifest: Mapping[str, Any], files: Mapping[str, FileDigest]
) -> None:
    """Write the manifest with the digests of the files beside it, and put it in place."""
    document = {**manifest, "files": {name: one.model_dump() for name, one in files.items()}}
    unnamed = directory / ".manifest"
    disk.write(unnamed, digests.sealed(document))
    unnamed.rename(directory / MANIFEST)
    disk.settle([directory])


def keep_links(directory: Path, files: Mapping[str, Path]) -> dict[str, FileDigest]:
    """Copy the files that an experiment names; return the digests of all copies."""
    if files:
        (directory / LINKS).mkdir(exist_ok=True)
    for digest, path in files.items():
        disk.write(directory / LINKS / digest, path.read_bytes())
    return digests.of_folder(directory.resolve(), LINKS)


# Lets a campaign grow: other files beside the same trials, none of which is lost.
#
# ``manifest.json`` has the digests of ``experiment.toml`` and ``design.jsonl``, so its rename is
# the step at which a campaign grows:
#
# 1. The three files are copied to ``earlier/<n>/``; links that are new are copied.
# 2. The new experiment and design are written beside the old ones, as ``.experiment.toml`` and
#    ``.design.jsonl``.
# 3. The new manifest takes its place, then the experiment and the design take theirs.
#
# A run that is killed before step 3 leaves the campaign as it was. After the manifest's rename,
# readers find the two other files in one place or the other, by their digests
# (:func:`staged_content`), and the next run moves them (:func:`settle`).


STAGED = (EXPERIMENT, DESIGN)


def write_grown(
    directory: Path, content: FirstFiles, listed: Mapping[str, FileDigest], number: int
) -> None:
    """Write the files of a campaign that grows for the ``number``-th time; keep those that it had.

    ``listed`` are the digests in its manifest.
    """
    listed = {name: one for name, one in listed.items() if name not in STAGED}
    listed |= _keep_earlier(directory, number)
    lacking = {one: path for one, path in content.files.items() if f"{LINKS}/{one}" not in listed}
    copied = keep_links(directory, lacking)
    listed |= {name: one for name, one in copied.items() if name not in listed}
    for name, text in content.texts().items():
        disk.write(_staged(directory, name), text)
        listed[name] = digests.of_bytes(text)
    disk.settle([directory])
    put_manifest(directory, content.manifest, listed)
    settle(directory, listed)


def _keep_earlier(directory: Path, number: int) -> dict[str, FileDigest]:
    """Copy the campaign's files as they are; return the copies' digests."""
    folder = directory / EARLIER / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    earlier = {}
    for name in FILES:
        content = untrusted_files.own_data(directory.resolve() / name)
        disk.write(folder / name, content)
        earlier[f"{EARLIER}/{number}/{name}"] = digests.of_bytes(content)
    disk.settle([folder, folder.parent, directory])
    return earlier


def settle(directory: Path, listed: Mapping[str, FileDigest]) -> None:
    """Move staged files that belong to the manifest to their places, and remove others.

    Only the run that holds the campaign may do so.
    """
    names = staged_names(directory)
    for name in names:
        staged, digest = _staged(directory, name), listed.get(name)
        if digest and not digest.difference(_digest(staged)):
            staged.rename(directory / name)
        else:
            with suppress(OSError):  # a folder, which is none of ours
                staged.unlink()
    if names:
        disk.settle([directory])


def staged_content(directory: Path, name: str, digest: FileDigest) -> bytes | None:
    """Return a file that has this digest and is not in its place, because a growth broke off.

    Its place comes last again: a run may move the file there meanwhile.
    """
    for path in (_staged(directory, name), directory / name) if name in STAGED else ():
        content = _read(path)
        if content is not None and not digest.difference(digests.of_bytes(content)):
            return content
    return None


def staged_names(directory: Path) -> list[str]:
    """Return the files that a growth left beside the campaign's files because it was broken off."""
    return [name for name in STAGED if os.path.lexists(_staged(directory, name))]


def is_unused_link(directory: Path, name: str) -> bool:
    """Whether a file is a complete link that was copied for a growth that was broken off."""
    digest = _digest(directory / name)
    return digest is not None and name == f"{LINKS}/{digest.sha256}"


def _staged(directory: Path, name: str) -> Path:
    return directory / f".{name}"


def _digest(path: Path) -> FileDigest | None:
    content = _read(path)
    return None if content is None else digests.of_bytes(content)


def _read(path: Path) -> bytes | None:
    try:
        return untrusted_files.own_data(path.parent.resolve() / path.name)
    except (FileNotFoundError, untrusted_files.UnreadableError):
        return None
