"""The files of an image on this machine's disk, written as if its root were the machine's.

A layer's names are a stranger's. Each is divided into its parts, and links of the image are
followed within the image only, so nothing outside of the top folder is read or written. Files
belong to the user, or to nobody if root runs httpbed, because programs under test then do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from httpbed.base.errors import RejectedValueError
from httpbed.bed.machine import unprivileged

MAX_DEPTH = 100
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 2048
_MAX_LINKS = 40
"""As in Linux."""
_LATEST_S = 2**33
_PROGRAM, _FILE = 0o755, 0o644


class Tree:
    """A root filesystem that is being written, layer by layer.

    Methods raise RejectedValueError for what they do not write.
    """

    def __init__(self, top: Path) -> None:
        self._top, self._owner = top, unprivileged.user()
        self._fresh = set[Path]()
        self._last: tuple[Sequence[str], Path] = ((), top)
        self._own(top)

    def begin_layer(self) -> None:
        """Begin the next layer: whiteouts hide nothing of their own layer."""
        self._fresh.clear()

    def make_folder(self, name: str) -> None:
        """Make a folder, or keep the one that is there."""
        if not (names := _names(name)):
            return
        path = self._place(names)
        if not _is_folder(path):
            self._remove(path)
            path.mkdir()
            self._own(path)
        self._fresh.add(path)

    def write(self, name: str, chunks: Iterable[bytes], *, runs: bool, at_s: float = 0) -> None:
        """Write a file; ``at_s`` is the time of its last change, which Python's caches record."""
        path = self._new(name)
        with path.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
        path.chmod(_PROGRAM if runs else _FILE)
        os.utime(path, (at_s, at_s) if 0 <= at_s < _LATEST_S else (0, 0))
        self._own(path)

    def link(self, name: str, target: str) -> None:
        """Make a symbolic link, whose target is a matter of the image."""
        if not target or "\0" in target or len(os.fsencode(target)) > MAX_PATH_BYTES:
            raise RejectedValueError("is a link to no path")
        path = self._new(name)
        path.symlink_to(target)
        self._own(path)

    def link_hard(self, name: str, target: str) -> None:
        """Make a further name of a file of the image."""
        file = self._place(_names(target, "is a hard link to"))
        if not os.path.lexists(file) or _is_folder(file):
            raise RejectedValueError(f"is a hard link to {target!r}, which is no file of the image")
        if self._place(_names(name)) != file:
            self._new(name).hardlink_to(file)

    def hide(self, name: str) -> None:
        """Remove what lower layers have at a path."""
        if names := _names(name):
            self._hide(self._place(names))

    def hide_below(self, name: str) -> None:
        """Remove what lower layers have in a folder."""
        for child in [*self._folder(_names(name)).iterdir()]:
            self._hide(child)

    def _new(self, name: str) -> Path:
        """Return the place for a new file, and remove what is there."""
        path = self._place(_names(name))
        self._remove(path)
        self._fresh.add(path)
        return path

    def _place(self, names: Sequence[str]) -> Path:
        if not names:
            raise RejectedValueError("is the root folder, and no file can take its place")
        return self._folder(names[:-1]) / names[-1]

    def _folder(self, names: Sequence[str]) -> Path:
        """Return the folder at a path, links followed within the image; make what is missing."""
        if self._last[0] == names:
            return self._last[1]
        here, todo, links = self._top, [*reversed(names)], 0
        while todo:
            name = todo.pop()
            if name == ".." and here == self._top:
                raise RejectedValueError("is behind a link that leads out of the image")
            if name in ("", ".", ".."):
                here = here.parent if name == ".." else here
                continue
            path = here / name
            if path.is_symlink():
                links += 1
                target = os.fspath(path.readlink())
                here = self._top if target.startswith("/") else here
                todo += reversed(target.split("/"))
            elif not os.path.lexists(path):
                path.mkdir()
                self._own(path)
                here = path
            elif _is_folder(path):
                here = path
            else:
                raise RejectedValueError(f"is below {name!r}, which is no folder")
            if links > _MAX_LINKS or len(here.parts) - len(self._top.parts) > MAX_DEPTH:
                raise RejectedValueError("is behind a loop of links, or too deep")
        self._last = (names, here)
        return here

    def _remove(self, path: Path) -> None:
        """Remove what is at a path."""
        if not os.path.lexists(path):
            return
        self._last = ((), self._top)
        if _is_folder(path):
            shutil.rmtree(path)
        else:
            path.unlink()

    def _hide(self, path: Path) -> None:
        if path not in self._fresh and not _is_folder(path):
            self._remove(path)
        elif _is_folder(path):
            self._last = ((), self._top)
            for child in [*path.iterdir()]:
                self._hide(child)
            if path not in self._fresh and not any(path.iterdir()):
                path.rmdir()

    def _own(self, path: Path) -> None:
        if self._owner:
            os.chown(path, *self._owner, follow_symlinks=False)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _names(path: str, is_what: str = "is") -> list[str]:
    """Return the parts of a relative path."""
    if path.startswith("/"):
        raise RejectedValueError(f"{is_what} an absolute path")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise RejectedValueError(f"{is_what} a path with '..'")
    if "\0" in path:
        raise RejectedValueError(f"{is_what} a name with a null character")
    encoded = os.fsencode(path)
    is_long = len(encoded) > MAX_PATH_BYTES or len(names) > MAX_DEPTH
    if is_long or any(len(os.fsencode(name)) > MAX_NAME_BYTES for name in names):
        raise RejectedValueError(f"{is_what} a path that is too long or too deep")
    return names
