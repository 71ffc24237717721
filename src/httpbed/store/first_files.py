"""Writes the files with which a campaign begins: experiment, design, links, then manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.base import digests, disk
from httpbed.base.digests import FileDigest
from httpbed.experiment.trial import Trial
from httpbed.store import design_file
from httpbed.store.layout import DESIGN, EXPERIMENT, LINKS, MANIFEST


@dataclass(frozen=True)
class FirstFiles:
    """What a run asks of a campaign."""

    experiment_text: str
    design: Sequence[Trial]
    manifest: Mapping[str, Any]
    files: Mapping[str, Path]
    """The files that the experiment names, by digest."""

    def texts(self) -> dict[str, bytes]:
        """Return the content of the experiment and of the design, by file name."""
        design = design_file.text(self.design)
        return {EXPERIMENT: self.experiment_text.encode(), DESIGN: design.encode()}


def write(directory: Path, content: FirstFiles) -> None:
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
