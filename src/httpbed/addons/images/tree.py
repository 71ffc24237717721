"""The files of an image on this machine's disk, written as if its root were the machine's.

A layer's names cannot be trusted. Links of the image are followed within the image only, so nothing
outside of the top folder is read or written. Files belong to the user, or to nobody if root runs
httpbed, because programs under test then do.

Whiteouts are those of OCI layers: ``.wh.NAME`` hides NAME of the layers below, ``.wh..wh..opq``
hides all that they have in its folder.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import tarfile
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from httpbed.base.errors import RejectedValueError
from httpbed.bed.machine import unprivileged
from httpbed.bed.toolbox import root_files, root_filesystem

MAX_DEPTH = 100
HIDES, HIDES_ALL, OF_AUFS = ".wh.", ".wh..wh..opq", ".wh..wh."
_REFUSED = {
    tarfile.CHRTYPE: "a device node",
    tarfile.BLKTYPE: "a device node",
    tarfile.FIFOTYPE: "a named pipe",
}
_LATEST_S = 2**33
_PROGRAM, _FILE = 0o755, 0o644


class Tree:
    """A root filesystem in which a layer is written. Its whiteouts hide only what is below it.

    For what they do not write, methods raise RejectedValueError, or OSError or ValueError.
    """

    def __init__(self, top: Path) -> None:
        self._top, self._owner = top, unprivileged.user()
        self._fresh = set[Path]()
        self._last: tuple[list[str], Path] = ([], top)
        self._own(top)

    def add(self, member: tarfile.TarInfo, content: Iterable[bytes]) -> None:
        """Write an entry of a tar file, or do what a whiteout says."""
        folder, name = posixpath.split(member.name.rstrip("/"))
        if name == HIDES_ALL:
            self.hide_below(folder)
        elif name.startswith(OF_AUFS):
            return  # other marks of aufs, which the OCI does not have
        elif name.startswith(HIDES):
            self.hide(posixpath.join(folder, name.removeprefix(HIDES)))
        elif member.ischr() and posixpath.normpath(member.name) in root_filesystem.DEVICES:
            return  # every part has these of this machine
        elif member.isdir():
            self.make_folder(member.name)
        elif member.issym():
            self.link(member.name, member.linkname)
        elif member.islnk():
            self.link_hard(member.name, member.linkname)
        elif member.isreg() and not member.issparse():
            runs = bool(member.mode & 0o111)
            self.write(member.name, content, runs=runs, at_s=member.mtime)
        else:
            raise RejectedValueError(f"is {_REFUSED.get(member.type, 'an entry of unknown kind')}")

    def make_folder(self, name: str) -> None:
        """Make a folder, or keep the one that is there."""
        if _names(name):
            path = self._place(name)
            if not _is_folder(path):
                self._remove(path)
                path.mkdir()
                self._own(path)
            self._fresh.add(path)

    def write(self, name: str, chunks: Iterable[bytes], *, runs: bool, at_s: float = 0) -> None:
        """Write a file; ``at_s`` is the time of its last change, which Python's caches record."""
        path = self._new(name)
        with path.open("xb") as file:
            file.writelines(chunks)
        path.chmod(_PROGRAM if runs else _FILE)
        os.utime(path, (at_s, at_s) if 0 <= at_s < _LATEST_S else (0, 0))
        self._own(path)

    def link(self, name: str, target: str) -> None:
        """Make a symbolic link, whose target is a matter of the image."""
        path = self._new(name)
        path.symlink_to(target)
        self._own(path)

    def link_hard(self, name: str, target: str) -> None:
        """Make a further name of a file of the image."""
        file = self._place(target)
        if not os.path.lexists(file) or _is_folder(file):
            raise RejectedValueError(f"is a hard link to {target!r}, which is no file of the image")
        if self._place(name) != file:
            self._new(name).hardlink_to(file)

    def hide(self, name: str) -> None:
        """Remove what lower layers have at a path."""
        if _names(name):
            self._hide(self._place(name))

    def hide_below(self, name: str) -> None:
        """Remove what lower layers have in a folder."""
        for child in [*self._folder(_names(name)).iterdir()]:
            self._hide(child)

    def _new(self, name: str) -> Path:
        """Return the place for a new file, and remove what is there."""
        path = self._place(name)
        self._remove(path)
        self._fresh.add(path)
        return path

    def _place(self, name: str) -> Path:
        if not (names := _names(name)):
            raise RejectedValueError("is the root folder, and no file can take its place")
        return self._folder(names[:-1]) / names[-1]

    def _folder(self, names: list[str]) -> Path:
        """Return the folder at a path, links followed within the image; make what is missing."""
        if self._last[0] == names:  # as for most files
            return self._last[1]
        path = root_files.resolved(self._top, "/".join(names), to_be_made=True)
        if path is None or path.count("/") > MAX_DEPTH:
            raise RejectedValueError(
                "is behind a loop of links, or one that leads out of the image"
            )
        folder = root_files.outside(self._top, path)
        missing = takewhile(lambda path: not path.is_dir(), (folder, *folder.parents))
        for parent in reversed([*missing]):
            parent.mkdir()
            self._own(parent)
        self._last = (names, folder)
        return folder

    def _remove(self, path: Path) -> None:
        if not os.path.lexists(path):
            return
        self._last = ([], self._top)
        if _is_folder(path):
            shutil.rmtree(path)
        else:
            path.unlink()

    def _hide(self, path: Path) -> None:
        if _is_folder(path):
            for child in [*path.iterdir()]:
                self._hide(child)
            if path not in self._fresh and not any(path.iterdir()):
                self._remove(path)
        elif path not in self._fresh:
            self._remove(path)

    def _own(self, path: Path) -> None:
        if self._owner:
            os.chown(path, *self._owner, follow_symlinks=False)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _names(path: str) -> list[str]:
    """Return the parts of a relative path."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/") or ".." in names:
        raise RejectedValueError(f"leads to {path!r}, an absolute path or one with '..'")
    if len(names) > MAX_DEPTH:
        raise RejectedValueError("is too deep")
    return names
