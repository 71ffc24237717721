"""Makes the files to transfer: random plain text by Faker, kept in the cache.

Faker writes about two megabytes per second. So it writes a store of paragraphs once per seed, and
each file draws from them with its own seed: ten megabytes take a tenth of a second.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.base import disk, folders, seeds
from httpbed.experiment.workload import FileTransfer, Workload

PARAGRAPHS = 2000
SENTENCES = 8
"""Mean sentences of a paragraph."""
_DRAWN_AT_ONCE = 4096


@dataclass(frozen=True, order=True)
class ContentFile:
    """A file as URLs name it."""

    path: str
    size: int
    number: int
    """Files of one size have different content, so that they cannot be confused."""


PRIOR = ContentFile("/prior.txt", 1000, 0)
"""The file of a prior visit, which a client makes for a TLS ticket."""


@dataclass(frozen=True)
class Content:
    """A file to send."""

    path: Path
    size: int
    sha256: str

    def is_whole(self) -> bool:
        """Whether the file is unchanged since it was made."""
        if self.path.stat().st_size != self.size:
            return False
        return disk.sha256(self.path) == self.sha256


def targets(workload: Workload) -> tuple[ContentFile, ...]:
    """Return the files of one round, numbered where there are several; a page has none."""
    if not isinstance(workload, FileTransfer):
        return ()
    size = workload.size
    if workload.files == 1:
        return (ContentFile(f"/{size}.txt", size, 1),)
    numbers = range(1, workload.files + 1)
    return tuple(ContentFile(f"/{size}-{number}.txt", size, number) for number in numbers)


def ensure_all(seed: int, workloads: Iterable[Workload]) -> dict[str, Content]:
    """Return all files that workloads transfer, by their path in a URL."""
    workloads = list(workloads)
    wanted = {target for workload in workloads for target in targets(workload)}
    if any(workload.visits_before for workload in workloads):
        wanted.add(PRIOR)
    return {target.path: ensure(seed, target) for target in sorted(wanted)}


def ensure(seed: int, target: ContentFile) -> Content:
    """Return the file of this seed, size and number; make it if it is missing or damaged.

    Its name has its digest, so every trial detects damage.
    """
    folder = folders.cache() / "content"
    folder.mkdir(parents=True, exist_ok=True)
    own_seed = seeds.content(seed, target.size, target.number)
    stem = f"{target.size}-{own_seed:016x}"
    for path in folder.glob(f"{stem}-*.txt"):
        content = Content(path, target.size, path.stem.rsplit("-", 1)[1])
        if content.is_whole():
            disk.fix_time(path)
            return content
    return _make(folder, stem, _text(seed, own_seed, target.size), target.size)


def _make(folder: Path, stem: str, text: Iterable[bytes], size: int) -> Content:
    digest = hashlib.sha256()
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        for part in text:
            digest.update(part)
            file.write(part)
    path = folder / f"{stem}-{digest.hexdigest()}.txt"
    Path(name).chmod(0o644)
    disk.fix_time(Path(name))
    Path(name).replace(path)
    return Content(path, size, digest.hexdigest())


def _text(seed: int, own_seed: int, size: int) -> Iterator[bytes]:
    """Yield ``size`` bytes of paragraphs that ``own_seed`` selects from those of ``seed``."""
    import numpy as np  # noqa: PLC0415 - slow to import, and checking an experiment makes no file

    generator = np.random.Generator(np.random.PCG64(own_seed))
    missing = size
    while missing:
        drawn = generator.integers(PARAGRAPHS, size=_DRAWN_AT_ONCE)
        part = b"".join(_paragraphs(seed)[number] for number in drawn)[:missing]
        missing -= len(part)
        yield part


@functools.cache
def _paragraphs(seed: int) -> tuple[bytes, ...]:
    from faker import Faker  # noqa: PLC0415 - half a second, and most runs find their files made

    writer = Faker("en_US")
    writer.seed_instance(seed)
    return tuple(f"{writer.paragraph(SENTENCES)}\n".encode() for _ in range(PARAGRAPHS))
