"""Unpacks the layers of an image into a root filesystem, and compares each with its digest."""

from __future__ import annotations

from pathlib import Path

from httpbed.addons.images.archive import Allowance, Archive, Unpacked, require_digest, unpack
from httpbed.addons.images.image import Image
from httpbed.addons.images.tree import Tree

MAX_ENTRIES = 500_000
"""Of all layers of an image; the image of a whole desktop has 200,000."""


class Unpacking:
    """The unpacking of one image."""

    def __init__(self, archive: Archive, image: Image) -> None:
        self._archive, self._image = archive, image
        self._allowance = Allowance.of(archive.place, archive.size, MAX_ENTRIES)

    def into(self, root: Path) -> None:
        """Unpack the layers, the lowest first.

        Raises:
            ConfigError: A layer is missing, changed, damaged, too large, or no layer.
        """
        for number, (name, digest) in enumerate(self._image.layers, start=1):
            place = f"{self._archive.place}: layer {number} of {len(self._image.layers)}"
            with self._archive.opened(name) as blob:
                stream = Unpacked(blob, place, self._allowance)
                unpack(stream, Tree(root))
                require_digest(self._archive, name, digest, stream.digest())

    def how_far(self) -> str:
        """Say how much is unpacked."""
        return f"{self._allowance.entries} entries, {self._allowance.used / 1e6:.0f} MB"
