"""Which campaign a block of an archive comes from.

An archive may join several campaigns, of other machines, versions and seeds. Its manifest is that
of the first one, with the facts of each under ``sources``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from httpbed.store.layout import SOURCES


def of_block(manifest: Mapping[str, Any], block: int) -> Mapping[str, Any]:
    """Return what is known of the campaign that ran a block; the manifest if it is no archive.

    An archive may be made from archives, each of which numbers the blocks again.
    """
    for source in manifest.get(SOURCES, ()):
        if str(block) in source["blocks"]:
            return of_block(source, int(source["blocks"][str(block)]))
    return manifest
