"""The files that are fetched: seeded random text, made once and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import string
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from httpbed.design import seeds
from httpbed.host import cache

_LETTERS = np.frombuffer((string.ascii_letters + string.digits + " \n").encode(), dtype=np.uint8)
_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class Content:
    """A file to serve."""

    path: Path
    size: int
    sha256: str


def target(size: int) -> str:
    """Path of the file of ``size`` bytes in a URL."""
    return f"/{size}.txt"


def ensure(seed: int, size: int) -> Content:
    """Return the file of this seed and size, made now if it was not there.

    Its name carries its digest, so that a file damaged on disk is noticed by every trial.
    """
    folder = cache.folder() / "content"
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{size}-{seeds.content(seed, size):016x}"
    for path in folder.glob(f"{stem}-*.txt"):
        if path.stat().st_size == size:
            return Content(path, size, path.stem.rsplit("-", 1)[1])
    return _make(folder, stem, seed, size)


def _make(folder: Path, stem: str, seed: int, size: int) -> Content:
    generator = np.random.Generator(np.random.PCG64(seeds.content(seed, size)))
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
