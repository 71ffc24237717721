"""Unpacks the layers of an image into a tree: entries, whiteouts, and digests of what was read.

Whiteouts are those of OCI layers: ``.wh.NAME`` hides NAME of the layers below, ``.wh..wh..opq``
hides all that they have in its folder.
"""

from __future__ import annotations

import errno
import os
import posixpath
import tarfile
from collections.abc import Iterable
from pathlib import Path

from httpbed.addons.images.archive import (
    Allowance,
    Archive,
    Unpacked,
    entries,
    refusal,
    require_digest,
)
from httpbed.addons.images.image import Image
from httpbed.addons.images.tree import Tree
from httpbed.base.errors import RejectedValueError
from httpbed.bed.toolbox import root_filesystem

MAX_ENTRIES = 500_000
"""Of all layers of an image; the image of a whole desktop has 200,000."""
HIDES, HIDES_ALL, OF_AUFS = ".wh.", ".wh..wh..opq", ".wh..wh."
_REFUSED = {
    tarfile.CHRTYPE: "a device node",
    tarfile.BLKTYPE: "a device node",
    tarfile.FIFOTYPE: "a named pipe",
}
OF_NAMES = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EINVAL})
OF_NAMES |= {errno.ENOENT, errno.EEXIST}
"""Errors of a name or a link, not of this machine."""
_BUILD_AGAIN = "build the image again without it"


class Unpacking:
    """The unpacking of one image."""

    def __init__(self, archive: Archive, image: Image) -> None:
        self._archive, self._image = archive, image
        self._allowance = Allowance.of(archive.place, archive.size)
        self.entries = 0

    def into(self, root: Path) -> None:
        """Unpack the layers, the lowest first.

        Raises:
            ConfigError: A layer is missing, changed, damaged, too large, or no layer.
        """
        for number, (name, digest) in enumerate(self._image.layers, start=1):
            tree = Tree(root)
            place = f"{self._archive.place}: layer {number} of {len(self._image.layers)}"
            with self._archive.opened(name) as blob:
                stream = Unpacked(blob, place, self._allowance)
                for member, content in entries(place, stream):
                    self._add(tree, member, content, place)
                require_digest(self._archive, name, digest, stream.digest())

    def how_far(self) -> str:
        """Say how much is unpacked."""
        return f"{self.entries} entries, {self._allowance.used / 1e6:.0f} MB"

    def _add(
        self, tree: Tree, member: tarfile.TarInfo, content: Iterable[bytes], place: str
    ) -> None:
        self.entries += 1
        if self.entries > MAX_ENTRIES:
            reason = f"has more than {MAX_ENTRIES} files and folders"
            raise refusal(self._archive.place, reason, "leave out of it what is not used")
        try:
            _add(tree, member, content)
        except (OSError, ValueError) as error:  # ValueError: rejected, or a null character
            cause = error.errno if isinstance(error, OSError) else None
            if cause and cause not in OF_NAMES:
                raise
            reason = f"cannot be written: {os.strerror(cause)}" if cause else str(error)
            raise refusal(f"{place}: {member.name}", reason, _BUILD_AGAIN) from None


def _add(tree: Tree, member: tarfile.TarInfo, content: Iterable[bytes]) -> None:
    folder, name = posixpath.split(member.name.rstrip("/"))
    if name == HIDES_ALL:
        tree.hide_below(folder)
    elif name.startswith(OF_AUFS):
        return  # other marks of aufs, which the OCI does not have
    elif name.startswith(HIDES):
        tree.hide(posixpath.join(folder, name.removeprefix(HIDES)))
    elif member.ischr() and posixpath.normpath(member.name) in root_filesystem.DEVICES:
        return  # every part has these of this machine
    elif member.isdir():
        tree.make_folder(member.name)
    elif member.issym():
        tree.link(member.name, member.linkname)
    elif member.islnk():
        tree.link_hard(member.name, member.linkname)
    elif member.isreg() and not member.issparse():
        runs = bool(member.mode & 0o111)
        tree.write(member.name, content, runs=runs, at_s=member.mtime)
    else:
        raise RejectedValueError(f"is {_REFUSED.get(member.type, 'an entry of an unknown kind')}")
