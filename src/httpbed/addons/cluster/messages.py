"""What a campaign and its workers exchange, as JSON: requests, ends of blocks, facts of workers."""

from __future__ import annotations

import hashlib
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from httpbed.base.value import Value
from httpbed.bed.machine.backend import Backend
from httpbed.experiment.factorial import ScaleName
from httpbed.experiment.machine import MachineFacts

RESOURCE = "measurement"
"""Dask's abstract resource: a worker has one for each block that it runs at a time."""
KEY = r"httpbed-[0-9a-f]{32}"
"""Names of tasks, which name folders of the worker, too."""
_CODE = (".py", ".toml")


class CodeIdentity(Value):
    """An installed httpbed."""

    version: str
    sha256: str
    """Of all its Python and TOML files."""

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


class CertificateFacts(Value):
    """The link certificate of a worker's machine."""

    date: str
    passed: bool


class WorkerFacts(Value):
    """What a worker says about itself when it registers."""

    name: str
    registration: str
    """Differs each time that it registers, so that a worker which comes back is another one."""
    slots: int
    """Blocks that it runs at a time."""
    code: CodeIdentity
    host: MachineFacts
    certificate: CertificateFacts | None
    """None: the machine is not calibrated."""
    unable: str = ""
    """Why the machine cannot run trials, with the remedy; empty if it can."""


class WantedTrial(Value):
    """A trial of the block, and the number of its next attempt."""

    id: str
    number: int = Field(ge=1)


class RunSelection(Value):
    """The options of ``httpbed run`` that select the design and what it runs on."""

    folder: str
    """Where the experiment's file is: names in it are relative to this folder."""
    scale: ScaleName | None = None
    for_claims: bool = False
    replicates: int | None = None
    recipe_folders: list[str] = Field(default_factory=list)
    programs: dict[str, str] = Field(default_factory=dict)
    """The values of ``--program``."""
    keep: list[str] = Field(default_factory=list)
    backend: Backend = "af_packet"
    strict: bool = False
    """Whether the machine's certificate has to cover the links."""
    jobs: int | None = None
    """Trials of a block side by side; None: as many as the machine carries."""
    command: str = ""


class BlockRequest(Value):
    """A block for a worker: what it runs, and what it has to run it with."""

    key: str = Field(pattern=f"^{KEY}$")
    registration: str
    """Of the worker that is meant."""
    block: int
    text: str
    """The experiment file."""
    selection: RunSelection
    wanted: list[WantedTrial]
    """In their order."""
    manifest: dict[str, Any]
    """The campaign's own: the worker has to have the same programs, recipes, sites and links."""


class PackedAttempt(Value):
    """An attempt that waits on the worker, as an archive."""

    trial: str
    number: int
    bytes: int = Field(ge=0)
    """Of the archive; of the attempt's files, if they are too large to travel."""
    sha256: str
    """Of the archive; empty without one."""


class BlockEnd(Value):
    """How a block ended on a worker that is still there."""

    kind: Literal["returned", "refused", "failed"]
    """``refused``: no attempt began, because this machine cannot. ``failed``: one may have."""
    reason: str = ""
    attempts: list[PackedAttempt] = Field(default_factory=list)
    certificate: dict[str, Any] | None = None
    """How the machine's certificate relates to the experiment's links, as in a manifest."""
