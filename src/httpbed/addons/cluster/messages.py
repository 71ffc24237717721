"""What a campaign and its workers exchange: a request for a block, and how the block ended."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from httpbed.base.value import Value
from httpbed.bed.machine.facts import MachineFacts
from httpbed.campaign.settings import DesignOptions, RunSettings

RESOURCE = "measurement"
"""Dask's abstract resource: a worker has one for each block that it runs at a time."""
_CODE = (".py", ".toml")


class CodeIdentity(Value):
    """An installed httpbed."""

    version: str
    sha256: str
    """The digest of all its Python and TOML files."""

    def __str__(self) -> str:
        return f"httpbed {self.version} (code {self.sha256[:12]})"


def own_code() -> CodeIdentity:
    """Return the identity of this program's code."""
    top = Path(str(resources.files("httpbed")))
    digest = hashlib.sha256()
    for path in sorted(one for one in top.rglob("*") if one.suffix in _CODE):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(top)} {len(content)}\n".encode() + content)
    return CodeIdentity(version=metadata.version("httpbed"), sha256=digest.hexdigest())


class WorkerFacts(Value):
    """What a worker says about itself when it is connected."""

    name: str
    slots: int
    """Blocks that it runs at a time."""
    code: CodeIdentity
    host: MachineFacts


@dataclass(frozen=True)
class BlockRequest:
    """A block for a worker: what it runs, and what it has to run it with."""

    key: str
    """The key of Dask's task; it names a folder of the worker, too."""
    topic: str
    """Where the worker tells the campaign that the block begins."""
    code: CodeIdentity
    """The campaign's own, which the worker has to have."""
    block: int
    text: str
    """The experiment file."""
    folder: str
    """Where that file is: names in it are relative to this folder."""
    options: DesignOptions
    settings: RunSettings
    manifest: Mapping[str, Any]
    """The campaign's: the worker has to have the same programs, recipes, sites and links."""
    wanted: tuple[tuple[str, int], ...] = ()
    """The trials of the block, each with the number of its next attempt, in their order."""


class PackedAttempt(Value):
    """An attempt that a block returns as an archive."""

    trial: str
    number: int
    bytes: int = Field(ge=0)
    """The length of its files."""
    travels: bool
    """Whether its archive comes with the block: it may be too large."""


class BlockEnd(Value):
    """How a block ended."""

    kind: Literal["returned", "refused", "failed", "lost"]
    """``refused``: no attempt began, because this machine cannot. ``failed``: one may have.
    ``lost``: the worker is gone."""
    reason: str = ""
    attempts: list[PackedAttempt] = Field(default_factory=list)
    certificate: dict[str, Any] | None = None
    """How the machine's certificate relates to the experiment's links, as in a manifest."""
    worker: str = ""
    """Its name; empty if Dask did not run the block at all."""
    host: MachineFacts | None = None
    code: CodeIdentity | None = None
    begun_s: float = 0.0
    """By the worker's clock."""
    ended_s: float = 0.0
    """By the worker's clock."""
