"""The form of a manifest: which members it may have, and their types.

A seal says that a manifest is as some httpbed wrote it, and the form that this one can read it.
Earlier versions wrote fewer members, so each may be missing, and others may be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from httpbed.base.addon import Seam
from httpbed.base.clock import Clock
from httpbed.experiment import parser, validation_messages
from httpbed.experiment.factorial import ScaleName
from httpbed.experiment.kept import KINDS
from httpbed.store.layout import SOURCES

Texts = dict[str, str]
Blocks = dict[Annotated[str, Field(pattern="^[1-9][0-9]*$")], int]
"""Numbers of blocks in a source, by those in the archive."""


Count = Annotated[int, Field(ge=0, lt=2**63)]


def _is_kind(name: str) -> str:
    if name not in KINDS:
        raise ValueError(f"is not one of {', '.join(KINDS)}")
    return name


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Host(_Form):
    kernel: str | None = None
    architecture: str | None = None
    distribution: str | None = None
    cpu: str | None = None
    cores: Count | None = None
    memory_bytes: Count | None = None
    load: list[float] | None = None
    steal: float | None = None
    governor: str | None = None
    hypervisor: bool | None = None
    container: str | None = None


class _Program(_Form):
    name: str
    version: str
    path: str = ""
    sha256: str
    libraries: Texts
    packages: Texts = {}
    index: str = ""
    index_expired: bool = False
    wheels: Texts = {}


class _Certificate(_Form):
    date: str
    outside: list[str]
    sha256: str | None = None
    scale: str | None = None
    passed: bool | None = None
    outside_topologies: dict[str, list[str]] = {}


class _SenderKey(_Form):
    implementation: str
    version: str
    sha256: str
    libraries: str
    http_version: str
    transport: Literal["tcp", "quic"]
    congestion_control: str
    knobs: Texts = {}
    kernel: str = ""


class _Sender(_Form):
    sender: _SenderKey
    passed: bool | None
    set: Texts = {}
    failed: list[str] = []
    unseen: list[str] = []
    date: str | None = None
    scale: str | None = None


class _Site(_Form):
    name: str
    sha256: str
    source: str | None = None


class _SecondBuild(_Form):
    of: str
    path: str


class _Link(_Form):
    backend: str


class _Campaign(_Form):
    """What a manifest and a source of an archive have in common."""

    httpbed: str | None = None
    commit: str | None = None
    started: str | None = None
    command: str | None = None
    seed: int | None = None
    host: _Host = _Host()
    link_certificate: _Certificate | None = None


class _Source(_Campaign):
    blocks: Blocks
    sources: list[_Source] = []


class _Manifest(_Campaign):
    link: _Link = _Link(backend="")
    clock: Clock = "real"
    clock_reason: str = ""
    kept: list[Annotated[str, AfterValidator(_is_kind)]] = []
    programs: list[_Program] = []
    recipes: Texts = {}
    sites: list[_Site] = []
    scale: ScaleName | None = None
    for_claims: bool = False
    replicates: int | None = None
    until: str | None = None
    recipe_folders: list[str] = []
    own_programs: Texts = {}
    second_builds: dict[str, _SecondBuild] = {}
    senders: list[_Sender] = []
    sources: list[_Source] = []
    generation: int = 1
    cluster: bool = False


def manifest_mistakes(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the place and the reason of everything in a manifest that this httpbed cannot read."""
    try:
        _Manifest.model_validate(document)
    except ValidationError as error:
        for detail in error.errors():
            reason, _ = validation_messages.reason_and_remedy(detail)
            is_missing = detail["type"] == "missing"
            yield parser.format_path(detail["loc"]), "is missing" if is_missing else reason


# What addons know today of what a manifest lists: a seam.


@dataclass(frozen=True)
class ManifestRecords:
    """What an addon of a later day knows of what a manifest lists, such as a program's test."""

    name: str
    key: str
    """The member of a manifest that lists it."""
    refreshed: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Returns a manifest with what is known today."""


RECORDS = Seam("records of manifests", ManifestRecords)


def refreshed_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with what is known today about what it lists."""
    refreshed = dict(manifest)
    for one in RECORDS.provided():
        if refreshed.get(one.key):
            refreshed = one.refreshed(refreshed)
    return refreshed


# Which campaign a block of an archive comes from.
#
# An archive may join several campaigns, of other machines, versions and seeds. Its manifest is that
# of the first one, with the facts of each under ``sources``.


def source_of_block(manifest: Mapping[str, Any], block: int) -> Mapping[str, Any]:
    """Return what is known of the campaign that ran a block; the manifest if it is no archive.

    An archive may be made from archives, each of which numbers the blocks again.
    """
    for source in manifest.get(SOURCES, ()):
        if str(block) in source["blocks"]:
            return source_of_block(source, int(source["blocks"][str(block)]))
    return manifest
