"""The files that are fetched: seeded random text, made once and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import string
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from httpbed.design import seeds
from httpbed.host import cache
from httpbed.model.workload import Workload

_LETTERS = np.frombuffer((string.ascii_letters + string.digits + " \n").encode(), dtype=np.uint8)
_CHUNK_BYTES = 2**20


@dataclass(frozen=True, order=True)
class Target:
    """A file as URLs name it."""

    path: str
    size: int
    number: int
    """Files of one size differ, so that none is taken for another."""


PRIOR = Target("/prior.txt", 1000, 0)
"""What a client fetches that comes for a TLS ticket only."""


@dataclass(frozen=True)
class Content:
    """A file to serve."""

    path: Path
    size: int
    sha256: str


def targets(workload: Workload) -> tuple[Target, ...]:
    """List the files of one round; several of one size are numbered."""
    size = workload.size
    if workload.files == 1:
        return (Target(f"/{size}.txt", size, 1),)
    numbers = range(1, workload.files + 1)
    return tuple(Target(f"/{size}-{number}.txt", size, number) for number in numbers)


def ensure_all(seed: int, workloads: Iterable[Workload]) -> dict[str, Content]:
    """Return all files that workloads fetch, by their path in a URL."""
    workloads = list(workloads)
    wanted = {target for workload in workloads for target in targets(workload)}
    if any(workload.resumption != "none" for workload in workloads):
        wanted.add(PRIOR)
    return {target.path: ensure(seed, target) for target in sorted(wanted)}


def ensure(seed: int, target: Target) -> Content:
    """Return the file of this seed, size and number, made now if it was not there.

    Its name carries its digest, so that a file damaged on disk is noticed by every trial.
    """
    folder = cache.folder() / "content"
    folder.mkdir(parents=True, exist_ok=True)
    own_seed = seeds.content(seed, target.size, target.number)
    stem = f"{target.size}-{own_seed:016x}"
    for path in folder.glob(f"{stem}-*.txt"):
        if path.stat().st_size == target.size:
            return Content(path, target.size, path.stem.rsplit("-", 1)[1])
    return _make(folder, stem, own_seed, target.size)


def _make(folder: Path, stem: str, seed: int, size: int) -> Content:
    generator = np.random.Generator(np.random.PCG64(seed))
    digest = hashlib.sha256()
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        for start in range(0, size, _CHUNK_BYTES):
            count = min(_CHUNK_BYTES, size - start)
            text = _LETTERS[generator.integers(len(_LETTERS), size=count)].tobytes()
            digest.update(text)
            file.write(text)
    path = folder / f"{stem}-{digest.hexdigest()}.txt"
    Path(name).chmod(0o644)
    Path(name).replace(path)
    return Content(path, size, digest.hexdigest())
