"""What addons know today of what a manifest lists: a seam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.base.addon import Seam


@dataclass(frozen=True)
class ManifestRecords:
    """What an addon of a later day knows of what a manifest lists, such as a program's test."""

    name: str
    key: str
    """Of the manifest, under which it stands."""
    refreshed: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Returns a manifest with what is known today."""


RECORDS = Seam("records of manifests", ManifestRecords)


def refreshed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with what is known today of what it lists."""
    made = dict(manifest)
    for one in RECORDS.provided():
        if made.get(one.key):
            made = one.refreshed(made)
    return made
