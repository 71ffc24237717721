"""Finds, reads and checks the files that an experiment names, before anything runs.

The digest of each goes into the trials' documents. So a trial's identity depends on the content of
the file, not on its name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from httpbed.base import disk, folders
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.network.link_file import FileError, LinkFile
from httpbed.experiment import parser
from httpbed.experiment.document import replaced, scenario_document
from httpbed.experiment.impairments.descriptor import is_file_name
from httpbed.experiment.parser import ParsedExperiment

SIDES = ((), ("up",), ("down",))
IMPAIRMENTS = {"trace": "rate", "replay": "loss"}

Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class FileReference:
    """A place in a topology that names a file."""

    path: Path_
    kind: str
    """``trace`` or ``replay``."""
    table: Mapping[str, Any]
    """The table with the name under ``kind``, and perhaps ``sha256``."""


class LinkFiles:
    """The files of one experiment; each is read once."""

    def __init__(self, folder: Path) -> None:
        """Names are relative to ``folder``."""
        self._folder = folder
        self._known: dict[tuple[str, str], LinkFile | str] = {}

    def mistakes(self, read: ParsedExperiment) -> Iterator[Mistake]:
        """Yield the mistakes in the files that any treatment names."""
        for levels in read.treatments:
            for reference in places(scenario_document(read.document, levels)):
                if reason := self._reason(reference):
                    path = (*reference.path, reference.kind)
                    yield parser.mistake_at(read.document, path, levels, reason)

    def completed(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a scenario's document with the digest of every file, and the rate of traces."""
        for reference in places(document):
            file = self._look(reference)
            assert isinstance(file, LinkFile)  # noqa: S101 - mistakes() ran before
            document = replaced(document, reference.path, {**reference.table, **file.known()})
        return document

    def found(self) -> dict[str, LinkFile]:
        """Return all good files by digest."""
        good = (file for file in self._known.values() if isinstance(file, LinkFile))
        return {file.sha256: file for file in good}

    def _reason(self, reference: FileReference) -> str:
        file = self._look(reference)
        if isinstance(file, str):
            return file
        demanded = reference.table.get("sha256", file.sha256)
        if demanded != file.sha256:
            return f"is another file than the one meant: its SHA-256 is {file.sha256}"
        return ""

    def _look(self, reference: FileReference) -> LinkFile | str:
        name = str(reference.table[reference.kind])
        if (name, reference.kind) not in self._known:
            try:
                known: LinkFile | str = LinkFile.read(self._folder / name, reference.kind)
            except FileError as error:
                known = str(error)
            self._known[name, reference.kind] = known
        return self._known[name, reference.kind]


def places(document: Mapping[str, Any]) -> Iterator[FileReference]:
    """Yield every file that a scenario's document names, however wrong the rest of it is.

    The model reports a value that is not a name.
    """
    topology = document.get("topology")
    links = topology.get("links") if isinstance(topology, Mapping) else None
    for index, link in enumerate(links if isinstance(links, list) else ()):
        for side in SIDES:
            direction = link.get(side[0]) if side and isinstance(link, Mapping) else link
            for kind, impairment in IMPAIRMENTS.items():
                table = direction.get(impairment) if isinstance(direction, Mapping) else None
                if isinstance(table, Mapping) and is_file_name(table.get(kind)):
                    yield FileReference(
                        ("topology", "links", index, *side, impairment), kind, table
                    )


def kept(files: Mapping[str, LinkFile]) -> dict[str, LinkFile]:
    """Copy files into the cache, where they cannot change under a campaign.

    Raises:
        ConfigError: One has changed since it was read.
    """
    return {digest: replace(file, path=_kept(file)) for digest, file in files.items()}


def _kept(file: LinkFile) -> Path:
    folder = folders.cache() / "links"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file.sha256
    if path.is_file() and disk.sha256(path) == file.sha256:
        return path
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    shutil.copyfile(file.path, name)
    if disk.sha256(Path(name)) != file.sha256:
        Path(name).unlink()
        raise ConfigError([Mistake(str(file.path), "has changed while it was read")])
    Path(name).chmod(0o644)
    return Path(name).rename(path)
